"""What the engine asks of whoever decides: the two ports between the wire and the chain.

    head parsed ──► Service.open ──► Handler.on_head ──► (body read) ──► Handler.on_body ──► a Route
                                          │ Response                         │ Response        │
                                          ▼                                  ▼                 ▼
                                       answered                           answered     Handler.on_reply ─►
                                       on_end

Every call is synchronous and does no I/O. `on_end` is called exactly once for every handler opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from edge.wire.balance import KeyFrom
from edge.wire.faults import End, LocalFault, RemoteFault
from edge.wire.messages import Reply, Request, Response
from edge.wire.pool import Cluster


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a client connection.

    address: its IP as text; empty for a Unix socket. port: 0 likewise. secure: TLS was used.
    certificate: DER of the client's leaf, verified against the listener's CA; None without one.
    """

    address: str
    port: int = 0
    secure: bool = False
    certificate: bytes | None = None


class Handler(Protocol):
    """One request's decisions, from head to end."""

    body_limit: int
    """Bytes of body let in; the engine reads it after on_head. Past it: `refuse` with a 413."""

    def on_head(self) -> Response | None:
        """Before a byte of the body is asked for. A Response ends it."""

    def on_body(self) -> Response | Cluster:
        """The whole body is in `request.body`. Where to send the request, or an answer."""

    def balance_key(self, key_from: KeyFrom) -> bytes:
        """What keeps requests together at one endpoint of a cluster that hashes."""

    def on_unsent(self, fault: RemoteFault) -> Response | Cluster:
        """A whole cluster failed before a byte left: another one to try, or the answer."""

    def on_failed(self, fault: RemoteFault) -> Response:
        """The upstream failed and nothing more will be tried: the answer. When a stream's head has already
        been sent, the answer's body becomes the data of an SSE error event."""

    def says_unsent(self, reply: Reply) -> bool:
        """Whether this 503 is a trusted hop's word that it sent nothing on; then `on_unsent` follows."""

    def on_reply(self, reply: Reply) -> None:
        """The head about to be written, whoever made it; may be changed. Once for a request that is
        answered."""

    def refuse(self, fault: LocalFault) -> Response:
        """The answer for something the engine found after the head: body too large, too slow, malformed."""

    def on_first_event(self) -> None:
        """The first piece of an event stream is about to be written."""

    def on_end(self, end: End, sent_bytes: int, tail: bytes) -> None:
        """It is over. sent_bytes: body bytes written to the client, chunk framing not counted. tail: the end
        of an upstream's body, at most 2 KiB, without framing."""


class Service(Protocol):
    """Opens a handler per request; the listener holds one and may swap it between requests."""

    def open(self, request: Request, peer: Peer) -> Handler:
        """A well-formed head has arrived. The handler keeps its chain until on_end."""

    def refuse(self, fault: LocalFault, peer: Peer) -> Response:
        """The answer to bytes that never became a request. They have no id and no line in the access log,
        which whoever sends garbage would fill; they are counted there."""
