"""One JSON line a request, at its end: how it went, how long it took, and nothing that names a person or a
secret.

The line is written by hand, since an encoder over twenty fields costs as much as three other filters: numbers
as they are; the members whose values repeat are made once for every set of values, as few are in use at a
time. A sink writes lines in batches. Field names are those of the log's allow-list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from edge.chain import Exchange, Traits
from edge.config.networks import truncated
from edge.filters.options.access_log import Options
from edge.setup import Setup
from edge.wire.faults import End, RemoteFault

_MAX_TEXT = 256
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
_TRACE = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_MILLIS = tuple(f"{n:03d}" for n in range(1000))
_REMEMBERED = 1024  # keys and texts of at most 10 KiB: 10 MiB in the worst case
_COMPLETE = End.COMPLETE
_QUERY = ord("?")


_Key = tuple[
    bytes, bytes, int | None, str, str | None, str | None, str | None, str | None, str | None, bool
]  # path, method, status, address, model, cluster, reason, candidate, peer, whether a tenant is known


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits()


@dataclass(slots=True, repr=False)
class AccessLog(_Kind):
    """takes_all: nothing is left out."""

    options: Options
    takes_all: bool
    write: Callable[[bytes], None]
    wall: Callable[[], float]
    _frames: dict[_Key, str] = field(default_factory=dict)
    _second: int = -1
    _at: str = ""
    _owed: float = 0.0

    @classmethod
    def build(cls, options: Options, setup: Setup) -> AccessLog:
        takes_all = options.sample_rate == 1 and not options.min_duration_ms
        return cls(options, takes_all, setup.access, setup.wall)

    def on_end(self, exchange: Exchange) -> None:
        ended_at = exchange.ended_at or exchange.started_at
        duration_ms = (ended_at - exchange.started_at) * 1000
        if self.takes_all or self._is_wanted(exchange.status, duration_ms):
            self.write(self._line(exchange, ended_at, duration_ms).encode())

    def _is_wanted(self, status: int | None, duration_ms: float) -> bool:
        if status is None or status >= 500:
            return True
        if duration_ms < self.options.min_duration_ms:
            return False
        self._owed += self.options.sample_rate
        if self._owed < 1:
            return False
        self._owed -= 1
        return True

    def _line(self, exchange: Exchange, ended_at: float, duration_ms: float) -> str:
        """Facts that are not there are left out. bytes_in: as declared, or as read where nothing was."""
        request, reply_at, wall = exchange.request, exchange.reply_at, self.wall()
        length, second = request.declared_length, int(wall)
        if second != self._second:
            self._begin(second)
        named = f'"request_id":"{exchange.request_id}",' if exchange.request_id else ""  # safe, by its filter
        lasted = "" if reply_at is None else f'"stream_ms":{int((ended_at - reply_at) * 1000 + 0.5)},'
        return (
            f'{{"at":"{self._at}.{_MILLIS[int((wall - second) * 1000)]}Z",{self._frame(exchange)}'
            f'{named}"outcome":"{"complete" if exchange.end is _COMPLETE else exchange.end}",'
            f'"duration_ms":{int(duration_ms + 0.5)},{lasted}'
            f'"bytes_in":{length if length >= 0 else len(request.body)},"bytes_out":{exchange.sent_bytes}'
            f"{self._rare(exchange)}}}\n"
        )

    def _rare(self, exchange: Exchange) -> str:
        """What few requests have."""
        line, fields = "", exchange.request.fields
        if exchange.fault is not None:
            line = f',"fault":"{exchange.fault.cause}","phase":"{_phase(exchange, exchange.fault)}"'
        if exchange.first_event_at is not None:
            line += f',"first_token_ms":{int((exchange.first_event_at - exchange.started_at) * 1000 + 0.5)}'
        if exchange.tokens is not None:
            line += f',"tokens_in":{exchange.tokens.prompt},"tokens_out":{exchange.tokens.completion}'
        if exchange.record is not None:
            line += exchange.record()
        if b"traceparent" in fields:
            line += _trace(fields[b"traceparent"])
        return line

    def _begin(self, second: int) -> None:
        """The text of the present second, made once for all its lines."""
        self._second = second
        self._at = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")

    def _frame(self, exchange: Exchange) -> str:
        """The members that repeat from request to request, made once for all that agree in them."""
        request = exchange.request
        path = request.target
        if _QUERY in path:
            path = request.path
        key = (
            path,
            request.method,
            exchange.status,
            exchange.address,
            exchange.model,
            exchange.cluster,
            exchange.refusal or exchange.decision,
            exchange.candidate,
            exchange.identity,
            exchange.tenant is not None,
        )
        frame = self._frames.get(key)
        if frame is None:
            if len(self._frames) >= _REMEMBERED:
                self._frames.clear()
            frame = self._frames[key] = self._made(key)
        return frame

    def _made(self, key: _Key) -> str:
        path, method, status, address, model, cluster, reason, candidate, identity, known = key
        members = {
            "log": "edge.access",
            "msg": "request",
            "method": _text(method.decode("latin-1")),
            "path": _text(path.decode("latin-1")),
            "status": status,
            "client": self._client(address),
            "model": model,
            "cluster": cluster,
            "reason": reason,
            "candidate": candidate,
            "peer": identity,
            "tenant_class": "authenticated" if known else None,
        }
        return "".join(
            f'"{name}":{json.dumps(_text(value) if isinstance(value, str) else value)},'
            for name, value in members.items()
            if value is not None or name == "status"
        )

    def _client(self, address: str) -> str | None:
        match self.options.client:
            case "truncated":
                return truncated(address)
            case "full":
                return address
            case "none":
                return None


def _phase(exchange: Exchange, fault: RemoteFault) -> str:
    """How far the upstream exchange had come when it failed."""
    if exchange.end is End.UPSTREAM_BROKE:
        return "replying"
    return "connect" if fault.unsent else "sent"


def _text(value: str) -> str:
    """Printable ASCII, at most 256 characters."""
    return _UNPRINTABLE.sub("?", value[:_MAX_TEXT])


def _trace(traceparent: bytes) -> str:
    found = _TRACE.fullmatch(traceparent)
    return "" if found is None else f',"trace_id":"{found[1].decode()}"'
