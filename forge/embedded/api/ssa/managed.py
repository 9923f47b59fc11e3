"""managedFields: who owns what, read from and written to an object's metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from forge.embedded.api.ssa.fieldset import BadFields, FieldSet, of, parse

APPLY: Final = "Apply"
UPDATE: Final = "Update"
MOST_UPDATERS: Final = 10
OLDEST: Final = "ancient-changes"
# What every write names and nobody owns.
UNOWNED: Final = of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
            "managedFields", "resourceVersion",
        )
    ),
)  # fmt: skip
TIME: Final = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")


@dataclass(frozen=True, slots=True, order=True)
class Ident:
    """One manager's entry. version: "" for an apply, which keeps its entry over versions."""

    manager: str
    operation: str
    version: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        """As conflicts name it."""
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return text + (f" using {self.version}" if self.operation == UPDATE else "")


@dataclass(frozen=True, slots=True)
class Held:
    """What a manager owns. version: of the fields. at: RFC 3339, "" where nothing was changed."""

    fields: FieldSet
    version: str
    at: str = ""


Managers = dict[Ident, Held]


def ident(manager: str, operation: str, version: str, subresource: str) -> Ident:
    """The key of an entry."""
    return Ident(manager, operation, version if operation == UPDATE else "", subresource)


def decode(entries: Any) -> Managers | None:
    """The managers of metadata.managedFields; None where it does not parse, which the server ignores."""
    if entries is None:
        return {}
    if not isinstance(entries, list):
        return None
    found: Managers = {}
    for entry in entries:
        decoded = _entry(entry)
        if decoded is None:
            return None
        key, held = decoded
        found[key] = replace(held, fields=held.fields.union(found[key].fields)) if key in found else held
    return found


def _entry(entry: Any) -> tuple[Ident, Held] | None:
    if not isinstance(entry, Mapping):
        return None
    operation, version = entry.get("operation"), entry.get("apiVersion", "")
    names = (entry.get("manager", ""), version, entry.get("subresource", ""), entry.get("time") or "")
    if operation not in (APPLY, UPDATE) or not all(isinstance(n, str) for n in names):
        return None
    if not version or (names[3] and not TIME.match(names[3])):
        return None
    try:
        fields = parse(entry.get("fieldsV1") or {})
    except (BadFields, RecursionError):
        return None
    return ident(names[0], operation, version, names[2]), Held(fields, version, names[3])


def well_formed(entries: Any) -> list[dict[str, Any]]:
    """Stored managedFields as they are, nothing where they are no list of objects."""
    fits = isinstance(entries, list) and all(isinstance(e, dict) for e in entries)
    return entries if fits else []


def is_reset(entries: Any) -> bool:
    """Whether a request's managedFields switch tracking off: one empty entry."""
    return isinstance(entries, list) and len(entries) == 1 and entries[0] == {}


def encode(managers: Managers) -> list[dict[str, Any]]:
    """metadata.managedFields, in the server's order."""
    ordered = sorted(managers.items(), key=lambda e: _order(*e))
    return [_written(key, held) for key, held in ordered if held.fields or key.operation == APPLY]


def _order(key: Ident, held: Held) -> tuple[str, float, str, str, str]:
    return key.operation, _second(held.at), key.manager, held.version, key.subresource


def _second(at: str) -> float:
    """The whole second of an instant; before all others where there is none."""
    if not at:
        return float("-inf")
    try:
        return int(datetime.fromisoformat(at).timestamp())
    except (ValueError, OverflowError):
        return float("-inf")


def _written(key: Ident, held: Held) -> dict[str, Any]:
    entry = {"manager": key.manager, "operation": key.operation, "apiVersion": held.version}
    if held.at:
        entry["time"] = held.at
    document: dict[str, Any] = {**entry, "fieldsType": "FieldsV1", "fieldsV1": held.fields.as_json()}
    if key.subresource:
        document["subresource"] = key.subresource
    return document


def owned(fields: FieldSet) -> FieldSet:
    """*fields* without those nobody owns."""
    return fields.difference(UNOWNED)


def pruned(managers: Managers) -> Managers:
    """Without what nobody owns, and without managers that own nothing."""
    kept = {key: replace(held, fields=owned(held.fields)) for key, held in managers.items()}
    return {key: held for key, held in kept.items() if held.fields}


def capped(managers: Managers) -> Managers:
    """With at most ten updating managers: the oldest are merged, by version, into one bucket."""
    updaters = sorted(
        (k for k in managers if k.operation == UPDATE), key=lambda k: (_second(managers[k].at), _json(k))
    )
    surplus = len(updaters) - MOST_UPDATERS
    kept, first = dict(managers), dict[str, Ident]()
    for key in updaters:
        if surplus <= 0:
            break
        version = key.version
        if version not in first:
            first[version] = key
            continue
        bucket = Ident(OLDEST, UPDATE, version)
        if bucket not in kept:
            kept[bucket] = kept.pop(first[version])
        held = kept.pop(key)
        kept[bucket] = replace(held, fields=held.fields.union(kept[bucket].fields))
        surplus -= 1
    return kept


def _json(key: Ident) -> str:
    """The server sorts equals by the identifier's JSON."""
    return f'{{"manager":"{key.manager}","operation":"Update","apiVersion":"{key.version}"{key.subresource}'


def same_but_times(left: Iterable[Mapping[str, Any]], right: Iterable[Mapping[str, Any]]) -> bool:
    """Whether two managedFields differ in nothing but times (and the order these give)."""

    def bare(entries: Iterable[Mapping[str, Any]]) -> list[str]:
        timeless = ({k: v for k, v in e.items() if k != "time"} for e in entries)
        return sorted(repr(sorted(e.items())) for e in timeless)

    return bare(left) == bare(right)
