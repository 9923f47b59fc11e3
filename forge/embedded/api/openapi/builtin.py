"""The Schema of a built-in kind, out of the packaged definitions.

Types refer to each other and to themselves, so a Schema's properties are looked up when they are
first asked for; each type is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from forge.embedded.api.openapi.data import META, fields_of, full_name, types
from forge.embedded.api.schema.model import ABSENT, Schema

PLAIN: Final = {
    "string": "string",
    "bool": "boolean",
    "float64": "number",
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "uint32": "integer",
    "uint64": "integer",
    "byte": "integer",
    "uint8": "integer",
}
APIEXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
SCHEMA_PROPS: Final = f"{APIEXTENSIONS}.JSONSchemaProps"


def _schema_props() -> Schema:
    """A schema inside a definition, also where it may be a list or a boolean instead."""
    return struct(SCHEMA_PROPS)


# Types whose JSON is not their Go shape.
SPECIAL: Final[dict[str, Callable[[], Schema]]] = {
    f"{META}.Time": lambda: Schema(type="string", go="v1.Time", raw={"format": "date-time"}),
    f"{META}.MicroTime": lambda: Schema(type="string", go="v1.MicroTime", raw={"format": "date-time"}),
    f"{META}.Duration": lambda: Schema(type="string", go="v1.Duration"),
    f"{META}.FieldsV1": lambda: Schema(type="object", preserve=True, go="v1.FieldsV1"),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": lambda: Schema(
        int_or_string=True, go="resource.Quantity"
    ),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": lambda: Schema(
        int_or_string=True, go="intstr.IntOrString"
    ),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": lambda: Schema(
        type="object", preserve=True, go="runtime.RawExtension"
    ),
    f"{APIEXTENSIONS}.JSON": lambda: Schema(preserve=True, go="v1.JSON"),
    f"{APIEXTENSIONS}.JSONSchemaPropsOrArray": _schema_props,
    f"{APIEXTENSIONS}.JSONSchemaPropsOrBool": _schema_props,
    f"{APIEXTENSIONS}.JSONSchemaPropsOrStringArray": _schema_props,
}


class Fields(Mapping[str, Schema]):
    """A struct's properties by JSON name, each made when first asked for."""

    __slots__ = ("_entries", "_made")

    def __init__(self, name: str) -> None:
        self._entries = {entry["n"]: entry for entry in fields_of(name)}
        self._made: dict[str, Schema] = {}

    def __getitem__(self, key: str) -> Schema:
        if key not in self._made:
            self._made[key] = _field(self._entries[key])
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def builtin(group: str, version: str, kind: str) -> Schema | None:
    """The Schema of a kind (group "" for core), None where it is not packaged."""
    name = full_name(group, version, kind)
    return struct(name) if name else None


def object_meta() -> Schema:
    """The Schema of every object's metadata."""
    return struct(f"{META}.ObjectMeta")


@cache
def struct(name: str) -> Schema:
    """The Schema of the packaged struct *name*. Raises KeyError where it is not packaged."""
    package, short = name.split(".")[-2:]
    return Schema(
        type="object",
        properties=Fields(name),
        map_type="atomic" if types()[name].get("a") else "",
        go=f"{package}.{short}",
    )


def _field(entry: Mapping[str, Any]) -> Schema:
    strategy = entry.get("s", "").split(",")
    keys = tuple(entry.get("k", ()))
    list_type = entry.get("l", "")
    if not list_type and "merge" in strategy:
        # What carries no list type of its own is owned by the key it is merged by.
        list_type, keys = ("map", (entry["mk"],)) if "mk" in entry else ("set", ())
    pointer = entry["t"].startswith(("*", "[]", "map["))
    return _typed(
        entry["t"],
        list_type=list_type,
        list_keys=keys,
        map_type=entry.get("m", ""),
        default=entry.get("d", ABSENT),
        merge="merge" in strategy,
        merge_key=entry.get("mk", ""),
        retain="retainKeys" in strategy,
        # Go leaves out an empty value of `omitempty`, but never a struct that is no pointer.
        omit=bool(entry.get("o")) and (pointer or entry["t"] in PLAIN),
    )


def _typed(written: str, **known: Any) -> Schema:
    """The Schema of a type expression such as `[]*io.k8s.api.core.v1.Container`."""
    from dataclasses import replace

    written = written.removeprefix("*")
    if written == "[]byte":
        return replace(Schema(type="string", go="[]uint8", raw={"format": "byte"}), **known)
    if written.startswith("[]"):
        inner = _typed(written[2:])
        return replace(Schema(type="array", items=inner, go=f"[]{inner.go}"), **known)
    if written.startswith("map[string]"):
        inner = _typed(written[11:])
        return replace(Schema(type="object", additional=inner, go=f"map[string]{inner.go}"), **known)
    if written in PLAIN:
        return replace(Schema(type=PLAIN[written], go=written), **known)
    made = SPECIAL[written]() if written in SPECIAL else struct(written)
    given = {k: v for k, v in known.items() if k != "map_type" or v}
    return replace(made, **given)
