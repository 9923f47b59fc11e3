"""Builders for tests of filters and chains: a request, a peer, an exchange with a clock that stands still."""

from __future__ import annotations

from collections.abc import Mapping

from edge.chain import Chain, Exchange
from edge.wire.messages import Request
from edge.wire.ports import Peer


class StillClock:
    """A monotonic clock that moves only when told."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def request(
    method: bytes = b"POST",
    target: bytes = b"/v1/chat/completions",
    fields: Mapping[bytes, bytes] | None = None,
    body: bytes = b"",
    *,
    host: bytes = b"api.grid.test",
    declared_length: int | None = None,
    repeated: frozenset[bytes] = frozenset(),
) -> Request:
    """A request as the engine would hand it over; *fields* by lower-case name."""
    made = Request()
    made.method = method
    made.target = target
    made.fields = dict(fields or {})
    made.repeated = repeated
    made.host = host
    made.body = body
    made.declared_length = len(body) if declared_length is None else declared_length
    return made


def exchange(
    made: Request | None = None,
    *,
    peer: Peer | None = None,
    chain: Chain | None = None,
    clock: StillClock | None = None,
) -> Exchange:
    """An exchange no filter has seen yet."""
    return Exchange(
        chain or Chain(), made or request(), peer or Peer("192.0.2.7", 40000), clock or StillClock()
    )
