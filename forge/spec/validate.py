"""Nodes to an Environment, however much of them is broken.

What does not fit is reported and left out, and the rest is validated again, so that one slip does
not hide the other problems of the file: the rules still see every element that is whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from forge.spec.model import API_VERSION, Environment
from forge.spec.nodes import Node, Path, plain
from forge.spec.source import Source
from forge.spec.wording import Finding, finding

_ROUNDS = 12  # each leaves out at least one level, and the models are nine levels deep
_MOST_FINDINGS = 500  # a file with more is not a forge.yaml; nobody reads on

_STAND_IN: Mapping[str, object] = {
    "apiVersion": API_VERSION,
    "kind": "Environment",
    "metadata": {"name": "environment"},
    "spec": {"runtime": {}},
}
"""What broken parts that nothing can do without are replaced by, while the rest is checked."""
_FILLED_UP: tuple[Path, ...] = ((), ("spec",))
"""What is kept where a key is missing in it: the key is filled up."""


@dataclass(frozen=True, slots=True)
class Validated:
    """environment: None where too little is left. source: translates its paths to the file's."""

    environment: Environment | None
    findings: tuple[Finding, ...]
    source: Source


def validate(file: str, text: str, root: Node) -> Validated:
    """The environment in *root*, and every finding of its shape."""
    data = plain(root)
    gone: dict[Path, Finding] = {}
    findings: dict[tuple[Path, str], Finding] = {}
    for round_ in range(_ROUNDS):
        left, removed = _without(data, frozenset(gone)) if round_ else (data, {})
        if round_ and isinstance(left, dict):
            left = _filled_up(left)
        translate = Source(file, text, root, removed=removed)
        environment, errors = _attempt(left)
        if environment is not None:
            source = _source(translate, findings.values(), gone)
            return Validated(environment, tuple(findings.values()), source)
        for error in errors[:_MOST_FINDINGS]:
            found = finding(error, translate)
            if not found.echo and not (round_ and _follows(found, gone)):
                findings.setdefault((found.path, found.message), found)
            if not (found.missing and found.path in _FILLED_UP):
                gone.setdefault(found.path, found)  # of one that lacks a key, the whole goes
        if len(errors) > _MOST_FINDINGS:
            break
    whole = Source(file, text, root)
    return Validated(None, tuple(findings.values()), _source(whole, findings.values(), gone))


def _attempt(data: object) -> tuple[Environment | None, list[ErrorDetails]]:
    """The errors are taken out of the exception here: it holds the input, which may hold secrets."""
    try:
        return Environment.model_validate(data), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _follows(found: Finding, gone: Mapping[Path, Finding]) -> bool:
    """Whether it only says that something is missing which was left out before."""
    return found.missing and any(path[: len(found.path)] == found.path for path in gone)


def _filled_up(data: dict[str, object]) -> dict[str, object]:
    whole = {**_STAND_IN, **data}
    spec = whole["spec"]
    if isinstance(spec, dict):
        whole["spec"] = {"runtime": {}, **spec}
    return whole


def _without(
    data: object, gone: frozenset[Path], path: Path = ()
) -> tuple[object, dict[Path, tuple[int, ...]]]:
    """A copy of *data* without the paths in *gone*, and which indices each list lost."""
    removed: dict[Path, tuple[int, ...]] = {}
    if isinstance(data, dict):
        kept: dict[str, object] = {}
        for key, value in data.items():
            if (*path, key) not in gone:
                kept[key], below = _without(value, gone, (*path, key))
                removed |= below
        return kept, removed
    if isinstance(data, list):
        lost = tuple(i for i in range(len(data)) if (*path, i) in gone)
        if lost:
            removed[path] = lost
        items: list[object] = []
        for index, value in enumerate(data):
            if index not in lost:
                item, below = _without(value, gone, (*path, index))
                items.append(item)
                removed |= below
        return items, removed
    return data, removed


def _source(read: Source, findings: Collection[Finding], gone: Mapping[Path, Finding]) -> Source:
    """*read*, knowing what must not be shown and what was left out."""
    hides = frozenset(path for found in findings for path in found.hides)
    damaged = frozenset(path for path, found in gone.items() if not found.unknown)
    return replace(read, hides=hides, damaged=damaged)
