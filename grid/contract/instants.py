"""Instants on the wire: RFC 3339 in UTC outside, Unix seconds inside."""

from __future__ import annotations

import re
from datetime import UTC, datetime

# RFC 3339, 5.6. Python's own reader takes more (week dates, no seconds, no zone), so the shape is held here.
_SHAPE = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_MICROSECONDS = 6


def read_instant(text: str) -> float:
    """Unix seconds of an RFC 3339 instant. Raises ValueError for anything else."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError("not an RFC 3339 instant")
    fraction = found[1] or ""
    text = text.replace(fraction, fraction[: _MICROSECONDS + 1], 1) if fraction else text
    return datetime.fromisoformat(text.upper()).timestamp()


def write_instant(at: float) -> str:
    """RFC 3339 in UTC, in whole milliseconds; a whole second has no fraction."""
    milliseconds = round(at * 1000)
    seconds, rest = divmod(milliseconds, 1000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{rest:03d}Z" if rest else f"{text}Z"
