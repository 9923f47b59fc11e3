"""The `praxis-forge` command, as a user runs it: arguments in, its JSON answer out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ForgeFailed(Exception):
    """A command ended with another exit code than was expected. code: its exit code."""

    def __init__(self, arguments: tuple[str, ...], code: int, said: str) -> None:
        super().__init__(f"praxis-forge {' '.join(arguments)} ended with {code}: {said.strip()[-2000:]}")
        self.code = code
        self.said = said


@dataclass(frozen=True, slots=True)
class ForgeCommand:
    """config: the environment's file. runtime: given to every command; None leaves the choice to it."""

    config: Path
    runtime: str | None = None

    def __call__(self, *arguments: str, timeout_s: float = 600.0, codes: Collection[int] = (0,)) -> str:
        """What the command says on stdout. Raises ForgeFailed for any other exit code than *codes*."""
        done = subprocess.run(
            self._argv(arguments),
            env=self._environ(),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode not in codes:
            raise ForgeFailed(arguments, done.returncode, done.stderr or done.stdout)
        return done.stdout

    def data(self, *arguments: str, timeout_s: float = 600.0, codes: Collection[int] = (0,)) -> Any:
        """The data of its JSON answer."""
        return json.loads(self(*arguments, "--output", "json", timeout_s=timeout_s, codes=codes))["data"]

    def shown(self, *arguments: str) -> None:
        """Runs it on this terminal: its progress is the user's. Raises ForgeFailed."""
        done = subprocess.run(self._argv(arguments), env=self._environ(), check=False)
        if done.returncode:
            raise ForgeFailed(arguments, done.returncode, "see above")

    def _argv(self, arguments: tuple[str, ...]) -> list[str]:
        runtime = ("--runtime", self.runtime) if self.runtime is not None else ()
        return [sys.executable, "-P", "-m", "forge", "--config", str(self.config), *runtime, *arguments]

    @staticmethod
    def _environ() -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if k != "GITHUB_ACTIONS"}
