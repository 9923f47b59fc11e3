"""The daemon's log: one JSON object a line, a constant message and its facts."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Facts are what callers pass as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "at": at,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
        }
        line |= {key: value for key, value in vars(record).items() if key not in _PLAIN}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(path: Path) -> None:
    """Logs of this process go to *path* from now on."""
    handler = logging.FileHandler(path)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
