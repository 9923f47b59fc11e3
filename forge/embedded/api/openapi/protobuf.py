"""Reads kubectl's protobuf requests of built-in kinds into the JSON they stand for.

    "k8s\\0" + Unknown{typeMeta{apiVersion, kind}, raw}

The numbers of all fields stand in the packaged definitions, so no protobuf runtime and no generated
code is needed. Two things differ from the JSON: a struct that Go inlines is a message of its own, and
Go's protobuf writes zero values; both are undone here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from forge.embedded.api.openapi.data import META, full_name, types
from forge.embedded.api.openapi.wire import BadWire, double, fields, signed
from forge.embedded.api.schema.model import JSON

MAGIC: Final = b"k8s\x00"
MEDIA: Final = "application/vnd.kubernetes.protobuf"
NOT_OURS: Final = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
DEEPEST: Final = 100
ZERO: Final[tuple[Any, ...]] = ("", 0, 0.0, False, None)
Values = list[int | bytes]


class ProtobufRejected(ValueError):
    """The body is no protobuf request of a kind that is served; the text says why."""


def decode(body: bytes, *, group: str = "", version: str = "", kind: str = "") -> JSON:
    """The object in *body*. group, version, kind: what it is where it does not say so itself.

    Raises ProtobufRejected.
    """
    if not body.startswith(MAGIC):
        raise ProtobufRejected(NOT_OURS)
    try:
        return _unwrapped(body[len(MAGIC) :], group, version, kind)
    except BadWire as wrong:
        raise ProtobufRejected(str(wrong)) from None
    except (UnicodeDecodeError, OverflowError, RecursionError) as wrong:
        raise ProtobufRejected(f"proto: {wrong}") from None


def _unwrapped(message: bytes, group: str, version: str, kind: str) -> JSON:
    unknown = fields(message)
    meta = fields(_bytes(unknown.get(1)))
    api_version, named = _text(meta.get(1)), _text(meta.get(2))
    if api_version:
        group, _, version = api_version.rpartition("/")
    kind = named or kind
    name = full_name(group, version, kind)
    if not name:
        raise ProtobufRejected(f'no kind "{kind}" is registered for version "{api_version}"')
    api_version = api_version or (f"{group}/{version}" if group else version)
    return {"kind": kind, "apiVersion": api_version, **_struct(_bytes(unknown.get(2)), name, 0)}


def _struct(message: bytes, name: str, depth: int) -> JSON:
    if depth > DEEPEST:
        raise ProtobufRejected("proto: nested too deeply")
    found = fields(message)
    made: JSON = {}
    for entry in types()[name]["f"]:
        values = found.get(entry.get("p", 0))
        if not values:
            continue
        if entry.get("i"):
            made.update(_struct(_bytes(values), entry["t"].removeprefix("*"), depth + 1))
            continue
        value = _field(values, entry["t"], depth)
        if not (entry.get("o") and _is_zero(value, entry["t"])):
            made[entry["n"]] = value
    return made


def _is_zero(value: Any, written: str) -> bool:
    """Whether Go's omitempty leaves it out: a pointer is kept whatever it points at."""
    if written.startswith("*"):
        return False
    return value in ZERO or value == [] or (value == {} and written.startswith("map["))


def _field(values: Values, written: str, depth: int) -> Any:
    written = written.removeprefix("*")
    if written == "[]byte":
        return base64.b64encode(_bytes(values)).decode()
    if written.startswith("[]"):
        return [_one(value, written[2:], depth) for value in values]
    if written.startswith("map[string]"):
        return _map(values, written[len("map[string]") :], depth)
    return _one(values[-1], written, depth)


def _map(values: Values, inner: str, depth: int) -> JSON:
    made = {}
    for entry in values:
        pair = fields(entry if isinstance(entry, bytes) else b"")
        key, value = _text(pair.get(1)), pair.get(2) or [b""]
        if inner.startswith("[]") and inner != "[]byte":
            # A list inside a map is a message of its own, with the items in field 1.
            made[key] = _field(fields(_bytes(value)).get(1, []), inner, depth)
        else:
            made[key] = _field(value, inner, depth)
    return made


def _one(value: int | bytes, written: str, depth: int) -> Any:
    written = written.removeprefix("*")
    if read := SCALARS.get(written):
        return read(value)
    message = value if isinstance(value, bytes) else b""
    if special := _specials().get(written):
        return special(fields(message))
    return _struct(message, written, depth + 1)


def _int(value: int | bytes) -> int:
    return value if isinstance(value, int) else 0


SCALARS: Final[Mapping[str, Callable[[int | bytes], Any]]] = {
    "string": lambda v: v.decode() if isinstance(v, bytes) else "",
    "bool": lambda v: bool(_int(v)),
    "int": lambda v: signed(_int(v)),
    "int32": lambda v: signed(_int(v), 32),
    "int64": lambda v: signed(_int(v)),
    "uint32": lambda v: _int(v) & 0xFFFF_FFFF,
    "uint64": _int,
    "float64": lambda v: double(_int(v)),
    "byte": _int,
    "uint8": _int,
}


@cache
def _specials() -> dict[str, Callable[[dict[int, Values]], Any]]:
    """Types whose JSON is not their message."""
    return {
        f"{META}.Time": lambda m: _time(m, micros=False),
        f"{META}.MicroTime": lambda m: _time(m, micros=True),
        f"{META}.Duration": lambda m: _duration(signed(_int((m.get(1) or [0])[-1]))),
        f"{META}.FieldsV1": lambda m: _raw(m, {}),
        "io.k8s.apimachinery.pkg.api.resource.Quantity": lambda m: _text(m.get(1)),
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
        "io.k8s.apimachinery.pkg.runtime.RawExtension": lambda m: _raw(m, None),
    }


def _time(message: dict[int, Values], *, micros: bool) -> str | None:
    """RFC 3339; None for Go's zero time, which is written as an empty message."""
    if not message:
        return None
    seconds, nanos = (signed(_int((message.get(n) or [0])[-1])) for n in (1, 2))
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    text = at.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06d}Z" if micros else f"{text}Z"


def _duration(nanos: int) -> str:
    """As Go prints a duration of whole seconds or finer: `1h2m3.5s`."""
    if nanos == 0:
        return "0s"
    rest = abs(nanos)
    hours, rest = divmod(rest, 3_600_000_000_000)
    minutes, rest = divmod(rest, 60_000_000_000)
    seconds = f"{rest / 1e9:.9f}".rstrip("0").rstrip(".")
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{seconds}s"
    return f"-{text}" if nanos < 0 else text


def _int_or_string(message: dict[int, Values]) -> int | str:
    if _int((message.get(1) or [0])[-1]) == 1:
        return _text(message.get(3))
    return signed(_int((message.get(2) or [0])[-1]), 32)


def _raw(message: dict[int, Values], empty: Any) -> Any:
    raw = _bytes(message.get(1))
    try:
        return json.loads(raw) if raw else empty
    except ValueError:
        raise ProtobufRejected("proto: embedded object is no JSON") from None


def _bytes(values: Values | None) -> bytes:
    last = (values or [b""])[-1]
    return last if isinstance(last, bytes) else b""


def _text(values: Values | None) -> str:
    return _bytes(values).decode()
