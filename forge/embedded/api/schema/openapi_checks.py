"""The OpenAPI v3 validations of one value, with the messages and order of the real server.

Each check yields causes; junctors (allOf, anyOf, oneOf, not) run the whole of it again on their
branches and keep the errors of the branch that matched most, as the real server does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from forge.embedded.api.schema.causes import invalid, required, too_many
from forge.embedded.api.schema.model import ABSENT, Cause
from forge.embedded.api.schema.place import NIL, Place
from forge.embedded.api.schema.scalar_checks import enum_causes, number_causes, string_causes, type_causes
from forge.embedded.api.ssa.shapes import same

JUNCTORS: Final = frozenset(("allOf", "anyOf", "oneOf", "not"))
Level = Mapping[str, Any]


@dataclass(slots=True)
class Result:
    """Causes found, and how many checks were made: it decides which branch came closest."""

    causes: list[Cause] = field(default_factory=list)
    checks: int = 0

    def take(self, other: Result) -> None:
        """Adds *other*."""
        self.causes += other.causes
        self.checks += other.checks


def check(value: Any, level: Level, place: Place, old: Any = ABSENT) -> Result:
    """Everything *level* has against *value*; nothing where it is what it was (*old*)."""
    if old is not ABSENT and same(value, old):
        return Result(checks=1)
    result = Result(checks=1)
    result.causes += type_causes(value, level, place)
    result.checks += 1
    if value is None:
        result.causes += enum_causes(value, level, place)
        return result
    if not JUNCTORS.isdisjoint(level):
        result.take(_junctors(value, level, place))
    if isinstance(value, str):
        result.causes += string_causes(value, level, place)
        result.checks += 1
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        result.causes += number_causes(value, level, place)
        result.checks += 1
    elif isinstance(value, list):
        result.take(_array(value, level, place, old))
    result.causes += enum_causes(value, level, place)
    if isinstance(value, dict):
        result.take(_object(value, level, place, old))
    return result


def _array(value: list[Any], level: Level, place: Place, old: Any) -> Result:
    result = Result(checks=1)
    items = level.get("items")
    if isinstance(items, Mapping):
        before = _correlated(value, level, old)
        for index, item in enumerate(value):
            result.take(check(item, items, place.index(index), before[index]))
    most, least = level.get("maxItems"), level.get("minItems")
    if least is not None and len(value) < least:
        detail = f"{place.name} in body should have at least {least} items"
        result.causes.append(invalid(place.field, len(value), detail))
    if most is not None and len(value) > most:
        result.causes.append(too_many(place.field, len(value), most))
    return result


def _correlated(value: list[Any], level: Level, old: Any) -> list[Any]:
    """What each item was before, by the keys of a list map; ABSENT where nobody can say."""
    keys = level.get("x-kubernetes-list-map-keys") or ()
    if level.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return [ABSENT] * len(value)

    def name(item: Any) -> str | None:
        return repr([item.get(k) for k in keys]) if isinstance(item, dict) else None

    before = {name(item): item for item in old}
    return [before.get(name(item), ABSENT) if name(item) else ABSENT for item in value]


def _object(value: dict[str, Any], level: Level, place: Place, old: Any) -> Result:
    result = Result(checks=1)
    least, most = level.get("minProperties"), level.get("maxProperties")
    if least is not None and len(value) < least:
        detail = f"{place.name} in body should have at least {least} properties"
        result.causes.append(invalid(place.field, len(value), detail))
        return result
    if most is not None and len(value) > most:
        result.causes.append(too_many(place.field, len(value), most))
        return result
    before = old if isinstance(old, dict) else {}
    known = level.get("properties") or {}
    additional = level.get("additionalProperties")
    if isinstance(additional, Mapping):
        for key in sorted(k for k in value if k not in known):
            result.take(check(value[key], additional, place.key(key), before.get(key, ABSENT)))
    for key, below in known.items():
        if key in value:
            result.take(check(value[key], below, place.key(key), before.get(key, ABSENT)))
    for key in level.get("required") or ():
        if key not in value:
            result.causes.append(required(place.key(key).field))
    return result


def _junctors(value: Any, level: Level, place: Place) -> Result:
    result = Result()
    for judge in (_any_of, _one_of, _all_of, _not):
        result.take(judge(value, level, place))
    return result


def _branches(value: Any, level: Level, key: str, place: Place) -> list[Result]:
    return [check(value, branch, place) for branch in level.get(key) or ()]


def _complaint(place: Place, detail: str) -> Cause:
    return invalid(place.base or NIL, "", f'"{place.name}" {detail}')


def _closest(branches: list[Result]) -> Result:
    """The first of the failed branches with the most checks."""
    failed = [b for b in branches if b.causes]
    return max(failed, key=lambda b: b.checks) if failed else Result()


def _any_of(value: Any, level: Level, place: Place) -> Result:
    branches = _branches(value, level, "anyOf", place)
    if not branches or any(not b.causes for b in branches):
        return Result()
    result = Result([_complaint(place, "must validate at least one schema (anyOf)")])
    result.take(_closest(branches))
    return result


def _one_of(value: Any, level: Level, place: Place) -> Result:
    branches = _branches(value, level, "oneOf", place)
    valid = sum(not b.causes for b in branches)
    if not branches or valid == 1:
        return Result()
    found = f"Found {valid} valid alternatives" if valid else "Found none valid"
    result = Result([_complaint(place, f"must validate one and only one schema (oneOf). {found}")])
    if not valid:
        result.take(_closest(branches))
    return result


def _all_of(value: Any, level: Level, place: Place) -> Result:
    branches = _branches(value, level, "allOf", place)
    valid = sum(not b.causes for b in branches)
    result = Result()
    for branch in branches:
        result.take(branch)
    if valid != len(branches):
        none = "" if valid else ". None validated"
        result.causes.append(_complaint(place, f"must validate all the schemas (allOf){none}"))
    return result


def _not(value: Any, level: Level, place: Place) -> Result:
    forbidden = level.get("not")
    if not isinstance(forbidden, Mapping) or check(value, forbidden, place).causes:
        return Result()
    return Result([_complaint(place, "must not validate the schema (not)")])
