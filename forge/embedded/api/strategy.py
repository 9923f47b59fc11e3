"""What a kind means to the write path: hooks that fill in, protect and judge its objects.

A kind without a strategy of its own is stored as it comes. Hooks change the document they are given
(the request's own copy) and never the old one; `validate` hooks answer causes and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forge.embedded.api.cluster import Cluster
from forge.embedded.api.resources import Resource
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json


def _nothing(document: Json) -> None:
    """No defaults."""


def _no_create(cluster: Cluster, document: Json) -> None:
    """Nothing to fill in."""


def _no_update(cluster: Cluster, new: Json, old: Json) -> None:
    """Nothing to protect."""


def _no_causes(_document: Json) -> list[Cause]:
    return []


def _no_update_causes(_new: Json, _old: Json) -> list[Cause]:
    return []


def _no_warnings(_document: Json) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Strategy:
    """default: fills defaults in whatever is decoded. create, update: before the object is judged.

    generation: changes of anything but metadata (and status) count; of annotations too, where told.
    has_status: the main resource ignores `status`, the subresource everything else.
    unconditional: PUT without a resourceVersion is taken. object_answer: DELETE answers with the object.
    graceful: the seconds a deletion leaves the object, from the object; None deletes it at once.
    """

    default: Callable[[Json], None] = _nothing
    create: Callable[[Cluster, Json], None] = _no_create
    update: Callable[[Cluster, Json, Json], None] = _no_update
    validate: Callable[[Json], list[Cause]] = _no_causes
    validate_update: Callable[[Json, Json], list[Cause]] = _no_update_causes
    validate_status: Callable[[Json, Json], list[Cause]] = _no_update_causes
    warn: Callable[[Json], list[str]] = _no_warnings
    generation: bool = False
    generation_of_annotations: bool = False
    has_status: bool = False
    unconditional: bool = True
    create_on_update: bool = False
    object_answer: bool = False
    graceful: Callable[[Json], int | None] | None = None


PLAIN = Strategy()
_table: dict[str, Strategy] = {}


def register(storage: str, strategy: Strategy) -> None:
    """Makes *strategy* the one for objects stored under *storage*."""
    _table[storage] = strategy


def of(resource: Resource) -> Strategy:
    """The strategy of a built-in resource, or the one its CRD version carries."""
    if resource.custom is not None:
        return resource.custom.strategy
    return _table.get(resource.storage, PLAIN)


def counts(strategy: Strategy, new: Json, old: Json) -> bool:
    """Whether the difference makes a new generation."""
    if not strategy.generation:
        return False
    ignored = {"apiVersion", "kind", "metadata"} | ({"status"} if strategy.has_status else set())
    if any(new.get(key) != old.get(key) for key in (set(new) | set(old)) - ignored):
        return True
    annotations = [(o["metadata"].get("annotations") or {}) for o in (new, old)]
    return strategy.generation_of_annotations and annotations[0] != annotations[1]


def split_status(strategy: Strategy, new: Json, old: Json | None, subresource: str) -> None:
    """Keeps `status` out of the main resource's writes, and everything else out of the subresource's."""
    if not strategy.has_status:
        return
    if subresource == "status":
        for key in (set(new) | set(old or {})) - {"apiVersion", "kind", "metadata", "status"}:
            _take(new, old or {}, key)
    elif subresource in ("", "scale"):
        _take(new, old or {}, "status")


def _take(new: Json, old: Json, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)
