"""JSON Canonicalization Scheme: one byte sequence for one JSON value (RFC 8785).

Keys sorted by UTF-16 code units, no white space, strings with the shortest escapes, numbers as ECMAScript
prints the double they are. Python's shortest float digits are ECMAScript's; only their layout differs.
"""

from __future__ import annotations

import math
from json.encoder import encode_basestring

# Beyond it a double no longer holds every integer (RFC 7493, 2.2); such a number is what its double is.
MAX_SAFE_INTEGER = 2**53 - 1


def canonical(value: object) -> bytes:
    """RFC 8785 bytes of a JSON value: dict, list or tuple, str, int, float, bool, None.

    Raises ValueError for what has no canonical form: NaN, infinities, lone surrogates.
    """
    return _text(value).encode()


def _text(value: object) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else number(_double(value))
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return "{" + ",".join([encode_basestring(k) + ":" + _text(value[k]) for k in _sorted(value)]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([_text(item) for item in value]) + "]"
    raise ValueError(f"not a JSON value: {type(value).__name__}")


def _sorted(mapping: dict[str, object]) -> list[str]:
    if "".join(mapping).isascii():
        return sorted(mapping)
    return sorted(mapping, key=lambda name: name.encode("utf-16-be"))


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number beyond any double") from None


def number(value: float) -> str:
    """*value* as ECMAScript's Number::toString prints it (ECMA-262, 6.1.6.1.20)."""
    if not math.isfinite(value):
        raise ValueError("not a JSON number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _decimal(abs(value))
    return sign + _layout(digits, point)


def _decimal(value: float) -> tuple[str, int]:
    """Shortest digits, and where the decimal point stands: 0.00123 is ("123", -2), 1200.0 is ("12", 4)."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), point


def _layout(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"
