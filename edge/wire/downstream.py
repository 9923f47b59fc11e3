"""One client connection: bytes in to the intake, one turn at a time, and every clock a client can run out.

    idle ──head──► turn, wants body ──body──► turn, working ──► idle ...
      │ keepalive_s     │ body_idle_s, body_s      │ (the upstream's limits)
      ▼                 ▼ 408                      ▼ stall_s while the client does not read
    closed            closing: what still comes is dropped, so that the answer can be read (linger_s)

Requests sent ahead wait in the intake and are answered in order. While one waits, nothing more is read.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from edge.wire.faults import End, LocalFault
from edge.wire.heads import reply_head
from edge.wire.intake import SCRATCH, Arriving, Intake
from edge.wire.messages import Reply
from edge.wire.ports import Peer
from edge.wire.transports import peer_of, reset_on_close
from edge.wire.turn import Turn
from edge.wire.wheel import NEVER, Timer

if TYPE_CHECKING:
    from edge.wire.listener import Listener

HEAD_TIMEOUT: Final = LocalFault(408, "request_timeout", "The request's head did not arrive in time.")
BODY_TIMEOUT: Final = LocalFault(408, "request_timeout", "The request's body did not arrive in time.")
OVERLOADED: Final = LocalFault(503, "overloaded", "The gateway has too many connections.", retry_after_s=1)

# For an idle client to end its side of TLS; one that does not even read would keep a shutdown waiting for 30.
_GOODBYE_S: Final = 1.0
_MAX_LINGER_BYTES: Final = 1024 * 1024
"""A refused client that sends more than this is not waiting to read an answer."""


class Downstream(asyncio.BufferedProtocol, Timer):
    """peer: who it is. paused: it does not keep up reading. is_one_too_many: its requests are answered with
    503. A timer for whatever state it is in."""

    __slots__ = (
        "_advancing",
        "_awaits",
        "_body_deadline",
        "_closing",
        "_half_closed",
        "_intake",
        "_lingered",
        "_reading_paused",
        "_served",
        "_transport",
        "_turn",
        "is_one_too_many",
        "listener",
        "paused",
        "peer",
    )

    def __init__(self, listener: Listener) -> None:
        Timer.__init__(self)
        self.listener = listener
        self.paused = False
        self.is_one_too_many = False
        self.peer = Peer("")
        self._intake = Intake(listener.limits)
        self._turn: Turn | None = None
        self._transport: asyncio.Transport | None = None
        self._advancing = False
        self._closing = False
        self._half_closed = False
        self._awaits: bool | None = None
        self._reading_paused = False
        self._served = 0
        self._lingered = 0
        self._body_deadline = NEVER

    # The loop's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # a stream connection's transport is one
        self.peer = peer_of(self._transport)
        if self.listener.joined(self, transport.get_extra_info("ssl_object")):
            self._arm(self.listener.limits.keepalive_s)
        else:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        intake = self._intake
        return SCRATCH if intake.large is None else intake.room()

    def buffer_updated(self, nbytes: int) -> None:
        intake = self._intake
        if self._closing:
            self._linger_over(nbytes)
            return
        if intake.large is None:
            intake.feed(SCRATCH[:nbytes])
        else:
            intake.filled(nbytes)
        self._advance()

    def eof_received(self) -> bool:
        turn = self._turn
        if turn is None or turn.wants_body or self._closing or not self.listener.limits.half_close:
            self._client_gone()
            return False
        self._half_closed = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._client_gone()
        self._intake.close()
        self.listener.engine.wheel.forget(self)
        self.listener.left(self)
        self._transport = None

    def pause_writing(self) -> None:
        self.paused = True
        if self._turn is not None:
            self._turn.pause()
        self._arm(self.listener.limits.stall_s)

    def resume_writing(self) -> None:
        self.paused = False
        if self._closing:
            return
        if self._turn is not None:
            self.deadline = NEVER
            self._turn.resume()
            self._await_body()
        else:
            self._advance()

    def expire(self) -> None:
        turn = self._turn
        if self._closing or (self.paused and turn is None):
            self.cut()
        elif turn is None:
            self._idle_too_long()
        elif turn.wants_body:
            turn.refuse(BODY_TIMEOUT)
        elif self.paused:
            turn.gone(End.CLIENT_STALLED)
            self.cut()

    @property
    def buffered(self) -> int:
        """Bytes of answers the kernel has not taken yet."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    # The turn's side.

    def write(self, data: bytes) -> None:
        """Hand *data* to the kernel, or to the transport's buffer when it is full; `pause_writing` follows
        then."""
        if self._transport is not None:
            self._transport.write(data)

    def may_keep(self, request: Arriving) -> bool:
        """Whether the connection can carry another request after this one."""
        listener, intake = self.listener, self._intake
        return (
            request.keep_alive
            and request.complete
            and not listener.draining
            and self._served + 1 < listener.limits.requests
            and (not self._is_ending or len(intake.requests) > 1)
        )

    @property
    def _is_ending(self) -> bool:
        """No request will come after those that wait."""
        return self._half_closed or self._intake.closed

    def turn_over(self, *, keep: bool, reset: bool) -> None:
        """The turn has ended; *keep* as it told the client. reset: the end must not look like a clean one."""
        self._turn = None
        self._served += 1
        requests = self._intake.requests
        request = requests.popleft()
        if not keep or self.listener.draining or (self._is_ending and not requests):
            if reset and self._transport is not None:
                reset_on_close(self._transport)
                self.cut()
            self._close(linger=not request.complete or self._intake.closed)
        elif requests:
            if not self._advancing:
                self._advance()
        elif self._reading_paused or self._intake.head_bytes:
            self._await_head()
        else:
            self._awaits = False
            self.listener.engine.wheel.arm(self, self.listener.limits.keepalive_s)

    # The listener's side.

    def drain(self) -> None:
        """End it if it is idle; if not, it ends with its answer."""
        if self._turn is None and not self._intake.requests:
            self._close(linger=False)
            self._arm(_GOODBYE_S)

    def cut(self) -> None:
        """End it now."""
        if self._turn is not None:
            self._turn.gone(End.DRAINED)
        if self._transport is not None:
            self._transport.abort()

    def _advance(self) -> None:
        """Do what the intake allows: begin turns, one after the other, or give the current one more body."""
        requests = self._intake.requests
        self._advancing = True  # a turn that ends in here must not come here again
        try:
            while not self._closing:
                turn = self._turn
                if turn is not None:
                    self._go_on(turn)
                elif requests:
                    if not self.paused:
                        self._begin(requests[0])
                else:
                    self._await_head()
                if self._turn is not None or not requests or self.paused:
                    return
        finally:
            self._advancing = False

    def _go_on(self, turn: Turn) -> None:
        if turn.wants_body:
            turn.more()
            self._await_body()
        elif len(self._intake.requests) > 1:
            self._pause_reading(pause=True)

    def _begin(self, request: Arriving) -> None:
        listener = self.listener
        self._awaits = None
        if request.fault is not None:
            self._refuse(request.fault)
        elif self.is_one_too_many:
            self._refuse(OVERLOADED)
        else:
            turn = self._turn = Turn(self, request)
            turn.begin()
            if turn.wants_body:
                self._pause_reading(pause=False)
                self._body_deadline = listener.engine.wheel.now + listener.limits.body_s
                self._await_body()

    def _await_head(self) -> None:
        """Start the clock of the state that was entered; bytes that change no state do not start it anew."""
        limits, in_head = self.listener.limits, self._intake.head_bytes > 0
        if self._reading_paused:
            self._pause_reading(pause=False)
        if self._awaits != in_head:
            self._awaits = in_head
            self._arm(limits.head_s if in_head else limits.keepalive_s)

    def _await_body(self) -> None:
        turn = self._turn
        if turn is not None and turn.wants_body:
            wheel = self.listener.engine.wheel
            wheel.arm(self, min(self.listener.limits.body_idle_s, self._body_deadline - wheel.now))

    def _idle_too_long(self) -> None:
        if self._intake.head_bytes:
            self._refuse(HEAD_TIMEOUT)
        else:
            self._close(linger=False)

    def _refuse(self, fault: LocalFault) -> None:
        """Answer what never became a request, and end the connection."""
        response = self.listener.service.refuse(fault, self.peer)
        reply = Reply(response.status, [(b"date", self.listener.engine.date()), *response.fields], local=True)
        framing = b"content-length: %d\r\nconnection: close\r\n" % len(response.body)
        self.write(reply_head(reply, framing) + response.body)
        self._close(linger=True)

    def _close(self, *, linger: bool) -> None:
        """Write nothing more. With *linger*, the client may still be sending: closing now would make the
        kernel answer that with a reset, which can overtake our answer (RFC 9112, 9.6)."""
        transport = self._transport
        if transport is None or self._closing:
            return
        self._closing = True
        self._intake.close()
        self._intake.requests.clear()
        if linger and transport.can_write_eof():
            transport.write_eof()
            self._pause_reading(pause=False)
            self._arm(self.listener.limits.linger_s)
        else:
            transport.close()
            self._arm(self.listener.limits.stall_s)

    def _linger_over(self, nbytes: int) -> None:
        self._lingered += nbytes
        if self._lingered > _MAX_LINGER_BYTES:
            self.cut()

    def _client_gone(self) -> None:
        if self._turn is not None:
            self._turn.gone(End.CLIENT_GONE)
        self._closing = True

    def _pause_reading(self, *, pause: bool) -> None:
        if self._transport is None or self._reading_paused is pause or self._transport.is_closing():
            return
        self._reading_paused = pause
        if pause:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _arm(self, in_s: float) -> None:
        self.listener.engine.wheel.arm(self, in_s)
