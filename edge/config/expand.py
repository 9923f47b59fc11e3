"""`${NAME}` and `${NAME:-default}` in fields that are addresses or paths, and in no other.

Which fields these are is written in the models, by their types: Address, FilePath. A file's other text is
never touched, so a header value or a body that happens to hold `${` is what it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """environ: what `${NAME}` reads. folder: what relative paths are relative to. lenient: see
    `edge.config.strict.rule`."""

    environ: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    lenient: bool = False


def expand(text: str, environ: Mapping[str, str]) -> str:
    """*text* with its references replaced; an empty variable counts as unset. Raises ValueError."""

    def value(found: re.Match[str]) -> str:
        parsed = _NAME.fullmatch(found[1])
        if parsed is None:
            raise ValueError(f"{found[0]} is not ${{NAME}} or ${{NAME:-default}}")
        name, default = parsed[1], parsed[2]
        chosen = environ.get(name) or default
        if chosen is None:
            raise ValueError(f"the variable {name} is not set and has no default")
        return chosen

    return _REFERENCE.sub(value, text)


def _surroundings(info: ValidationInfo) -> Surroundings:
    return info.context if isinstance(info.context, Surroundings) else Surroundings()


def _address(text: str, info: ValidationInfo) -> str:
    return expand(text, _surroundings(info).environ)


def _path(text: str, info: ValidationInfo) -> str:
    given = _surroundings(info)
    path = Path(expand(text, given.environ))
    if ".." in path.parts:
        raise ValueError("must not contain '..'")
    return str(given.folder / path)


Address = Annotated[str, AfterValidator(_address)]
"""`host:port`, expanded; what it may be is checked where it is used."""

FilePath = Annotated[str, AfterValidator(_path)]
"""A path, expanded, without `..`; relative ones are relative to the configuration's folder."""
