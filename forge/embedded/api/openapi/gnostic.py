"""An OpenAPI v2 document as gnostic's protobuf, the only form of it that kubectl reads.

Numbers are those of gnostic's `openapi_v2.proto` (Apache-2.0). A document may be written in pieces:
protobuf joins messages that stand one after the other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from forge.embedded.api.schema.model import JSON

MEDIA: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ACCEPTED: Final = (MEDIA, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")


def document(head: JSON) -> bytes:
    """A document without definitions."""
    info = _text(1, head["info"]["title"]) + _text(2, head["info"]["version"])
    return _text(1, head["swagger"]) + _message(2, info) + _message(8, b"")


def definitions(schemas: Mapping[str, JSON]) -> bytes:
    """The piece of a document that holds *schemas* by name."""
    return _message(9, b"".join(_named(1, name, _schema(schema)) for name, schema in schemas.items()))


def _schema(schema: Mapping[str, Any]) -> bytes:
    return b"".join(_members(schema))


def _members(schema: Mapping[str, Any]) -> Iterator[bytes]:
    for word, value in schema.items():
        if word.startswith("x-"):
            yield _named(31, word, _any(value))
        elif word in _SCALARS:
            number, write = _SCALARS[word]
            yield write(number, value)
        elif word == "required":
            yield from (_text(19, name) for name in value)
        elif word == "enum":
            yield from (_message(20, _any(one)) for one in value)
        elif word == "additionalProperties":
            yield _message(21, _flag(2, value) if isinstance(value, bool) else _message(1, _schema(value)))
        elif word == "type":
            yield _message(22, _text(1, value))
        elif word == "items":
            yield _message(23, _message(1, _schema(value)))
        elif word == "properties":
            yield _message(25, b"".join(_named(1, name, _schema(one)) for name, one in value.items()))


def _named(number: int, name: str, value: bytes) -> bytes:
    """A pair of a name and a message."""
    return _message(number, _text(1, name) + _message(2, value))


def _any(value: Any) -> bytes:
    """A value of any shape, as YAML; JSON is YAML."""
    return _text(2, json.dumps(value))


def _message(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode())


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3) + _varint(int(value))


def _count(number: int, value: float) -> bytes:
    return _varint(number << 3) + _varint(int(value) & 0xFFFF_FFFF_FFFF_FFFF)


def _number(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", float(value))


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


_SCALARS: Final[dict[str, tuple[int, Callable[[int, Any], bytes]]]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "multipleOf": (6, _number),
    "maximum": (7, _number),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, _number),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, _count),
    "minLength": (12, _count),
    "pattern": (13, _text),
    "maxItems": (14, _count),
    "minItems": (15, _count),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, _count),
    "minProperties": (18, _count),
}
