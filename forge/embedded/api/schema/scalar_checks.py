"""The OpenAPI v3 validations that need only the value itself: type, enum, texts and numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from forge.embedded.api.schema import formats
from forge.embedded.api.schema.causes import invalid, number, too_long, unsupported, wrong_type
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.schema.patterns import compiled
from forge.embedded.api.schema.place import Place
from forge.embedded.api.ssa.shapes import same

Level = Mapping[str, Any]


def type_of(value: Any) -> str:
    """JSON's name for the type of *value*, integers told apart."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    kinds = ((str, "string"), (int, "integer"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "number")


def type_causes(value: Any, level: Level, place: Place) -> Iterator[Cause]:
    wanted = level.get("type") or ""
    if level.get("x-kubernetes-int-or-string"):
        wanted = "integer,string"
    if not wanted or (value is None and level.get("nullable")):
        return
    found = type_of(value)
    if found == "number" and value.is_integer():
        found = "integer"
    if found not in wanted.split(",") and not (wanted == "number" and found == "integer"):
        detail = f'{place.name} in body must be of type {wanted}: "{found}"'
        yield wrong_type(place.field, found, detail)


def enum_causes(value: Any, level: Level, place: Place) -> Iterator[Cause]:
    allowed = level.get("enum")
    if not allowed or any(same(value, a) for a in allowed):
        return
    if value is None and level.get("nullable"):
        return
    yield unsupported(place.field, value, [a if isinstance(a, str) else _json(a) for a in allowed])


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def string_causes(value: str, level: Level, place: Place) -> Iterator[Cause]:
    """The first of length, pattern; then the format."""
    wrong = _length(value, level, place) or _pattern(value, level, place)
    if wrong:
        yield wrong
    name = level.get("format") or ""
    if name and not formats.fits(value, name):
        yield wrong_type(place.field, value, f'{place.name} in body must be of type {name}: "{value}"')


def _length(value: str, level: Level, place: Place) -> Cause | None:
    most, least = level.get("maxLength"), level.get("minLength")
    if most is not None and len(value) > most:
        return too_long(place.field, most)
    if least is not None and len(value) < least:
        return invalid(place.field, value, f"{place.name} in body should be at least {least} chars long")
    return None


def _pattern(value: str, level: Level, place: Place) -> Cause | None:
    pattern = level.get("pattern")
    if not pattern:
        return None
    regex = compiled(pattern)
    if regex is None or regex.search(value):
        return None
    return invalid(place.field, value, f"{place.name} in body should match '{pattern}'")


def number_causes(value: float, level: Level, place: Place) -> Iterator[Cause]:
    step = level.get("multipleOf")
    if step:
        yield from _multiple(value, step, place)
    most, least = level.get("maximum"), level.get("minimum")
    if most is not None:
        exclusive = bool(level.get("exclusiveMaximum"))
        if value > most or (exclusive and value == most):
            words = "less than" if exclusive else "less than or equal to"
            yield invalid(place.field, value, f"{place.name} in body should be {words} {number(most)}")
    if least is not None:
        exclusive = bool(level.get("exclusiveMinimum"))
        if value < least or (exclusive and value == least):
            words = "greater than" if exclusive else "greater than or equal to"
            yield invalid(place.field, value, f"{place.name} in body should be {words} {number(least)}")


def _multiple(value: float, step: float, place: Place) -> Iterator[Cause]:
    if isinstance(value, int) and int(step) <= 0:
        # An integer is compared with the step cut down to an integer: 0.5 becomes 0.
        detail = f"factor MultipleOf declared for {place.name} must be positive: {int(step)}"
        yield invalid(place.field, int(step), detail)
        return
    fits = value % int(step) == 0 if isinstance(value, int) else _whole(value / step)
    if not fits:
        yield invalid(place.field, value, f"{place.name} in body should be a multiple of {number(step)}")


def _whole(quotient: float) -> bool:
    return math.isfinite(quotient) and abs(quotient - round(quotient)) < 1e-9
