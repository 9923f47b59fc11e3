"""What table columns are made of: cells, ages, selectors. Which kind has which is in `columns`.

A column has a name, a type, and a function from the object to its cell; priority 1 shows with
`-o wide` only. Ages are relative, so every cell function is given the clock's `now`. A description is
text, or the place of it in the packaged documentation: `core.v1.ConfigMap#data`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from forge.embedded.api.openapi import data
from forge.embedded.api.values import Json, dig

Cell = Callable[[Json, datetime], Any]

NONE = "<none>"
_NAME = "ObjectMeta#name"
_CREATED = "ObjectMeta#creationTimestamp"


@dataclass(frozen=True, slots=True)
class Column:
    """format: `name` for the first column, else mostly empty."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    said: str = ""
    priority: int = 0

    def definition(self) -> Json:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": described(self.said),
            "priority": self.priority,
        }


def described(said: str) -> str:
    """The text of a description; `package.Type#field` is looked up in the packaged documentation."""
    place, mark, field = said.partition("#")
    if not mark or " " in place:
        return said
    known = data.docs()
    for name in (f"{data.API}.{place}", f"{data.META}.{place}"):
        if name in known:
            return known[name].get(field, "")
    return ""


def age(then: Any, now: datetime) -> str:
    """How long ago, as the server's tables say it: `3m4s`, `5h`, `12d`."""
    at = parse_time(then)
    return "<unknown>" if at is None else duration(int((now - at).total_seconds()))


def parse_time(value: Any) -> datetime | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def duration(seconds: int) -> str:
    """Kubernetes' HumanDuration: two units while that matters, one after."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return f"{years}y{rest}d" if years < 8 and rest else f"{years}y"


def name_column() -> Column:
    return Column("Name", lambda o, _: o["metadata"].get("name", ""), "string", "name", _NAME)


def age_column(*, said: str = _CREATED) -> Column:
    return Column("Age", lambda o, now: age(dig(o, "metadata", "creationTimestamp"), now), said=said)


def created_column() -> Column:
    return Column("Created At", lambda o, _: o["metadata"].get("creationTimestamp"), "date", "", _CREATED)


def at(*path: str, otherwise: Any = "") -> Cell:
    """The member at *path*; *otherwise* where it is missing or empty."""
    return lambda o, _: dig(o, *path) or otherwise


def count(*path: str) -> Cell:
    """How many members the list or mapping at *path* has."""
    return lambda o, _: len(dig(o, *path) or ())


def selector(*path: str) -> Cell:
    """A label selector as `a=b,c=d`."""

    def cell(o: Json, _: datetime) -> str:
        chosen = dig(o, *path) or {}
        labels = (
            chosen.get("matchLabels", chosen)
            if "matchExpressions" in chosen or "matchLabels" in chosen
            else chosen
        )
        parts = [f"{k}={v}" for k, v in sorted((labels or {}).items()) if isinstance(v, str)]
        return ",".join(parts) or NONE

    return cell


GENERIC = (name_column(), created_column())
