"""What a listener asks for each request: a new exchange with the chain of the moment.

A reload assigns another chain; exchanges that are open keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from edge.chain import Chain, Exchange
from edge.metrics import EdgeMetrics
from edge.wire.errors import error_response
from edge.wire.faults import LocalFault
from edge.wire.messages import Request, Response
from edge.wire.ports import Handler, Peer


@dataclass(slots=True)
class Gate:
    """closed_by: why new requests are refused, None while they are not."""

    closed_by: str | None = None


_OVERLOADED = LocalFault(503, "overloaded", "The gateway is overloaded. Try again later.", retry_after_s=1)


class Refusing(Exchange):
    """An exchange the process has no room for: no filter sees its head, but it is counted and logged at its
    end."""

    def on_head(self) -> Response | None:
        return replace(self.refuse(_OVERLOADED), close=True)


@dataclass(slots=True)
class ChainService:
    chain: Chain
    now: Callable[[], float]
    gate: Gate
    metrics: EdgeMetrics
    listener: str
    active: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.active = self.metrics.active[self.listener,]

    def open(self, request: Request, peer: Peer) -> Handler:
        self.active[0] += 1
        if self.gate.closed_by is not None:
            self.metrics.overload.add(self.gate.closed_by)
            return Refusing(self.chain, request, peer, self.now)
        return Exchange(self.chain, request, peer, self.now)

    def refuse(self, fault: LocalFault, peer: Peer) -> Response:
        """Bytes that never became a request, or a connection too many."""
        del peer
        if fault.code == "overloaded":
            self.metrics.overload.add("listener_connections")
        self.metrics.refusals.add(fault.code)
        self.metrics.errors.add("downstream")
        return error_response(fault.status, fault.code, fault.why, retry_after_s=fault.retry_after_s)
