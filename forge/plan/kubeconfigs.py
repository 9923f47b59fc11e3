"""Putting Forge's clusters into a user's kubeconfig, and taking them out again. Pure.

What Forge puts there carries an extension with its environment's id, which kubectl keeps; nothing
without it is ever changed. A document is what a kubeconfig file holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from forge.plan.values import Owner

Document = dict[str, Any]
EXTENSION: Final = "dev.praxis.forge"
_LISTS: Final = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))


def clashes(document: Document, new: Document, owner: Owner) -> tuple[str, ...]:
    """Entries of new whose name is taken by something that is not the owner's: `context kind-east`."""
    found = []
    for many, one in _LISTS:
        for entry in _entries(new, many):
            taken = [e for e in _entries(document, many) if e.get("name") == entry["name"]]
            if any(not _is_ours(e, one, owner) for e in taken):
                found.append(f"{one} {entry['name']}")
    return tuple(found)


def merged(document: Document, new: Document, owner: Owner) -> Document:
    """With new's entries, in the place of those of the same name and of all others of the owner's. The
    current context stays; where there is none, or it is gone, it is new's first."""
    result = without(document, owner)
    for many, one in _LISTS:
        entries = [_marked(entry, one, owner) for entry in _entries(new, many)]
        names = [entry["name"] for entry in entries]
        result[many] = [e for e in _entries(result, many) if e.get("name") not in names] + entries
    before = document.get("current-context")
    contexts = [str(entry.get("name")) for entry in result["contexts"]]
    first = next((str(entry["name"]) for entry in _entries(new, "contexts")), "")
    result["current-context"] = before if before in contexts else first
    return {"apiVersion": "v1", "kind": "Config", **result}


def without(document: Document, owner: Owner) -> Document:
    """Without the owner's entries. A current context that went with them is empty."""
    result = dict(document)
    for many, one in _LISTS:
        result[many] = [e for e in _entries(document, many) if not _is_ours(e, one, owner)]
    names = [entry.get("name") for entry in result["contexts"]]
    if result.get("current-context") and result["current-context"] not in names:
        result["current-context"] = ""
    return result


def is_empty(document: Document) -> bool:
    """Whether it names nothing at all."""
    return not any(_entries(document, many) for many, _ in _LISTS)


def together(documents: Sequence[Document]) -> Document:
    """One document of several that have no names in common."""
    result: Document = {"apiVersion": "v1", "kind": "Config"}
    for many, _ in _LISTS:
        result[many] = [entry for document in documents for entry in _entries(document, many)]
    result["current-context"] = next((d.get("current-context", "") for d in documents), "")
    return result


def _entries(document: Mapping[str, Any], many: str) -> list[dict[str, Any]]:
    found = document.get(many)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _extensions(entry: Mapping[str, Any], one: str) -> Iterator[Mapping[str, Any]]:
    body = entry.get(one)
    found: Iterable[Any] = (body.get("extensions") or ()) if isinstance(body, Mapping) else ()
    yield from (e for e in found if isinstance(e, Mapping))


def _is_ours(entry: Mapping[str, Any], one: str, owner: Owner) -> bool:
    return any(
        extension.get("name") == EXTENSION
        and isinstance(extension.get("extension"), Mapping)
        and extension["extension"].get("environmentId") == owner.environment_id
        for extension in _extensions(entry, one)
    )


def _marked(entry: Mapping[str, Any], one: str, owner: Owner) -> dict[str, Any]:
    mark = {"environment": owner.environment, "environmentId": owner.environment_id}
    others = [e for e in _extensions(entry, one) if e.get("name") != EXTENSION]
    body = {**entry[one], "extensions": [*others, {"name": EXTENSION, "extension": mark}]}
    return {**entry, one: body}
