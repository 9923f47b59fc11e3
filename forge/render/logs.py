"""Log lines of several services in one column, and the reading of `--since`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from forge.errors import UsageError
from forge.plan.ports import LogLine
from forge.render.style import Style, service_colour

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True)
class LogStyle:
    """width: of the widest service name."""

    width: int
    timestamps: bool = False
    prefix: bool = True


def log_line(line: LogLine, look: LogStyle, style: Style) -> str:
    """`web  | text`, with the time and in the service's colour as asked."""
    parts = []
    if look.prefix:
        parts.append(style.paint(f"{line.service:<{look.width}} |", service_colour(line.service)))
    if look.timestamps:
        parts.append(style.paint(timestamp(line.at), "dim"))
    return " ".join([*parts, line.text])


def log_json(line: LogLine) -> str:
    """One line as one JSON object."""
    document = {
        "service": line.service,
        "time": timestamp(line.at),
        "stream": line.stream,
        "run": line.run,
        "text": line.text,
    }
    return json.dumps(document, ensure_ascii=False)


def timestamp(at: float) -> str:
    """RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_since(text: str, now: float) -> float:
    """Unix seconds of `10s`, `5m`, ... before now, or of an RFC 3339 instant. Raises UsageError."""
    age = _AGE.fullmatch(text)
    if age:
        return now - float(age[1]) * _UNITS[age[2]]
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            "FG0412",
            f"--since {text!r} is neither an age nor an instant",
            hint="write 10s, 5m, 2h, 1d, or 2026-01-31T12:00:00Z",
            changed=False,
        ) from error
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
