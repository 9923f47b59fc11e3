"""Colour and marks: plain ANSI, since most commands print a few lines and rich takes 50 ms to load.

Whether to colour is decided once, by the rules people expect: NO_COLOR off, FORCE_COLOR on,
otherwise on a terminal that is not `dumb`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


@dataclass(frozen=True, slots=True)
class Style:
    """coloured: whether `paint` adds anything at all."""

    coloured: bool = False

    def paint(self, text: str, *names: str) -> str:
        """text in the named colours; as it is when colour is off, nothing is named or it is empty."""
        if not (self.coloured and names and text):
            return text
        return f"\033[{';'.join(_CODES[name] for name in names)}m{text}\033[0m"


def wants_colour(env: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Source: no-color.org and force-color.org; any non-empty value counts."""
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return is_terminal and env.get("TERM") != "dumb"


SERVICE_COLOURS: Final = ("cyan", "green", "magenta", "blue", "bold")
"""For log prefixes: red and yellow are kept for errors and warnings."""


def service_colour(name: str) -> str:
    """The same colour for a name in every run, whatever else is in the file."""
    return SERVICE_COLOURS[sum(name.encode()) % len(SERVICE_COLOURS)]


def seconds(value: float) -> str:
    """A duration as people read it: `0.24 s`, `12.3 s`, `4 min 05 s`."""
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"
