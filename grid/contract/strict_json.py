"""JSON from outside, decoded whole or refused: size, depth, number of values, duplicate keys, odd numbers.

The bounds are on the bytes, before a value is built, so that a small document cannot become a large one:
two mebibytes of `[[[[…` are refused without a list being made.
"""

from __future__ import annotations

import json
import math
import re

from grid.contract.reasons import OverlayRejected, RejectReason

# A full document of 1,024 candidates with long names is about 1.2 MiB; a Kubernetes ConfigMap ends at 1 MiB.
MAX_BYTES = 2 * 1024 * 1024
# A valid document needs 5; the rest is room for fields of later versions.
MAX_DEPTH = 16
# Objects and lists in all. A valid document has 3 a candidate and a few more.
MAX_CONTAINERS = 16_384

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
# Only an escape can bring a lone surrogate: the UTF-8 decoder refuses encoded ones.
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode(data: bytes) -> object:
    """The JSON value in *data*. Raises OverlayRejected, and nothing else, for anything out of bounds."""
    _check_size(data)
    _check_brackets(data)
    try:
        value: object = json.loads(
            data.decode(),
            object_pairs_hook=_unique,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
        if _SURROGATE_ESCAPE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except ValueError as fault:
        # Covers JSONDecodeError, UnicodeError, and an integer of more digits than Python converts.
        raise OverlayRejected(RejectReason.MALFORMED_JSON, type(fault).__name__) from None
    return value


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise OverlayRejected(RejectReason.OVERSIZED, f"{len(data)} bytes, at most {MAX_BYTES}")
    if not data.strip():
        raise OverlayRejected(RejectReason.EMPTY)


def _check_brackets(data: bytes) -> None:
    """Counts what would become objects and lists, and how deep, with strings set aside."""
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return
    depth = opened = 0
    for bracket in _outside_strings(data).translate(None, _NOT_BRACKETS):
        if bracket in b"[{":
            opened += 1
            depth += 1
            if depth > MAX_DEPTH or opened > MAX_CONTAINERS:
                raise OverlayRejected(
                    RejectReason.TOO_COMPLEX, f"over {MAX_DEPTH} deep or {MAX_CONTAINERS} values"
                )
        else:
            depth -= 1


def _outside_strings(data: bytes) -> bytes:
    """*data* with its strings left out. Where it is no JSON this may err from the fault on, which is as far
    as a parser comes.

    By whole-text steps of a fraction of a millisecond each: one regular expression would hold the
    interpreter, and with it a gateway's requests, for four on a large document.
    """
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    return b"".join(unescaped.split(b'"')[::2])


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise OverlayRejected(RejectReason.DUPLICATE_KEY)
    return found


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number beyond any double")
    return value


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")
