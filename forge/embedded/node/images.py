"""Image references and the commands they stand for.

There is no container engine: the lab says, in a JSON file, which program an image is.

    {"registry.test/app:1": ["python", "-m", "app"], "tools": []}

An empty command runs the container's own command and args. `command` of a container replaces the
image's, `args` follows it, as with an entrypoint. References are compared in their short form:
`docker.io/library/app:latest` is `app`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def short(reference: str) -> str:
    """The reference without what is the default of every engine."""
    text = reference.partition("@")[0]
    for prefix in ("docker.io/library/", "docker.io/", "library/"):
        text = text.removeprefix(prefix)
    return text.removesuffix(":latest")


def argv(mapped: Sequence[str], command: Sequence[str], args: Sequence[str]) -> tuple[str, ...]:
    """The words to run."""
    return (*(command or mapped), *args)


def parse(text: str) -> dict[str, tuple[str, ...]]:
    """Short references to commands. Raises ValueError for another shape, saying which."""
    raw: Any = json.loads(text)
    if not isinstance(raw, dict):
        raise ValueError("the images are not a JSON object of references to commands")
    found = {}
    for reference, words in raw.items():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"the command of image {reference!r} is not a list of words")
        found[short(reference)] = tuple(words)
    return found


@dataclass(slots=True)
class Images:
    """The mapping as the file has it at each moment. file: None for no mapping at all."""

    file: Path | None
    problem: str = ""
    _known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _mark: tuple[int, int] | None = None

    def find(self, reference: str) -> tuple[str, ...] | None:
        """The command of an image; None, and why in `problem`, when it has none."""
        self._refresh()
        return self._known.get(short(reference))

    def why_not(self, reference: str) -> str:
        """One line for people: why find() gave None."""
        if self.file is None:
            return f'no process is mapped to image "{reference}": the cluster was started without --images'
        return self.problem or f'no process is mapped to image "{reference}" in {self.file}'

    def _refresh(self) -> None:
        if self.file is None:
            return
        try:
            found = self.file.stat()
            mark = (found.st_mtime_ns, found.st_ino)
            if mark == self._mark:
                return
            self._known, self._mark, self.problem = parse(self.file.read_text()), mark, ""
        except (OSError, ValueError) as error:
            self._known, self._mark, self.problem = {}, None, f"{self.file}: {error}"
