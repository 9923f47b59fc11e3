"""One JSON object a line, with fields from an allow-list only.

Code logs a constant message and facts as `extra`: `log.info("overlay accepted", extra={"revision": 42})`. A
fact whose name is not in FIELDS is left out and its *name* is listed under `dropped`, so a prompt, a token or
a raw tenant cannot reach a log by being handy. Exceptions are logged as type and places, never by their
message: messages quote what they choked on.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import IO

# Grown by hand, on purpose: a new name here is a decision that its values may be kept for a year.
FIELDS = frozenset(
    {
        # who and where, bounded by configuration
        "site", "region", "zone", "network", "gateway", "provider", "instance", "cluster",
        "listener", "member", "address", "chain", "filter", "namespace", "option", "kind",
        "path_class", "file", "pid", "peer", "lane", "port", "context",
        # one request
        "request_id", "trace_id", "method", "path", "route", "model", "status", "outcome", "reason",
        "client", "tenant_class", "candidate", "tier", "rank", "admission", "binding", "upstream",
        "bytes_in", "bytes_out", "duration_ms", "connect_ms", "first_token_ms", "stream_ms",
        "tokens_in", "tokens_out", "tls", "attempts",
        # one decision of the control plane
        "revision", "previous_revision", "digest", "generated_at", "valid_until", "age_s", "state",
        "previous_state", "phase", "previous_phase", "score", "candidates", "incarnation",
        "generation", "resource", "verb", "count", "attempt", "wait_s", "error", "fault", "places",
        "signal", "version", "problems", "size",
    }
)  # fmt: skip

_MAX_TEXT = 512  # characters of one value: a line stays well under a pipe's atomic 4 KiB
_MAX_ITEMS = 32
_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Formats a record as one line: at, level, log, msg, then its allowed facts in the order given."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "log": record.name,
            "msg": bounded(record.msg if not record.args else record.getMessage()),
        }
        dropped: list[str] = []
        for name, value in vars(record).items():
            if name in _RECORD:
                continue
            if name in FIELDS:
                line[name] = bounded(value)
            else:
                dropped.append(name[:64])
        if dropped:
            line["dropped"] = dropped[:_MAX_ITEMS]
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["trace"] = places(record.exc_info[2])
        return json.dumps(line, separators=(",", ":"), ensure_ascii=True)


def bounded(value: object) -> object:
    """*value* as JSON of bounded size: text cut at 512 characters, 32 items, anything else as text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [bounded(item) for item in list(value)[:_MAX_ITEMS]]
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def places(trace: TracebackType | None) -> list[str]:
    """The innermost frames of a traceback as `file:line function`, innermost last. No values."""
    found: list[str] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return found[-8:]


def configure(stream: IO[str] | None = None, level: str = "INFO") -> logging.Handler:
    """Makes JsonLines on *stream* (stdout when None) the only output of the root logger; gives back its
    handler.

    Libraries are heard from WARNING on, whatever our own level: their debug lines print headers and bodies.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stdout)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for ours in ("edge", "grid"):
        logging.getLogger(ours).setLevel(level)
    logging.raiseExceptions = False
    return handler
