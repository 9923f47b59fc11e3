"""What no level of a custom resource's schema may hold, whatever stands around it.

The first round of refusals: forbidden keywords, list and map types that do not fit, patterns that do
not compile. Every violation is named, by its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from forge.embedded.api.schema.causes import forbidden, invalid, required, unsupported
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.schema.patterns import complaint

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
MAP_TYPES: Final = ("atomic", "granular")
LIST_TYPES: Final = ("atomic", "map", "set")
SCALARS: Final = ("boolean", "integer", "number", "string")
UNSUPPORTED: Final = (
    ("$ref", "$ref is not supported"),
    ("id", "id is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("additionalItems", "additionalItems is not supported"),
)
Level = Mapping[str, Any]


def check(root: Level, path: str) -> list[Cause]:
    """Every violation of *root*, which stands at *path* in the definition."""
    causes = list(_root(root, path))
    return causes or list(_walk(root, path))


def _root(root: Level, path: str) -> Iterator[Cause]:
    kind = root.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must not be empty at the root")
    elif kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if root.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    if root.get("additionalProperties"):
        yield forbidden(f"{path}.additionalProperties", "additionalProperties cannot be used at the root")


def _walk(level: Level, path: str) -> Iterator[Cause]:
    yield from _level(level, path)
    for where, sub in below(level, path):
        yield from _walk(sub, where)


def below(level: Level, path: str) -> Iterator[tuple[str, Level]]:
    """(path, schema) of everything directly under *level*, junctors included."""
    if isinstance(level.get("additionalProperties"), Mapping):
        yield f"{path}.additionalProperties", level["additionalProperties"]
    for name, sub in (level.get("properties") or {}).items():
        yield f"{path}.properties[{name}]", sub
    if isinstance(level.get("not"), Mapping):
        yield f"{path}.not", level["not"]
    for junctor in ("allOf", "oneOf", "anyOf"):
        for index, sub in enumerate(level.get(junctor) or ()):
            yield f"{path}.{junctor}[{index}]", sub
    if isinstance(level.get("items"), Mapping):
        yield f"{path}.items", level["items"]


def _level(level: Level, path: str) -> Iterator[Cause]:
    kind = level.get("type") or ""
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    elif kind and kind not in TYPES:
        yield unsupported(f"{path}.type", kind, TYPES)
    for key, detail in UNSUPPORTED:
        if level.get(key):
            yield forbidden(f"{path}.{key}", detail)
    if kind == "array" and not isinstance(level.get("items"), Mapping):
        yield _items_missing(level, path)
    if level.get("pattern") and (wrong := complaint(level["pattern"])):
        yield invalid(
            f"{path}.pattern", level["pattern"], f"must be a valid regular expression, but isn't: {wrong}"
        )
    if level.get("uniqueItems"):
        yield forbidden(
            f"{path}.uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if level.get("properties") and level.get("additionalProperties") not in (None, False):
        yield forbidden(
            f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    if level.get("x-kubernetes-preserve-unknown-fields") is False:
        field = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield Cause(field, "FieldValueInvalid", "Invalid value: false: must be true or undefined")
    yield from _map_type(level, path, kind)
    yield from _list_type(level, path, kind)


def _items_missing(level: Level, path: str) -> Cause:
    if isinstance(level.get("items"), list):
        return forbidden(f"{path}.items", "items must be a schema object and not an array")
    return required(f"{path}.items", "must be specified")


def _map_type(level: Level, path: str, kind: str) -> Iterator[Cause]:
    given = level.get("x-kubernetes-map-type")
    if given is None:
        return
    if kind != "object":
        yield _needs_type(path, kind, "object", "x-kubernetes-map-type")
    if given not in MAP_TYPES:
        yield unsupported(f"{path}.x-kubernetes-map-type", given, MAP_TYPES)


def _list_type(level: Level, path: str, kind: str) -> Iterator[Cause]:
    given = level.get("x-kubernetes-list-type")
    keys: list[str] = list(level.get("x-kubernetes-list-map-keys") or ())
    if given is not None and kind != "array":
        yield _needs_type(path, kind, "array", "x-kubernetes-list-type")
    elif given is not None and given not in LIST_TYPES:
        yield unsupported(f"{path}.x-kubernetes-list-type", given, LIST_TYPES)
    if keys and given is None:
        yield required(
            f"{path}.x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty"
        )
    elif keys and given != "map":
        yield invalid(
            f"{path}.x-kubernetes-list-type", given, "must be map if x-kubernetes-list-map-keys is non-empty"
        )
    if given == "map":
        yield from _list_map(level, path, keys)
    if given == "set":
        yield from _list_set(level.get("items") or {}, f"{path}.items")


def _needs_type(path: str, kind: str, wanted: str, key: str) -> Cause:
    detail = f"must be {wanted} if {key} is specified"
    return invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)


def _list_map(level: Level, path: str, keys: list[str]) -> Iterator[Cause]:
    items = level.get("items") or {}
    if not keys:
        yield required(
            f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map"
        )
    if items.get("type") != "object":
        yield invalid(
            f"{path}.items.type",
            items.get("type") or "",
            "must be object if parent array's x-kubernetes-list-type is map",
        )
        return
    known = items.get("properties") or {}
    if any(key not in known for key in keys):
        yield _keys_wrong(path, keys, "entries must all be names of item properties")
    if len(set(keys)) != len(keys):
        yield _keys_wrong(path, keys, "must not contain duplicate entries")
    for key in keys:
        yield from _list_key(key, known.get(key), items, path)


def _keys_wrong(path: str, keys: list[str], detail: str) -> Cause:
    listed = ", ".join(f'"{k}"' for k in keys)
    field = f"{path}.x-kubernetes-list-map-keys"
    return Cause(field, "FieldValueInvalid", f"Invalid value: []string{{{listed}}}: {detail}")


def _list_key(key: str, prop: Level | None, items: Level, path: str) -> Iterator[Cause]:
    if prop is None:
        return
    where = f"{path}.items.properties[{key}]"
    if (kind := prop.get("type") or "") and kind not in SCALARS:
        yield invalid(
            f"{where}.type", kind, "must be a scalar type if parent array's x-kubernetes-list-type is map"
        )
    if "default" not in prop and key not in (items.get("required") or ()):
        yield required(
            f"{where}.default",
            "this property is in x-kubernetes-list-map-keys, so it must have a default"
            " or be a required property",
        )
    if prop.get("nullable"):
        yield forbidden(
            f"{where}.nullable",
            "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
        )


def _list_set(items: Level, path: str) -> Iterator[Cause]:
    if items.get("nullable"):
        yield forbidden(f"{path}.nullable", "cannot be nullable when x-kubernetes-list-type is set")
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    for kind, key in (("object", "x-kubernetes-map-type"), ("array", "x-kubernetes-list-type")):
        if items.get("type") == kind and items.get(key) != "atomic":
            yield invalid(f"{path}.{key}", items.get(key), detail)
