"""Whole chunks of a body, found without the parser when a read holds nothing else.

A stream of events is mostly that: one read, one chunk, written plainly. Such a read leaves the parser where
it was, between two chunks, so it need not be shown it, and can be passed on as it is. What is accepted here
is a small part of what the parser accepts and means the same: a size without leading zeros, no extension, its
data, CRLF. All else, the last chunk included, goes to the parser (RFC 9112, 7.1).
"""

from __future__ import annotations

from typing import Final

_MOST_DIGITS: Final = 5  # more than one read holds


def whole_chunks(read: bytes) -> list[bytes]:
    """The data of each chunk, when *read*, which begins where a chunk must, is one or more whole ones and
    nothing else; empty when it is not, or is not written plainly."""
    found: list[bytes] = []
    at, end = 0, len(read)
    while at < end:
        size = 0
        last = at + _MOST_DIGITS
        byte = read[at]
        while True:
            if 0x30 <= byte <= 0x39:
                size = size * 16 + byte - 0x30
            elif 0x61 <= byte <= 0x66:
                size = size * 16 + byte - 0x57
            elif 0x41 <= byte <= 0x46:
                size = size * 16 + byte - 0x37
            else:
                break
            at += 1
            if size == 0 or at > last or at == end:
                return []
            byte = read[at]
        begin = at + 2
        after = begin + size
        if size == 0 or after + 2 > end or read[at:begin] != b"\r\n" or read[after : after + 2] != b"\r\n":
            return []
        found.append(read[begin:after])
        at = after + 2
    return found
