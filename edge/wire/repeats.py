"""A head that comes again, byte for byte but for its Content-Length, need not be parsed and judged again.

Clients of one connection, and an endpoint's replies within one second, say the same head over and over. What
was found in it the first time, by the parser and every rule, is true of the same bytes the second time. So
this is no second parser: it only compares. It is asked where a message must begin, and agrees only when the
read is the head and the whole body its length tells of, to the byte; anything else goes to the parser.
"""

from __future__ import annotations

import re
from typing import Final

_LENGTH: Final = re.compile(rb"\r\ncontent-length: ?([0-9]{1,8})\r\n", re.IGNORECASE)
_END: Final = b"\r\n\r\n"
_MAX_DIGITS: Final = 8  # more than one read holds

MOST_BYTES: Final = 2048
"""Longer heads are not remembered: a connection has to stay cheap."""


class Pattern:
    """before, after: the head's bytes on both sides of Content-Length's digits; without one, *before* is all
    of it and *after* is empty."""

    __slots__ = ("_after", "_before", "_start")

    def __init__(self, before: bytes, after: bytes) -> None:
        self._before, self._after = before, after
        self._start = len(before)

    def body_at(self, read: bytes) -> int:
        """Where the body begins in *read*, when it is this head and its whole body and nothing else; 0 when
        it is not."""
        start, after, whole = self._start, self._after, len(read)
        if read[:start] != self._before:
            return 0
        if not after:
            return start if whole == start else 0
        end, length = start, 0
        last = start + _MAX_DIGITS
        while end < whole and end < last:
            digit = read[end] - 0x30
            if digit < 0 or digit > 9:
                break
            length = length * 10 + digit
            end += 1
        at = end + len(after)
        return at if end > start and at + length == whole and read[end:at] == after else 0


def pattern_of(read: bytes, body_bytes: int) -> Pattern | None:
    """Of the head in *read*, in which the parser has found one message, whole, framed by Content-Length or
    without a body; None when it is not worth it, or when it is not certain where its length stands."""
    head = read[: read.find(_END) + len(_END)]
    if len(head) > MOST_BYTES or len(read) - len(head) != body_bytes:
        return None
    found = _LENGTH.search(head)
    if found is None:
        return None if body_bytes else Pattern(head, b"")
    if int(found[1]) != body_bytes:
        return None
    return Pattern(head[: found.start(1)], head[found.end(1) :])
