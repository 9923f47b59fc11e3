"""One JSON line a request, at its end: how it went, how long it took, and nothing that names a person or a
secret.

At a request's end its values are only gathered; the sink has lines made of them many at a time. The line
is written by hand, since an encoder over twenty fields costs as much as three other filters: numbers as they
are; the members whose values repeat are made once for every set of values, as few are in use at a time. Field
names are those of the log's allow-list.
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
from edge.sink import Access, Row
from edge.wire.faults import End, RemoteFault

_MAX_TEXT = 256
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
_TRACE = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_MILLIS = tuple(f'{n:03d}Z",' for n in range(1000))
_REMEMBERED = 1024  # keys and texts of at most 10 KiB: 10 MiB in the worst case
_COMPLETE = End.COMPLETE
_QUERY = ord("?")
_TRACEPARENT = b"traceparent"


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
    """takes_all: nothing is left out. put: takes a row."""

    options: Options
    takes_all: bool
    put: Access
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
        """Facts that are not there are left out. bytes_in: as declared, or as read where nothing was."""
        started_at, ended_at, reply_at = exchange.started_at, exchange.ended_at, exchange.reply_at
        if ended_at is None:
            ended_at = started_at
        duration_ms = (ended_at - started_at) * 1000
        if not self.takes_all and not self._is_wanted(exchange.status, duration_ms):
            return
        request, address = exchange.request, exchange.client_address
        target, bytes_in = request.target, request.declared_length
        is_rare = (
            exchange.fault is not None
            or exchange.first_event_at is not None
            or exchange.record is not None
            or _TRACEPARENT in request.fields
        )
        key = (
            request.path if _QUERY in target else target,
            request.method,
            exchange.status,
            exchange.peer.address if address is None else address,
            exchange.model,
            exchange.cluster,
            exchange.refusal or exchange.decision,
            exchange.candidate,
            exchange.identity,
            exchange.tenant is not None,
        )
        self.put(
            (
                self,
                key,
                self.wall(),
                exchange.request_id,
                exchange.end,
                duration_ms,
                None if reply_at is None else (ended_at - reply_at) * 1000,
                bytes_in if bytes_in >= 0 else len(request.body),
                exchange.sent_bytes,
                None if is_rare else exchange.tokens,
                _rare(exchange) if is_rare else "",
            )
        )

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

    def line(self, row: Row) -> str:
        """See on_end for what *row* is."""
        _, key, wall, request_id, end, duration_ms, stream_ms, bytes_in, bytes_out, tokens, rare = row
        second = int(wall)
        if second != self._second:
            self._begin(second)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._remember(key)
        said = rare if tokens is None else f',"tokens_in":{tokens.prompt},"tokens_out":{tokens.completion}'
        if request_id and end is _COMPLETE and stream_ms is not None:  # as nearly all are
            return (
                f'{self._at}{_MILLIS[int((wall - second) * 1000)]}{frame}"request_id":"{request_id}",'
                f'"outcome":"complete","duration_ms":{int(duration_ms + 0.5)},'
                f'"stream_ms":{int(stream_ms + 0.5)},"bytes_in":{bytes_in},"bytes_out":{bytes_out}{said}}}\n'
            )
        named = f'"request_id":"{request_id}",' if request_id else ""  # safe, by its filter
        lasted = "" if stream_ms is None else f'"stream_ms":{int(stream_ms + 0.5)},'
        return (
            f"{self._at}{_MILLIS[int((wall - second) * 1000)]}{frame}{named}"
            f'"outcome":"{"complete" if end is _COMPLETE else end}",'
            f'"duration_ms":{int(duration_ms + 0.5)},{lasted}'
            f'"bytes_in":{bytes_in},"bytes_out":{bytes_out}{said}}}\n'
        )

    def _begin(self, second: int) -> None:
        """The text of the present second, made once for all its lines."""
        self._second = second
        self._at = datetime.fromtimestamp(second, UTC).strftime('{"at":"%Y-%m-%dT%H:%M:%S.')

    def _remember(self, key: _Key) -> str:
        """The members that repeat from request to request, made once for all that agree in them."""
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


def _rare(exchange: Exchange) -> str:
    """What few requests have, and the tokens among it."""
    line, fault, fields, said = "", exchange.fault, exchange.request.fields, exchange.tokens
    if fault is not None:
        line = f',"fault":"{fault.cause}","phase":"{_phase(exchange, fault)}"'
    if exchange.first_event_at is not None:
        line += f',"first_token_ms":{int((exchange.first_event_at - exchange.started_at) * 1000 + 0.5)}'
    if said is not None:
        line += f',"tokens_in":{said.prompt},"tokens_out":{said.completion}'
    if exchange.record is not None:
        line += exchange.record()
    if _TRACEPARENT in fields:
        line += _trace(fields[_TRACEPARENT])
    return line


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
