"""Bytes to text, or what is wrong with them: size, encoding, characters no editor shows."""

from __future__ import annotations

import re

from forge.errors import Place
from forge.spec.mask import blind_excerpt
from forge.spec.problems import ConfigErrors, Problem, Severity

MAX_BYTES = 4 * 1024 * 1024
"""Largest file that is read. A file of a thousand services has under 1 MiB."""

_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_BREAK = re.compile(r"\r\n|\n|\r")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def lines_of(text: str) -> tuple[str, ...]:
    """The lines as YAML counts them."""
    return tuple(_BREAK.split(text))


def decode(data: bytes, file: str) -> str:
    """The text of a configuration file, without a byte order mark.

    Raises ConfigErrors when it is too large, not UTF-8, or holds characters YAML forbids.
    """
    if len(data) > MAX_BYTES:
        raise _refused(
            Place(file), f"the file is larger than {MAX_BYTES // 1024**2} MiB", "split the environment"
        )
    if data.startswith(_WIDE_MARKS):
        raise _refused(Place(file), "the file is UTF-16", "save it as UTF-8")
    text, bad_byte = _utf8(data)
    if bad_byte is not None:
        before = data[:bad_byte].decode("utf-8")
        raise _refused(_end_of(before, file), "a byte here is not UTF-8", "save the file as UTF-8")
    found = _UNREADABLE.search(text)
    if found:
        place = _end_of(text[: found.start()], file)
        what = f"an invisible character (U+{ord(found[0]):04X}) is not allowed in YAML"
        raise _refused(place, what, 'delete it, or write it as an escape in double quotes: "\\u2028"', text)
    return text


def _utf8(data: bytes) -> tuple[str, int | None]:
    """The text, or where the first byte stands that is none. Python's error holds all of the data."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff"), None
    except UnicodeDecodeError as error:
        return "", error.start


def _end_of(before: str, file: str) -> Place:
    lines = lines_of(before)
    return Place(file, len(lines), len(lines[-1]) + 1)


def _refused(place: Place, message: str, way_out: str, text: str = "") -> ConfigErrors:
    shown = blind_excerpt(lines_of(text), place.line, place.column) if text else None
    problem = Problem("FG0101", Severity.ERROR, message, place, help=way_out, excerpt=shown)
    return ConfigErrors(place.file, (problem,))
