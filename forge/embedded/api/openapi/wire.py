"""The protobuf wire format, read without a protobuf runtime.

A message is a sequence of (number, value): a value is an int (varint, fixed) or bytes (everything
with a length). What it means is for the reader who knows the message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
LONGEST_VARINT: Final = 10


class BadWire(ValueError):
    """The bytes are no protobuf message."""


def entries(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) in the order they stand. Raises BadWire."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise BadWire("proto: illegal tag 0")
        if kind == VARINT:
            value, at = varint(message, at)
            yield number, value
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            yield number, int.from_bytes(_cut(message, at, size), "little")
            at += size
        elif kind == BYTES:
            size, at = varint(message, at)
            yield number, _cut(message, at, size)
            at += size
        else:
            raise BadWire(f"proto: illegal wireType {kind}")


def varint(message: bytes, at: int) -> tuple[int, int]:
    """(the number that starts at *at*, where the next thing starts). Raises BadWire."""
    value = shift = 0
    for index in range(at, min(at + LONGEST_VARINT, len(message))):
        byte = message[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, index + 1
        shift += 7
    raise BadWire("unexpected EOF")


def signed(value: int, bits: int = 64) -> int:
    """*value* as a two's complement number; 32-bit fields are sent with all 64 bits too."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def double(value: int) -> float:
    """A fixed 64-bit field as a floating point number."""
    return float(struct.unpack("<d", value.to_bytes(8, "little"))[0])


def fields(message: bytes) -> dict[int, list[int | bytes]]:
    """All values by field number. Raises BadWire."""
    found: dict[int, list[int | bytes]] = {}
    for number, value in entries(message):
        found.setdefault(number, []).append(value)
    return found


def _cut(message: bytes, at: int, size: int) -> bytes:
    if at + size > len(message):
        raise BadWire("unexpected EOF")
    return message[at : at + size]
