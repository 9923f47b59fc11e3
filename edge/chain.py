"""The chain: filters in order round one Exchange, which carries what is known of a request as typed facts.

A filter is a small class with one or more of the methods `on_head`, `on_body`, `on_reply`, `on_end`; all
synchronous, none does I/O. Returning a Response from the first two ends the request. Each fact is written by
one filter and None until it has run; `edge.order` refuses a chain in which that cannot work.

    on_head   before a byte of the body is asked for: identity, limits
    on_body   the whole body is there: the model, the route
    on_reply  the head about to be written, local or upstream's, for every answered request; last filter first
    on_end    once for every request, whether the filter was reached or not: release, count, log
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from edge.usage import Tokens, tokens
from edge.wire.balance import KeyFrom
from edge.wire.errors import error_response
from edge.wire.faults import Cause, End, LocalFault, RemoteFault
from edge.wire.messages import Reply, Request, Response
from edge.wire.pool import Cluster
from edge.wire.ports import Peer

__all__ = ["Chain", "Exchange", "Filter", "Reply", "Request", "Response", "Step", "Traits", "refuse"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Traits:
    """What the order check needs to know of a filter; class or instance attribute `traits`.

    reads, writes: names of Exchange facts. security: must be unconditional, fail closed, and stand before a
    cluster is chosen. ends: answers whatever reaches it. first: must open its chain. guard: name of a filter
    type that must open the chain, unconditional. needs_client_certificate: its listeners must require one.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    security: bool = False
    ends: bool = False
    first: bool = False
    guard: str | None = None
    needs_client_certificate: bool = False


class Filter(Protocol):
    """Beside `traits`, at least one of on_head(exchange), on_body(exchange) -> Response | None,
    on_reply(exchange, reply) -> None, on_end(exchange) -> None."""

    @property
    def traits(self) -> Traits:
        """For the order check; every instance of one class usually shares it."""


NextUpstream = Callable[[RemoteFault], Cluster | None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A cluster that was tried before the one that answered; no byte of the request had left."""

    cluster: str | None
    candidate: str | None
    cause: Cause


class Exchange:
    """One request on its way through; the engine calls it through `edge.wire.ports.Handler`.

    The first block is known from the start. Facts follow, each with its one writer. The last block is told
    by the engine: attempts when a cluster gives way to another, fault when the last one failed, reply_at and
    status when a head is written, first_event_at when an event stream begins, ended_at, end, sent_bytes and
    tokens before on_end runs. Times are seconds of the monotonic clock.
    """

    __slots__ = (
        "_chain",
        "allowed_models",
        "attempts",
        "body_limit",
        "candidate",
        "client_address",
        "clock",
        "cluster",
        "credential",
        "decision",
        "end",
        "ended_at",
        "fault",
        "first_byte_s",
        "first_event_at",
        "identity",
        "model",
        "next_upstream",
        "peer",
        "record",
        "refusal",
        "reply_at",
        "request",
        "request_id",
        "sent_bytes",
        "session",
        "started_at",
        "status",
        "tenant",
        "tokens",
        "trusts_unsent",
        "unsent",
        "upstream",
    )

    def __init__(self, chain: Chain, request: Request, peer: Peer, clock: Callable[[], float]) -> None:
        self._chain = chain
        self.request = request
        self.peer = peer
        self.clock = clock
        self.started_at = clock()

        self.request_id: str | None = None  # request_id
        self.client_address: str | None = None  # forwarded_headers, when the peer is a trusted proxy
        self.identity: str | None = None  # peer_identity_trust: the name of the rule that matched
        self.tenant: str | None = None  # api_key_auth
        self.allowed_models: frozenset[str] | None = None  # api_key_auth or model_authorization
        self.model: str | None = None  # json_body_field
        self.candidate: str | None = None  # grid_route, provider_route: stable_id
        self.session: bytes | None = None  # grid_route: the affinity key, never the raw id
        self.decision: str | None = None  # grid_route: the reason of the choice
        self.cluster: str | None = None  # router, grid_route, provider_route
        self.credential: str | None = None  # provider_route, grid_route: which one to inject
        self.first_byte_s: float | None = None  # timeout: until the upstream's head, for this request
        self.upstream: Cluster | None = None  # load_balancer
        self.next_upstream: NextUpstream | None = None  # grid_route: another candidate, or none left
        self.trusts_unsent = False  # grid_route: the chosen cluster is a provider hop over mTLS
        self.record: Callable[[], str] | None = (
            None  # grid_route: its decision as members of a log line's JSON
        )
        self.unsent = False  # this gateway's own answer says that no byte reached a backend

        self.body_limit = 10 * 1024 * 1024
        self.reply_at: float | None = None
        self.status: int | None = None
        self.refusal: str | None = None
        self.fault: RemoteFault | None = None
        self.attempts: tuple[Attempt, ...] = ()
        self.ended_at: float | None = None
        self.end: End | None = None
        self.sent_bytes = 0
        self.first_event_at: float | None = None
        self.tokens: Tokens | None = None

    @property
    def declared_length(self) -> int:
        """Content-Length; 0 without a body; -1 when chunked, until the whole body is there."""
        return self.request.declared_length

    @property
    def address(self) -> str:
        """The client's address: the forwarded one when a trusted proxy gave it, else the peer's."""
        return self.peer.address if self.client_address is None else self.client_address

    def bound_body(self, max_bytes: int) -> None:
        """The engine refuses a longer body with 413 while it reads. Only ever tightened."""
        if max_bytes < self.body_limit:  # noqa: PLR1730 - min() costs three times as much
            self.body_limit = max_bytes

    def on_head(self) -> Response | None:
        """Run the head phase: the first answer, or None. An exception in a filter is a 500, logged."""
        try:
            for on_head in self._chain.head:
                response = on_head(self)
                if response is not None:
                    return response
        except Exception:
            log.exception("filter failed")
            return refuse(self, 500, "internal_error")
        return None

    def on_body(self) -> Response | Cluster:
        """Run the body phase, as on_head; the cluster that was chosen, or the answer."""
        try:
            for on_body in self._chain.body:
                response = on_body(self)
                if response is not None:
                    return response
        except Exception:
            log.exception("filter failed")
            return refuse(self, 500, "internal_error")
        return self.upstream or refuse(self, 404, "no_route")

    def balance_key(self, key_from: KeyFrom) -> bytes:
        """The header, or the path without it; the session, or the client's address without one."""
        match key_from.source:
            case "header":
                value = self.request.fields.get(key_from.header)
                return self.request.path if value is None else value
            case "path":
                return self.request.path
            case "session" if self.session is not None:
                return self.session
            case _:
                return self.address.encode()

    def on_unsent(self, fault: RemoteFault) -> Response | Cluster:
        """Another cluster when the routing filter has one left, else 502, 503 or 504."""
        self.fault = fault
        failed = Attempt(self.cluster, self.candidate, fault.cause)
        try:
            other = self.next_upstream(fault) if self.next_upstream else None
        except Exception:
            log.exception("choosing another upstream failed")
            return refuse(self, 500, "internal_error")
        if other is not None:
            self.attempts = (*self.attempts, failed)
            self.fault = None  # whether the request failed is for the next one to say
            self.upstream = other
            return other
        return self.on_failed(fault)

    def on_failed(self, fault: RemoteFault) -> Response:
        """502, 503 or 504 without a word of topology."""
        self.fault = fault
        self.unsent = fault.unsent
        retry_after = 1 if fault.status == 503 else None
        return refuse(self, fault.status, f"upstream_{fault.cause.value}", retry_after_s=retry_after)

    def says_unsent(self, reply: Reply) -> bool:
        """Only a provider hop is believed, and only with the exact field."""
        return self.trusts_unsent and reply.get(b"x-ai-provider-unsent") == b"1"

    def on_reply(self, reply: Reply) -> None:
        """Run the reply phase, last filter first: the outermost has the last word."""
        self.reply_at = self.clock()
        self.status = reply.status
        for on_reply in self._chain.reply:
            try:
                on_reply(self, reply)
            except Exception:  # the answer is due whatever one filter does
                log.exception("filter failed on a reply")

    def refuse(self, fault: LocalFault) -> Response:
        """The answer for what the engine found wrong."""
        return refuse(
            self, fault.status, fault.code, fault.why, param=fault.param, retry_after_s=fault.retry_after_s
        )

    def on_first_event(self) -> None:
        """Note when an event stream has begun in earnest."""
        self.first_event_at = self.clock()

    def on_end(self, end: End, sent_bytes: int, tail: bytes = b"") -> None:
        """Run the end phase, once."""
        self.ended_at = self.clock()
        self.end = end
        self.sent_bytes = sent_bytes
        if self.model is not None and self.status == 200:
            self.tokens = tokens(tail)
        for on_end in self._chain.end:
            try:
                on_end(self)
            except Exception:  # what was taken is given back whatever another filter does
                log.exception("filter failed at the end")
        # Both lead back here: left standing, each request would be a cycle for the collector to find.
        self.next_upstream = self.record = None


@dataclass(frozen=True, slots=True)
class Step:
    """One place in a chain. name: the filter's type, as in the configuration. applies: None means always;
    asked with the facts known when the step is reached. open_on_error: an exception in it is logged and
    passed over."""

    name: str
    filter: Filter
    applies: Callable[[Exchange], bool] | None = None
    open_on_error: bool = False


class Chain:
    """Steps in order, with the methods of each phase looked up once: head and body in the steps' order,
    reply and end in the opposite one."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps = tuple(steps)
        self.head: tuple[Callable[[Exchange], Response | None], ...] = self._phase("on_head")
        self.body: tuple[Callable[[Exchange], Response | None], ...] = self._phase("on_body")
        self.reply: tuple[Callable[[Exchange, Reply], None], ...] = self._phase("on_reply")[::-1]
        self.end: tuple[Callable[[Exchange], None], ...] = self._phase("on_end")[::-1]

    def _phase(self, method: str) -> tuple[Callable[..., Any], ...]:
        return tuple(_guarded(step, method) for step in self.steps if hasattr(step.filter, method))


def refuse(
    exchange: Exchange,
    status: int,
    code: str,
    message: str | None = None,
    *,
    param: str | None = None,
    retry_after_s: int | None = None,
    fields: tuple[tuple[bytes, bytes], ...] = (),
) -> Response:
    """An OpenAI-shaped refusal with the request id; *code* is also noted on the exchange for log and metric.

    Without *message* the code's own text is used (`edge.wire.errors`). retry_after_s: for 429 and 503.
    """
    exchange.refusal = code
    response = error_response(
        status, code, message, param=param, retry_after_s=retry_after_s, request_id=exchange.request_id
    )
    return replace(response, fields=response.fields + fields) if fields else response


def _guarded(step: Step, method: str) -> Callable[..., Any]:
    """The filter's bound method, inside its condition and its failure mode where it has them.

    A conditional on_end still runs always: the request it took something for may have changed since.
    """
    call: Callable[..., Any] = getattr(step.filter, method)
    if step.applies is not None and method != "on_end":
        call = _conditional(step.applies, call)
    if step.open_on_error and method in ("on_head", "on_body"):
        call = _open(call)
    return call


def _conditional(applies: Callable[[Exchange], bool], call: Callable[..., object]) -> Callable[..., object]:
    def when(exchange: Exchange, *rest: object) -> object:
        return call(exchange, *rest) if applies(exchange) else None

    return when


def _open(call: Callable[..., object]) -> Callable[..., object]:
    def passing_over(exchange: Exchange) -> object:
        try:
            return call(exchange)
        except Exception:
            log.exception("filter failed, passed over as configured")
            return None

    return passing_over
