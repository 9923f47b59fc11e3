"""Server-side apply, and the bookkeeping of every other write.

apply: what the applied object names is put into the live one and owned by its manager; what it named
before and names no more goes, unless somebody else owns it; a field of another manager with another
value is a conflict, unless forced. track_update: a plain write owns what it changed.

Source of the rules: Kubernetes' structured merge-diff, and the recorded answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from forge.embedded.api.schema.model import JSON, Schema
from forge.embedded.api.ssa import last_applied, managed
from forge.embedded.api.ssa.compare import Difference, compare
from forge.embedded.api.ssa.fieldset import FieldSet
from forge.embedded.api.ssa.managed import APPLY, UPDATE, Held, Ident, Managers
from forge.embedded.api.ssa.merge import merge, remove
from forge.embedded.api.ssa.outcome import Applied, ApplyRejected, Conflict, Conflicts
from forge.embedded.api.ssa.shapes import same
from forge.embedded.api.ssa.typed import complaints, fields, reconciled, with_named_parents

__all__ = ["Applied", "ApplyRejected", "Conflicts", "Write", "apply", "track_update"]

KUBECTL: Final = "kubectl"
BEFORE_FIRST: Final = "before-first-apply"
CURRENT: Final = Ident("current-operation", UPDATE, "")


@dataclass(frozen=True, slots=True)
class Write:
    """How a write is booked.

    now: RFC 3339. reset: the fields this write does not take (reset.py).
    """

    manager: str
    schema: Schema
    api_version: str
    now: str
    subresource: str = ""
    reset: FieldSet = field(default_factory=FieldSet)

    @property
    def at(self) -> str:
        """The time of this write's entry: the server gives those of the scale subresource none."""
        return "" if self.subresource == "scale" else self.now


def apply(live: JSON | None, applied: JSON, write: Write, *, force: bool = False) -> Applied | Conflicts:
    """*applied* put into *live* (None where nothing exists), neither changed.

    Raises ApplyRejected where the applied object does not fit its type, or is nested too deeply.
    """
    try:
        return _decide(live, applied, write, force=force)
    except RecursionError:
        raise ApplyRejected("error decoding YAML: exceeded max depth", 400) from None


def _decide(live: JSON | None, applied: JSON, write: Write, *, force: bool) -> Applied | Conflicts:
    config = _without_managed(applied)
    if wrong := complaints(config, write.schema):
        told = wrong[0] if len(wrong) == 1 else "errors:\n" + "\n".join(f"  {w}" for w in wrong)
        raise ApplyRejected(f"failed to create typed patch object ({_named(applied, write)}): {told}")
    before = live or {}
    managers = _reconciled(managed.decode(_entries(before)) or {}, write.schema)
    if live is not None and not managers:
        managers = _before_first(before, write)
    outcome = _apply(_without_managed(before), config, managers, write, force=force)
    if isinstance(outcome, Conflicts) and write.manager == KUBECTL and not force:
        outcome = _retry_over_last_applied(before, config, managers, write, outcome)
    if isinstance(outcome, Conflicts):
        return outcome
    return Applied(_finished(before, config, outcome, write))


def _apply(
    before: JSON, config: JSON, managers: Managers, write: Write, *, force: bool
) -> tuple[JSON, Managers] | Conflicts:
    me = managed.ident(write.manager, APPLY, write.api_version, write.subresource)
    last = managers.get(me)
    merged = merge(before, config, write.schema)
    mine = Held(fields(config, write.schema).without(write.reset), write.api_version, last.at if last else "")
    managers = {**managers, me: mine}
    if last is not None and last.fields:
        merged = _drop(merged, last.fields, managers, write.schema)
    changed = compare(before, merged, write.schema).without(write.reset)
    found = _settle(managers, me, changed, force=force)
    if isinstance(found, Conflicts):
        return found
    kept = managed.pruned(found)
    if me in kept and not same(before, merged):
        kept[me] = replace(kept[me], at=write.now)
    return merged, kept


def _drop(merged: JSON, last: FieldSet, managers: Managers, schema: Schema) -> JSON:
    """*merged* without what was applied before and is owned by nobody now."""
    last = with_named_parents(last, schema)
    pruned: JSON = remove(merged, last, schema)
    everything = with_named_parents(fields(merged, schema), schema)
    remaining = with_named_parents(fields(pruned, schema), schema)
    for held in managers.values():
        remaining = remaining.union(with_named_parents(held.fields, schema))
    pruned = remove(merged, everything.difference(remaining), schema)
    left = with_named_parents(fields(pruned, schema), schema)
    # Whatever hung below a removed field and was never named by this manager stays.
    kept: JSON = remove(merged, everything.difference(left).intersection(last), schema)
    return kept


def _settle(managers: Managers, me: Ident, changed: Difference, *, force: bool) -> Managers | Conflicts:
    """The managers after *changed*: others lose what was changed or removed; Conflicts unless forced."""
    touched = changed.modified.union(changed.added)
    kept: Managers = {}
    found: list[Conflict] = []
    for key, held in managers.items():
        if key == me:
            kept[key] = held
            continue
        contested = held.fields.intersection(touched)
        found += [Conflict(path, key) for path in contested]
        kept[key] = replace(held, fields=held.fields.difference(contested).difference(changed.removed))
    if found and not force:
        return Conflicts(tuple(sorted(found, key=lambda c: str(c.manager))))
    return {key: held for key, held in kept.items() if held.fields}


def _before_first(before: JSON, write: Write) -> Managers:
    """Who owns an object that was not tracked so far."""
    first = replace(write, manager=BEFORE_FIRST, reset=FieldSet())
    return _track({}, _without_managed(before), {}, first)


def _finished(before: JSON, config: JSON, outcome: tuple[JSON, Managers], write: Write) -> JSON:
    merged, managers = outcome
    entries = managed.encode(managers)
    stored = managed.well_formed(_entries(before))
    if managed.same_but_times(entries, stored) and same(merged, _without_managed(before)):
        entries = stored
    result = _with_managed(merged, entries)
    return last_applied.refreshed(result, config) if write.manager == KUBECTL else result


def _retry_over_last_applied(
    before: JSON, config: JSON, managers: Managers, write: Write, found: Conflicts
) -> tuple[JSON, Managers] | Conflicts:
    """kubectl's own client-side apply is no stranger: what its annotation names may be taken over."""
    allowed = last_applied.named(before, write.schema)
    left = tuple(c for c in found.conflicts if c.path not in allowed)
    if left:
        return Conflicts(left)
    return _apply(_without_managed(before), config, managers, write, force=True)


def track_update(
    old: JSON | None, new: JSON, write: Write, *, blank: JSON | None = None
) -> list[dict[str, Any]]:
    """metadata.managedFields of *new* after a plain write over *old* (None where it creates).

    blank: what a created object is compared with, the empty structs of a built-in kind.

    Entries in the request itself replace the stored ones on the main resource; one empty entry
    switches tracking off, until the next apply.
    """
    before, sent = old or blank or {}, _entries(new)
    managers = managed.decode(_entries(before)) or {}
    if not write.subresource:
        if managed.is_reset(sent):
            return []
        managers = managed.decode(sent) or managers
    if not managers and old is not None:
        return []
    try:
        return _entries_after(before, new, managers, write)
    except RecursionError:
        # Nested too deeply to be compared; what the server cannot track it stores untracked too.
        return []


def _entries_after(before: JSON, new: JSON, managers: Managers, write: Write) -> list[dict[str, Any]]:
    managers = _reconciled(managers, write.schema)
    tracked = _track(_without_managed(before), _without_managed(new), managers, write)
    entries = managed.encode(tracked)
    stored = managed.well_formed(_entries(before))
    same_objects = same(_without_managed(before), _without_managed(new))
    return stored if same_objects and managed.same_but_times(entries, stored) else entries


def _reconciled(managers: Managers, schema: Schema) -> Managers:
    return {key: replace(held, fields=reconciled(held.fields, schema)) for key, held in managers.items()}


def _track(before: JSON, after: JSON, managers: Managers, write: Write) -> Managers:
    changed = compare(before, after, write.schema).without(write.reset)
    settled = _settle(managers, CURRENT, changed, force=True)
    assert not isinstance(settled, Conflicts)  # noqa: S101 - forced
    kept = managed.pruned(settled)
    took = managed.owned(changed.modified.union(changed.added))
    if took:
        me = managed.ident(write.manager, UPDATE, write.api_version, write.subresource)
        mine = took.union(kept[me].fields) if me in kept else took
        kept[me] = Held(mine, write.api_version, write.at)
    return managed.capped(kept)


def _entries(obj: Mapping[str, Any]) -> Any:
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def _without_managed(obj: JSON) -> JSON:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


def _with_managed(obj: JSON, entries: list[dict[str, Any]]) -> JSON:
    metadata = {**(obj.get("metadata") or {})}
    if entries:
        metadata["managedFields"] = entries
    return {**obj, "metadata": metadata}


def _named(applied: JSON, write: Write) -> str:
    metadata = applied.get("metadata") or {}
    group_version, kind = applied.get("apiVersion", write.api_version), applied.get("kind", "")
    full = group_version if "/" in group_version else f"/{group_version}"
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {full}, Kind={kind}"
