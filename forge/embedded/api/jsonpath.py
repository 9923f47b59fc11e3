"""The JSON paths of printer columns and subresources: members, indexes, wildcards, simple filters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_STEP = re.compile(
    r"""\.(?P<name>(?:\\.|[^.\[\]])+)
      | \[(?P<index>-?\d+)\]
      | \['(?P<quoted>[^']*)'\]
      | \[(?P<all>\*)\]
      | \[\?\(\s*@\.(?P<key>[^=!<>\s)]+)\s*==\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Step:
    """name: a member. index: of a list. key and value: a filter; none of them: every item."""

    name: str = ""
    index: int | None = None
    key: str = ""
    value: Any = None


@lru_cache(maxsize=1024)
def parse(path: str) -> tuple[Step, ...] | None:
    """The steps of *path*; None when it is no such path."""
    steps, place = [], 0
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            return None
        steps.append(_step(found))
        place = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["name"] is not None:
        return Step(name=re.sub(r"\\(.)", r"\1", found["name"]))
    if found["quoted"] is not None:
        return Step(name=found["quoted"])
    if found["index"] is not None:
        return Step(index=int(found["index"]))
    if found["key"] is not None:
        value = found["value"]
        return Step(key=found["key"], value=value[1:-1] if value[0] in "\"'" else value)
    return Step()


def find(document: Any, path: str) -> list[Any]:
    """All values at *path*, in order; none when a member is missing or the path is no path."""
    values: Iterable[Any] = [document]
    for step in parse(path) or ():
        values = [inner for value in values for inner in _follow(value, step)]
    return list(values) if path else []


def _follow(value: Any, step: Step) -> list[Any]:
    if step.name:
        return [value[step.name]] if isinstance(value, dict) and step.name in value else []
    if isinstance(value, dict) and not step.key and step.index is None:
        return list(value.values())
    if not isinstance(value, list):
        return []
    if step.index is not None:
        return [value[step.index]] if -len(value) <= step.index < len(value) else []
    if step.key:
        return [item for item in value if _matches(item, step)]
    return value


def _matches(item: Any, step: Step) -> bool:
    for name in step.key.split("."):
        if not isinstance(item, dict) or name not in item:
            return False
        item = item[name]
    return str(item) == str(step.value)
