"""The schemas of OpenAPI v3 documents: packaged types, and the definitions of custom resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from forge.embedded.api.openapi.data import META, docs, fields_of, types
from forge.embedded.api.schema.model import JSON

REF: Final = "#/components/schemas/"
RUNTIME: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
PLAIN: Final[dict[str, JSON]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer", "format": "int32"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "uint32": {"type": "integer", "format": "int64"},
    "uint64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
    "byte": {"type": "integer", "format": "byte"},
    "uint8": {"type": "integer", "format": "byte"},
}
ZERO: Final = {"string": "", "bool": False}
SPECIAL: Final[dict[str, JSON]] = {
    f"{META}.Time": {"type": "string", "format": "date-time"},
    f"{META}.MicroTime": {"type": "string", "format": "date-time"},
    f"{META}.Duration": {"type": "string"},
    f"{META}.FieldsV1": {"type": "object"},
    QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    INT_OR_STRING: {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
    RUNTIME: {"type": "object"},
    f"{EXTENSIONS}.JSON": {},
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": {},
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": {},
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": {},
}
LIST_DOC: Final = (
    "Standard list metadata. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
OBJECT_DOC: Final = (
    "Standard object's metadata. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
ITEMS_DOC: Final = (
    "List of {}. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
)


def reference(name: str) -> JSON:
    """A reference to the schema *name*."""
    return {"$ref": REF + name}


def kind_of(group: str, version: str, kind: str) -> JSON:
    """One entry of x-kubernetes-group-version-kind."""
    return {"group": group, "kind": kind, "version": version}


def reached(names: Iterable[str]) -> list[str]:
    """*names* and every packaged type they lead to, sorted; what is not packaged is left out."""
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or (name not in types() and name not in SPECIAL):
            continue
        seen.add(name)
        if name in types() and name not in SPECIAL:
            waiting += (_leaf(entry["t"]) for entry in fields_of(name))
    return sorted(seen)


def component(name: str, kinds: list[JSON]) -> JSON:
    """The schema of a packaged type. kinds: what it is called where it is a kind."""
    text = docs().get(name, {})
    described: JSON = {"description": text[""]} if text.get("") else {}
    if name in SPECIAL:
        return {**described, **SPECIAL[name]}
    made: JSON = {**described, "type": "object"}
    entries = fields_of(name)
    if needed := [e["n"] for e in entries if e.get("r")]:
        made["required"] = needed
    properties = {e["n"]: _property(e, _said(name, e["n"])) for e in sorted(entries, key=lambda e: e["n"])}
    if properties:
        made["properties"] = properties
    if kinds:
        made["x-kubernetes-group-version-kind"] = kinds
    if types()[name].get("a"):
        made["x-kubernetes-map-type"] = "atomic"
    return made


def _said(name: str, field: str) -> str:
    """The documentation of a field, of an inlined struct's too."""
    found = docs().get(name, {}).get(field)
    if found is not None:
        return found
    inlined = (e["t"].removeprefix("*") for e in types()[name]["f"] if e.get("i"))
    return next((said for inner in inlined if (said := _said(inner, field))), "")


def _property(entry: Mapping[str, Any], said: str) -> JSON:
    made: JSON = {"description": said} if said else {}
    shape = _typed(entry["t"], zero=not entry.get("o"))
    if "$ref" in shape and said:
        shape = {"allOf": [shape]}
    made.update(shape)
    if "d" in entry:
        made["default"] = entry["d"]
    if values := entry.get("e"):
        (made["items"] if made.get("type") == "array" else made)["enum"] = values
    return made | dict(_extensions(entry))


def _typed(written: str, *, zero: bool) -> JSON:
    """The schema of a type expression. zero: whether its zero value is written as the default."""
    if written == "[]byte":
        return {"type": "string", "format": "byte"}
    if written.startswith("*"):
        inner = written[1:]
        return _typed(inner, zero=False) if inner in PLAIN or inner in SPECIAL else reference(inner)
    if written.startswith("[]"):
        return {"type": "array", "items": _typed(written[2:], zero=True)}
    if written.startswith("map[string]"):
        return {"type": "object", "additionalProperties": _typed(written[11:], zero=True)}
    if written in PLAIN:
        return {**PLAIN[written], "default": ZERO.get(written, 0)} if zero else dict(PLAIN[written])
    if written in SPECIAL:
        return reference(written)
    return {"default": {}, "allOf": [reference(written)]}


def _extensions(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if "k" in entry:
        yield "x-kubernetes-list-map-keys", entry["k"]
    if "l" in entry:
        yield "x-kubernetes-list-type", entry["l"]
    if "m" in entry:
        yield "x-kubernetes-map-type", entry["m"]
    if "mk" in entry:
        yield "x-kubernetes-patch-merge-key", entry["mk"]
    if "s" in entry:
        yield "x-kubernetes-patch-strategy", entry["s"]


def _leaf(written: str) -> str:
    return written.rpartition("]")[2].removeprefix("*")


def custom_name(group: str, version: str, kind: str) -> str:
    """How documents name a custom kind: its group turned round."""
    return ".".join([*reversed(group.split(".")), version, kind])


def custom(
    openapi: Mapping[str, Any], group: str, version: str, kind: str, selectable: Iterable[str] = ()
) -> JSON:
    """The schema of a custom kind, with what every object has. selectable: fields to select by."""
    type_meta = docs()[f"{META}.TypeMeta"]
    known: JSON = {
        "apiVersion": {"description": type_meta["apiVersion"], "type": "string"},
        "kind": {"description": type_meta["kind"], "type": "string"},
        "metadata": {"description": OBJECT_DOC, "allOf": [reference(f"{META}.ObjectMeta")]},
    }
    body: JSON = _published(openapi)
    body["properties"] = {**(body.get("properties") or {}), **known}
    body["x-kubernetes-group-version-kind"] = [kind_of(group, version, kind)]
    body["x-kubernetes-selectable-fields"] = [{"fieldPath": path.removeprefix(".")} for path in selectable]
    return body


def _published(level: Any) -> Any:
    """A definition's schema as documents show it: what is an integer or a string says so."""
    if isinstance(level, Mapping):
        made = {k: _published(v) if k != "default" else v for k, v in level.items()}
        if made.get("x-kubernetes-int-or-string") is True:
            made.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
        return made
    return [_published(v) for v in level] if isinstance(level, list) else level


def custom_list(group: str, version: str, kind: str, list_kind: str, plural: str) -> JSON:
    """The schema of a custom kind's list."""
    type_meta = docs()[f"{META}.TypeMeta"]
    item = reference(custom_name(group, version, kind))
    return {
        "description": f"{list_kind} is a list of {kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": type_meta["apiVersion"], "type": "string"},
            "items": {"description": ITEMS_DOC.format(plural), "type": "array", "items": item},
            "kind": {"description": type_meta["kind"], "type": "string"},
            "metadata": {"description": LIST_DOC, "allOf": [reference(f"{META}.ListMeta")]},
        },
        "x-kubernetes-group-version-kind": [kind_of(group, version, list_kind)],
        "x-kubernetes-selectable-fields": [],
    }
