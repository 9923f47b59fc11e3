"""Durations as resources write them: a whole number and a unit, `300ms`, `10s`, `5m`, `1h`."""

from __future__ import annotations

import re

DURATION = r"^[1-9][0-9]*(ms|s|m|h)$"

# What is longer is for ever; thirty years keeps every sum with an instant finite.
_LONGEST_S = 1e9

_SHAPE = re.compile(DURATION, re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str | None, default: float) -> float:
    """*text* in seconds; *default* if it is None or no duration.

    Some fields have always been free strings, so a stored object may hold anything: its owner is told by a
    condition, and the default works on.
    """
    if text is None or _SHAPE.fullmatch(text) is None:
        return default
    unit = text.lstrip("0123456789")
    return min(float(text.removesuffix(unit)) * _SECONDS[unit], _LONGEST_S)


def is_duration(text: str | None) -> bool:
    """Whether *text* says nothing, or a duration."""
    return text is None or _SHAPE.fullmatch(text) is not None
