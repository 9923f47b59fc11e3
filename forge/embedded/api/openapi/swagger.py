"""One OpenAPI v2 document with the schemas of everything served, for clients that still read it.

kubectl asks for it where v3 cannot help: for `kind: List` files, which no path of v3 names, and for
changed custom resources. It reads the definitions only; so there are no paths here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from forge.embedded.api.openapi import document
from forge.embedded.api.openapi.components import INT_OR_STRING, QUANTITY, REF
from forge.embedded.api.openapi.operations import Served
from forge.embedded.api.schema.model import JSON

_REF: Final = "#/definitions/"
_SPECIAL: Final[dict[str, JSON]] = {
    QUANTITY: {"type": "string"},
    INT_OR_STRING: {"type": "string", "format": "int-or-string"},
}
# What version 2 has no word for, or what clients of it would take literally.
_DROPPED: Final = {"default", "nullable", "oneOf", "anyOf", "not"}
_BRANCHES: Final = ("properties", "patternProperties")
_KIND: Final = "x-kubernetes-group-version-kind"
_FREE: Final = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")


# How the real server numbers this document, unlike those of version 3.
_HEAD: Final[JSON] = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.32"}, "paths": {}}


def head() -> JSON:
    """The document without its definitions."""
    return dict(_HEAD)


def definitions(served: Iterable[tuple[str, str, Iterable[Served]]]) -> JSON:
    """name -> definition of everything that (group, version, its resources) need."""
    found: JSON = {}
    for group, version, resources in served:
        for name, schema in document.schemas(group, version, list(resources)):
            made = found.setdefault(name, _SPECIAL.get(name) or converted(schema))
            for kind in schema.get(_KIND, ()):
                if kind not in made[_KIND]:
                    made[_KIND].append(kind)
    return found


def converted(schema: Mapping[str, Any]) -> JSON:
    """One schema of version 3 in the words of version 2."""
    if schema.get("nullable"):
        # Version 2 has no null, so nothing may be said of what may be null.
        return _kept(schema, ("description",))
    free = next((word for word in _FREE if schema.get(word) is True), None)
    if free is not None:
        return _kept(schema, ("description", free, _KIND))
    return dict(_members(schema))


def _kept(schema: Mapping[str, Any], words: Iterable[str]) -> JSON:
    return {word: schema[word] for word in words if word in schema}


def _members(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for word, value in schema.items():
        if word in _DROPPED:
            continue
        if word == "allOf":
            # Only references are wrapped so in version 3; version 2 has them beside a description.
            references = [one["$ref"] for one in value if "$ref" in one]
            if references:
                yield "$ref", _REF + references[0].removeprefix(REF)
        elif word == "$ref":
            yield "$ref", _REF + value.removeprefix(REF)
        elif word in _BRANCHES:
            yield word, {name: converted(inner) for name, inner in value.items()}
        elif word in ("items", "additionalProperties") and isinstance(value, Mapping):
            yield word, converted(value)
        elif word != "additionalProperties" or isinstance(value, bool):
            yield word, value
