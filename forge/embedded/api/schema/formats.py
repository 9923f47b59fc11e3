"""The string formats that a schema may ask for; an unknown format asks for nothing."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import ipaddress
import re
from collections.abc import Callable
from typing import Final

DATE_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?([Zz]|[+-]\d\d:?\d\d)", re.ASCII
)
DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
WORDED: Final = re.compile(
    r"(?:-?\d+\s*(?:ns|nanos?|us|µs|μs|micros?|ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?"
    r"|d|days?|w|wks?|weeks?)\s*)+",
    re.ASCII,
)
URI: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:|/)[^\s<>\"{}|\\^`\x00-\x20\x7f]*")
EMAIL: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
HOSTNAME: Final = re.compile(
    r"(?=.{1,255}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?"
)
# As Go's net.ParseMAC: 6, 8 or 20 octets with colons or dashes, or pairs of them with dots.
MAC: Final = re.compile(
    r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}(?:(?:[0-9A-Fa-f]{2}\1){2}(?:(?:[0-9A-Fa-f]{2}\1){12})?)?"
    r"[0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?:\.[0-9A-Fa-f]{4})?"
)
HEX_COLOUR: Final = re.compile(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
RGB_COLOUR: Final = re.compile(r"rgb\(\s*(?:\d{1,3}\s*,\s*){2}\d{1,3}\s*\)")
OBJECT_ID: Final = re.compile(r"[0-9a-fA-F]{24}")
SSN: Final = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}", re.ASCII)


def fits(text: str, name: str) -> bool:
    """Whether *text* has the format *name*."""
    check = FORMATS.get(name)
    return check is None or check(text)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _uuid(version: str) -> Callable[[str], bool]:
    pattern = rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?[0-9a-f]{{4}}-?[0-9a-f]{{12}}"
    return _matches(re.compile(pattern, re.IGNORECASE))


def _date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2024-01-01")


def _date_time(text: str) -> bool:
    found = DATE_TIME.fullmatch(text)
    return found is not None and _date(found[1])


def _address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return True

    return check


def _cidr(text: str) -> bool:
    return "/" in text and text.rpartition("/")[2].isdigit() and _address(ipaddress.ip_interface)(text)


def _base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _digits(text: str) -> list[int]:
    return [int(c) for c in text if c.isascii() and c.isdigit()]


def _card(text: str) -> bool:
    """Luhn's check."""
    digits = _digits(text)
    doubled = [d * 2 - 9 * (d > 4) if i % 2 else d for i, d in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and sum(doubled) % 10 == 0


def _isbn10(text: str) -> bool:
    plain = text.replace("-", "").replace(" ", "").upper()
    if not re.fullmatch(r"[0-9]{9}[0-9X]", plain):
        return False
    return sum((10 - i) * (10 if c == "X" else int(c)) for i, c in enumerate(plain)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = _digits(text.replace("-", "").replace(" ", ""))
    return len(digits) == 13 and sum(d * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches(OBJECT_ID),
    "uri": _matches(URI),
    "email": _matches(EMAIL),
    "hostname": _matches(HOSTNAME),
    "ipv4": _address(ipaddress.IPv4Address),
    "ipv6": _address(ipaddress.IPv6Address),
    "cidr": _cidr,
    "mac": _matches(MAC),
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4"),
    "uuid5": _uuid("5"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _card,
    "ssn": _matches(SSN),
    "hexcolor": _matches(HEX_COLOUR),
    "rgbcolor": _matches(RGB_COLOUR),
    "byte": _base64,
    "date": _date,
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": lambda text: bool(DURATION.fullmatch(text) or WORDED.fullmatch(text)),
}
