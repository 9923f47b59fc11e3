"""Calls kubectl in the node: the stand-ins are clients of the API like any other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Failed(Exception):
    """What a step could not do, in kubectl's words."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubeconfig: whose it is."""

    kubeconfig: Path

    def __call__(self, *words: str, given: Sequence[Any] = ()) -> str:
        """What it prints. given: objects, as JSON on its input. Raises Failed."""
        environment = os.environ | {"KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run(
            ["kubectl", "--request-timeout=20s", *words],
            input="\n".join(map(json.dumps, given)),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Failed(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout
