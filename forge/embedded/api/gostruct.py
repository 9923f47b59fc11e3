"""Reads a JSON document as the Go type it stands for, and writes it as Go would.

The real server decodes built-in objects into structs: members it does not know are dropped (and
named), empty ones are left out where the struct says omitempty, others appear with their zero value,
and a value of the wrong type is refused in the words of Go's decoder. Which members there are comes
from the packaged definitions.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from forge.embedded.api import quantity
from forge.embedded.api.openapi import data
from forge.embedded.api.values import Json

_INTEGERS = {"int", "int32", "int64", "uint32", "uint64", "byte", "uint8"}
_SCALARS = {"string", "bool", "float64"} | _INTEGERS
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_PROPS = f"{_APIEXTENSIONS}.JSONSchemaProps"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


class GoTypeError(ValueError):
    """A value of another type than the struct has; the message is Go's."""


class _Reading:
    """One document being read: the unknown members found, and where the reader stands."""

    __slots__ = ("fields", "struct", "unknown")

    def __init__(self, struct: str) -> None:
        self.unknown: list[str] = []
        self.fields: list[str] = []
        self.struct = struct

    def refuse(self, value: Any, go_type: str) -> GoTypeError:
        said = json_type(value)
        if said == "number" and go_type in _INTEGERS:
            said = f"number {value}"
        if not self.fields:
            return GoTypeError(f"json: cannot unmarshal {said} into Go value of type {go_type}")
        place = f"{self.struct}.{'.'.join(self.fields)}"
        return GoTypeError(f"json: cannot unmarshal {said} into Go struct field {place} of type {go_type}")


Read = Callable[[Any, _Reading, str], Any]


def read(name: str, document: Json) -> tuple[Json, list[str]]:
    """(*document* as Go would write it, paths of unknown members). name: of a packaged type.

    Raises GoTypeError.
    """
    reading = _Reading(name.rsplit(".", 1)[-1])
    found: Json = _struct(name)(document, reading, "")
    return found, reading.unknown


def empty(name: str) -> Json:
    """A zero value of the struct *name* as Go writes it."""
    return _written(_members(name), {})


def json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    for kind, word in ((str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return word
    return "null"


def go_name(written: str) -> str:
    """A type expression as Go prints it: `[]v1.Container`."""
    for prefix in ("*", "[]", "map[string]"):
        if written.startswith(prefix):
            return ("" if prefix == "*" else prefix) + go_name(written[len(prefix) :])
    return ".".join(written.split(".")[-2:]) if "." in written else {"byte": "uint8"}.get(written, written)


@cache
def _reader(written: str) -> Read:
    written = written.removeprefix("*")
    if written == "[]byte":
        return _bytes
    if written.startswith("[]"):
        return _list(written)
    if written.startswith("map[string]"):
        return _map(written)
    if written in _SCALARS:
        return _scalar(written)
    return _SPECIAL.get(written) or _struct(written)


def _scalar(written: str) -> Read:
    zero = _zero(written)

    def scalar(value: Any, reading: _Reading, _path: str) -> Any:
        if value is None:
            return zero
        kind = json_type(value)
        if written == "string" and kind == "string":
            return value
        if written == "bool" and kind == "bool":
            return value
        if written == "float64" and kind == "number":
            return value
        if written in _INTEGERS and kind == "number" and isinstance(value, int):
            return value
        raise reading.refuse(value, written)

    return scalar


def _bytes(value: Any, reading: _Reading, _path: str) -> Any:
    if value is None:
        return None
    if not isinstance(value, str):
        raise reading.refuse(value, "[]uint8")
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        bad = re.search(r"[^A-Za-z0-9+/=\r\n]", value)
        place = bad.start() if bad else len(value)
        raise GoTypeError(f"illegal base64 data at input byte {place}") from None
    return value


def _list(written: str) -> Read:
    inner = written[2:]

    def items(value: Any, reading: _Reading, path: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            raise reading.refuse(value, go_name(written))
        return [_reader(inner)(item, reading, f"{path}[{index}]") for index, item in enumerate(value)]

    return items


def _map(written: str) -> Read:
    inner = written[len("map[string]") :]

    def members(value: Any, reading: _Reading, path: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise reading.refuse(value, go_name(written))
        return {key: _reader(inner)(item, reading, f"{path}.{key}") for key, item in value.items()}

    return members


@cache
def _members(name: str) -> dict[str, tuple[str, bool]]:
    """Member -> (type expression, left out when empty)."""
    return {e["n"]: (e["t"], bool(e.get("o")) and _may_omit(e["t"])) for e in data.fields_of(name)}


def _may_omit(written: str) -> bool:
    return written.startswith(("*", "[]", "map[")) or written in _SCALARS


def _struct(name: str) -> Read:
    short = name.rsplit(".", 1)[-1]

    def struct(value: Any, reading: _Reading, path: str) -> Any:
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise reading.refuse(value, go_name(name))
        members = _members(name)
        outer, reading.struct = reading.struct, short
        given: dict[str, Any] = {}
        for key, item in value.items():
            where = f"{path}.{key}" if path else key
            if key not in members:
                reading.unknown.append(where)
            elif item is not None or not members[key][0].startswith("*"):
                reading.fields.append(key)
                given[key] = _reader(members[key][0])(item, reading, where)
                reading.fields.pop()
        reading.struct = outer
        return _written(members, given)

    return struct


def _written(members: dict[str, tuple[str, bool]], given: dict[str, Any]) -> Json:
    """The members as Go writes them: struct order, empty ones by their omitempty."""
    found = {}
    for key, (written, omit) in members.items():
        if key in given:
            value = given[key]
            if omit and (value is None or (not written.startswith("*") and not value)):
                continue
            found[key] = value
        elif not omit:
            found[key] = _zero(written)
    return found


def _zero(written: str) -> Any:
    if written == "string":
        return ""
    if written == "bool":
        return False
    if written in _INTEGERS or written == "float64":
        return 0
    if written.startswith(("*", "[]", "map[")):
        return None
    if written in _SPECIAL:
        return "0" if written.endswith("Quantity") else 0 if written.endswith("IntOrString") else None
    return _written(_members(written), {})


def _time(pattern: re.Pattern[str], layout: str) -> Read:
    def time(value: Any, reading: _Reading, _path: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, str):
            raise reading.refuse(value, "string")
        if not pattern.fullmatch(value):
            raise GoTypeError(_time_error(value, layout))
        return value

    return time


def _time_error(value: str, layout: str) -> str:
    whole = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", value)
    rest, wanted = (value[whole.end() :], ".000000") if whole else (value, "2006")
    return f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{wanted}"'


def _quantity(value: Any, reading: _Reading, _path: str) -> Any:
    if value is None:
        return "0"
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise reading.refuse(value, "string")
    try:
        return quantity.canonical(str(value))
    except ValueError as error:
        raise GoTypeError(str(error)) from None


def _int_or_string(value: Any, reading: _Reading, _path: str) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise reading.refuse(value, "int32" if isinstance(value, float) else "string")
    return value


def _anything(value: Any, _reading: _Reading, _path: str) -> Any:
    return value


def _props_or_list(value: Any, reading: _Reading, path: str) -> Any:
    """JSONSchemaProps, or a list; Go's own reader takes anything else for nothing at all."""
    if isinstance(value, list):
        return _list(f"[]{_PROPS}")(value, reading, path)
    return _struct(_PROPS)(value, reading, path) if isinstance(value, dict) else None


def _props_or_bool(value: Any, reading: _Reading, path: str) -> Any:
    if not isinstance(value, (dict, bool)):
        raise GoTypeError("boolean or JSON schema expected")
    return _struct(_PROPS)(value, reading, path) if isinstance(value, dict) else value


def _props_or_strings(value: Any, reading: _Reading, path: str) -> Any:
    if isinstance(value, list):
        return _list("[]string")(value, reading, path)
    return _struct(_PROPS)(value, reading, path) if isinstance(value, dict) else None


_MACHINERY = "io.k8s.apimachinery.pkg"
_SPECIAL: dict[str, Read] = {
    f"{data.META}.Time": _time(_TIME, "2006-01-02T15:04:05Z07:00"),
    f"{data.META}.MicroTime": _time(_MICRO_TIME, "2006-01-02T15:04:05.000000Z07:00"),
    f"{data.META}.Duration": _anything,
    f"{data.META}.FieldsV1": _anything,
    f"{_MACHINERY}.api.resource.Quantity": _quantity,
    f"{_MACHINERY}.util.intstr.IntOrString": _int_or_string,
    f"{_MACHINERY}.runtime.RawExtension": _anything,
    f"{_APIEXTENSIONS}.JSON": _anything,
    f"{_APIEXTENSIONS}.JSONSchemaPropsOrArray": _props_or_list,
    f"{_APIEXTENSIONS}.JSONSchemaPropsOrBool": _props_or_bool,
    f"{_APIEXTENSIONS}.JSONSchemaPropsOrStringArray": _props_or_strings,
}
