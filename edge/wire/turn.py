"""One request's turn on a client connection: its phases, and what is written for it.

    begin ─► on_head ─► (body) ─► on_body ─► Forwarding ─► begin_reply, body*, end_reply
                 └── answer ◄───────┴─────────────┴────────────── break_reply

Everything due to one event is written at once, and nothing waits for more to come: head and first piece leave
together, a chunk leaves as it arrives. `_over` runs exactly once, and so does the handler's on_end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edge.wire.faults import End, LocalFault, RemoteFault
from edge.wire.forward import Forwarding
from edge.wire.framing import Until
from edge.wire.heads import CONTINUE, LAST_CHUNK, chunk, reply_head
from edge.wire.intake import Arriving
from edge.wire.messages import Reply, Response
from edge.wire.sse import error_event, is_event_stream
from edge.wire.wheel import NEVER

if TYPE_CHECKING:
    from edge.wire.downstream import Downstream

# Looked up once: on Python 3.11 a member of an Enum costs as much as a call.
_COMPLETE: Final = End.COMPLETE
_LENGTH: Final = Until.LENGTH
_HEAD: Final = Until.HEAD

_TAIL_BYTES: Final = 1024
"""Of a reply's last two pieces, kept to see how it ended; a usage event takes some 300."""

TOO_LARGE: Final = LocalFault(413, "request_too_large", "The request body is larger than allowed.")


class Turn:
    """request: being answered. handler: its decisions. wants_body: it has passed the head phase and waits."""

    __slots__ = (
        "_before",
        "_chunked",
        "_downstream",
        "_ended",
        "_ends_by_close",
        "_forwarding",
        "_keep",
        "_last",
        "_limit",
        "_out",
        "_sent",
        "_streams_events",
        "handler",
        "request",
        "wants_body",
    )

    def __init__(self, downstream: Downstream, request: Arriving) -> None:
        self._downstream = downstream
        self.request = request
        self.handler = downstream.listener.service.open(request, downstream.peer)
        self._out: list[bytes] = []
        self._forwarding: Forwarding | None = None
        self.wants_body = self._chunked = self._ends_by_close = False
        self._keep = self._streams_events = self._ended = False
        self._before = self._last = b""
        self._sent = self._limit = 0

    @property
    def paused(self) -> bool:
        """The client does not keep up."""
        return self._downstream.paused

    def begin(self) -> None:
        """The head phase, and the body phase too when the body is already there."""
        handler, request, limits = self.handler, self.request, self._downstream.listener.limits
        response = handler.on_head()
        if response is not None:
            self.answer(response)
            return
        self._limit = limit = min(handler.body_limit, limits.body_bytes)
        if request.complete and request.received <= limit:
            self._proceed()
            return
        self.wants_body = True
        if request.expects_continue and not request.received and request.declared_length <= limit:
            self._downstream.write(CONTINUE)
        self.more()

    def more(self) -> None:
        """More of the body, or its end, or what is wrong with it."""
        request = self.request
        if request.fault is not None:
            self.answer(self.handler.refuse(request.fault))
        elif max(request.declared_length, request.received) > self._limit:
            self.answer(self.handler.refuse(TOO_LARGE))
        elif request.complete:
            self.wants_body = False
            self._proceed()

    def refuse(self, fault: LocalFault) -> None:
        """Something went wrong while the body was awaited."""
        self.answer(self.handler.refuse(fault))

    def answer(self, response: Response) -> None:
        """Write a whole answer made here."""
        self.wants_body = False
        self._forwarding = None
        engine = self._downstream.listener.engine
        fields = [(b"date", engine.date()), *response.fields]
        reply = Reply(response.status, fields, local=True)
        self.handler.on_reply(reply)
        self._keep = not response.close and self._downstream.may_keep(self.request)
        bodiless = reply.status in (204, 304)
        framing = b"" if bodiless else b"content-length: %d\r\n" % len(response.body)
        self._out.append(reply_head(reply, framing + self._connection_line()))
        if response.body and self.request.method != b"HEAD" and not bodiless:
            self._out.append(response.body)
            self._sent = len(response.body)
        self._flush()
        self._over(_COMPLETE)

    def gone(self, end: End) -> None:
        """The client is gone, or is cut: end the work for it."""
        if self._forwarding is not None:
            self._forwarding.cancel()
        self._keep = False
        self._over(end)

    def crashed(self) -> None:
        """A bug on our side: end the connection, which ends this turn."""
        self._downstream.cut()

    def pause(self) -> None:
        """The client does not keep up: neither must the upstream."""
        if self._forwarding is not None:
            self._forwarding.pause()

    def resume(self) -> None:
        """It keeps up again."""
        if self._forwarding is not None:
            self._forwarding.resume()

    # The upstream's side, through Forwarding.

    def begin_reply(self, reply: Reply, until: Until | None, length: bytes | None) -> None:
        """The upstream's head; it leaves with the next flush."""
        self.handler.on_reply(reply)
        request = self.request
        self._keep = self._downstream.may_keep(request)
        if until is _LENGTH or (until is _HEAD and length is not None and reply.status != 204):
            framing = b"content-length: %b\r\n" % (length or b"0")
        elif until is _HEAD:
            framing = b""
        else:
            framing = self._begin_open_ended(reply)
        if not self._keep or not request.minor:
            framing += self._connection_line()
        self._out.append(reply_head(reply, framing))

    def stream(self, pieces: list[bytes]) -> None:
        """Pieces of the upstream's body, with its head if that is still due: they leave at once."""
        out = self._out
        if pieces:
            piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            self._note(piece)
            if self._chunked:
                piece = b"%x\r\n%b\r\n" % (len(piece), piece)
            if not out:
                self._downstream.write(piece)
                return
            out.append(piece)
        self._flush()

    def pass_on(self, raw: bytes, pieces: list[bytes]) -> None:
        """*raw* is chunks of the upstream's body, whole and nothing else, and *pieces* what is in them."""
        if self._chunked and not self._out:
            self._note(pieces[0] if len(pieces) == 1 else b"".join(pieces))
            self._downstream.write(raw)
        else:
            self.stream(pieces)

    def end_reply(self, pieces: list[bytes]) -> None:
        """The upstream's body is whole, with *pieces* as its last ones: all that is due leaves at once."""
        out = self._out
        for piece in pieces:
            self._note(piece)
        if self._chunked:
            if pieces:
                out.append(chunk(b"".join(pieces)))
            out.append(LAST_CHUNK)
        else:
            out += pieces
        if out:
            self._downstream.write(out[0] if len(out) == 1 else b"".join(out))
        self._over(_COMPLETE)

    def _note(self, piece: bytes) -> None:
        """Count a piece of the body, and keep the end of it."""
        if not self._sent and self._streams_events:
            self.handler.on_first_event()
        self._sent += len(piece)
        self._before = self._last
        self._last = piece if len(piece) <= _TAIL_BYTES else piece[-_TAIL_BYTES:]

    def break_reply(self, fault: RemoteFault) -> None:
        """The upstream broke after its head was passed on: the client must see that this is not the whole."""
        response = self.handler.on_failed(fault)
        event = error_event(response.body, self._last) if self._streams_events else b""
        if event and self.request.method != b"HEAD":
            self._out.append(chunk(event) if self._chunked else event)
        self._flush()
        self._keep = False
        self._over(End.UPSTREAM_BROKE, reset=self._ends_by_close and not event)

    def _flush(self) -> None:
        """Write what is due, in one piece: each write of its own would cost a system call."""
        out, self._out = self._out, []
        if out:
            self._downstream.write(b"".join(out))

    def _proceed(self) -> None:
        outcome = self.handler.on_body()
        if isinstance(outcome, Response):
            self.answer(outcome)
            return
        downstream = self._downstream
        downstream.deadline = NEVER  # the client's clock stops, the upstream's runs
        forwarding = self._forwarding = Forwarding(self, downstream.listener.engine, outcome)
        forwarding.attempt()

    def _begin_open_ended(self, reply: Reply) -> bytes:
        """Nobody knows yet how long the body is: chunks, or for HTTP/1.0 everything until the close."""
        self._chunked = self.request.minor > 0
        self._ends_by_close = not self._chunked
        self._keep = self._keep and self._chunked
        self._streams_events = is_event_stream(reply.get(b"content-type"))
        return b"transfer-encoding: chunked\r\n" if self._chunked else b""

    def _connection_line(self) -> bytes:
        if not self._keep:
            return b"connection: close\r\n"
        return b"" if self.request.minor else b"connection: keep-alive\r\n"

    def _over(self, end: End, *, reset: bool = False) -> None:
        if self._ended:
            return
        self._ended = True
        self._forwarding = None
        self.handler.on_end(end, self._sent, self._before + self._last)
        self._downstream.turn_over(keep=self._keep, reset=reset)
