"""Gets one request answered by an upstream: attempts, time limits, and when to stop trying.

Whether a byte of the request may have left is a field, `may_have_sent`, set just before the first write.
While it is False another endpoint, then another cluster, may be tried, within `caps.attempts` and
`timeouts.attempts_s`. Once it is True there is one exception only: a connection that had been lying in the
pool and closed without a single byte of reply did so because it was stale, and a request that is safe to
repeat (RFC 9110, 9.2.1 and 9.2.2) goes out again. A POST never does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from edge.wire.faults import Cause, RemoteFault
from edge.wire.heads import request_head
from edge.wire.messages import Response
from edge.wire.pool import Cluster, Endpoint
from edge.wire.upstream import Upstream

if TYPE_CHECKING:
    from edge.wire.engine import Engine
    from edge.wire.turn import Turn

_SAFE: Final = frozenset((b"GET", b"HEAD", b"OPTIONS"))

_MAX_ATTEMPTS: Final = 16
"""Over all clusters of one request, whatever each of them allows: a route of many candidates must not make
one request a storm."""


class Forwarding:
    """One request on its way. may_have_sent: a byte of it may have reached an upstream."""

    __slots__ = (
        "_attempts",
        "_cluster",
        "_dial",
        "_endpoint",
        "_engine",
        "_most",
        "_replying",
        "_started_at",
        "_tried",
        "_turn",
        "_upstream",
        "may_have_sent",
    )

    def __init__(self, turn: Turn, engine: Engine, cluster: Cluster) -> None:
        self._turn = turn
        self._engine = engine
        self._cluster = cluster
        self._started_at = engine.wheel.now
        self._endpoint: Endpoint | None = None
        self._upstream: Upstream | None = None
        self._dial: asyncio.Task[None] | None = None
        self._tried: tuple[Endpoint, ...] = ()
        self._attempts = 0
        self._most = cluster.caps.attempts
        self._replying = self.may_have_sent = False

    def attempt(self, last: Cause | None = None) -> None:
        """Take what the cluster offers next. last: why the attempt before this one failed."""
        cluster = self._cluster
        if cluster.key_from is None:
            choice = cluster.take(self._engine.wheel.now, self._tried)
        else:
            key = self._turn.handler.balance_key(cluster.key_from)
            choice = cluster.take(self._engine.wheel.now, self._tried, key)
        self._attempts += 1
        if type(choice) is Upstream:
            self._endpoint = choice.endpoint
            self._send(choice)
        elif type(choice) is Endpoint:
            self._endpoint = choice
            self._dial = self._engine.dial(cluster, choice, self)
        elif isinstance(choice, Cause):
            self._give_up(last or choice)

    def dialled(self, upstream: Upstream) -> None:
        """The connection asked for is there."""
        self._dial = None
        self._send(upstream)

    def not_dialled(self, cause: Cause) -> None:
        """It could not be made: no byte has left."""
        self._dial = None
        self._drop(ok=False)
        self._next(cause)

    def crashed(self) -> None:
        """Handling the outcome of a dial raised: nothing sensible can be answered any more."""
        self._turn.crashed()

    def cancel(self) -> None:
        """The client is gone: end whatever is going on, at once."""
        if self._dial is not None:
            self._dial.cancel()
            self._dial = None
        if self._upstream is not None:
            self._upstream.close()
        self._drop(ok=None)

    def pause(self) -> None:
        """The client does not keep up."""
        if self._upstream is not None and self._replying:
            self._upstream.pause()

    def resume(self) -> None:
        """The client keeps up again; the upstream's time starts anew."""
        if self._upstream is not None and self._replying:
            self._upstream.resume()
            self._arm(self._upstream, self._cluster.timeouts.idle_s)

    # The connection's side.

    def received(self) -> None:
        """Bytes of the reply, or its end."""
        upstream, turn = self._upstream, self._turn
        if upstream is None:
            return
        reader = upstream.reader
        if not self._replying:
            reply = reader.reply
            if reply is None:
                if reader.faulty:
                    self._broke(Cause.PROTOCOL)
                return
            if reply.status == 503 and turn.handler.says_unsent(reply):
                self._take_at_its_word()
                return
            self._replying = True
            turn.request.body = b""  # nothing is sent twice from here on, and a stream may last for hours
            turn.begin_reply(reply, reader.until, reader.length)
        pieces = reader.pieces
        if pieces:
            reader.pieces = []
        if reader.complete:
            self._complete(upstream, pieces)
            return
        raw = reader.raw
        if raw is None:
            turn.stream(pieces)
        else:
            reader.raw = None
            turn.pass_on(raw, pieces)
        if reader.faulty:
            self._broke(Cause.PROTOCOL)
        elif not turn.paused:
            self._arm(upstream, self._cluster.timeouts.idle_s)

    def lost(self, cause: Cause) -> None:
        """The connection ended before the reply was whole."""
        upstream = self._upstream
        endpoint = self._endpoint
        stale = upstream is not None and upstream.used and not upstream.reader.has_begun
        if stale and endpoint is not None and self._turn.request.method in _SAFE and not self._is_spent():
            self._end_upstream(ok=None)
            self._tried = tuple(e for e in self._tried if e is not endpoint)
            self._cluster.purge(endpoint)
            self.attempt(cause)
        else:
            self._broke(cause)

    def expired(self) -> None:
        """The upstream took too long."""
        total_s = self._cluster.timeouts.total_s
        if total_s is not None and self._engine.wheel.now >= self._started_at + total_s:
            self._broke(Cause.TOTAL_TIMEOUT)
        else:
            self._broke(Cause.IDLE_TIMEOUT if self._replying else Cause.FIRST_BYTE_TIMEOUT)

    def _send(self, upstream: Upstream) -> None:
        cluster, request = self._cluster, self._turn.request
        self._upstream = upstream
        self.may_have_sent = True
        upstream.send(self, request.method, request_head(request, cluster.host_line), request.body)
        self._arm(upstream, cluster.timeouts.first_byte_s)

    def _arm(self, upstream: Upstream, in_s: float) -> None:
        wheel, total_s = self._engine.wheel, self._cluster.timeouts.total_s
        if total_s is not None:
            in_s = min(in_s, self._started_at + total_s - wheel.now)
        wheel.arm(upstream, in_s)

    def _next(self, cause: Cause) -> None:
        """Nothing has left: another endpoint of this cluster, if the bounds allow one more."""
        if self._attempts < self._most and not self._is_spent():
            self.attempt(cause)
        else:
            self._give_up(cause)

    def _give_up(self, cause: Cause) -> None:
        """This cluster has nothing more to offer and no byte has left: another cluster, or the answer."""
        fault = RemoteFault(cause, unsent=not self.may_have_sent, endpoint=self._name())
        handler = self._turn.handler
        if self.may_have_sent or self._is_spent():
            self._turn.answer(handler.on_failed(fault))
            return
        outcome = handler.on_unsent(fault)
        if isinstance(outcome, Response):
            self._turn.answer(outcome)
            return
        self._cluster, self._tried = outcome, ()
        self._most = self._attempts + outcome.caps.attempts
        self.attempt()

    def _take_at_its_word(self) -> None:
        """A trusted hop answered that it sent nothing on, so for this request nothing has left."""
        self._end_upstream(ok=None)
        self.may_have_sent = False
        self._give_up(Cause.UNSENT)

    def _broke(self, cause: Cause) -> None:
        """Bytes may have left: the answer is an error, or what was begun is cut."""
        fault = RemoteFault(cause, unsent=False, endpoint=self._name())
        self._end_upstream(ok=False)
        if self._replying:
            self._turn.break_reply(fault)
        else:
            self._turn.answer(self._turn.handler.on_failed(fault))

    def _complete(self, upstream: Upstream, pieces: list[bytes]) -> None:
        """The reply is whole, with *pieces* as its last ones."""
        cluster, reply = self._cluster, upstream.reader.reply
        self._upstream = self._endpoint = None
        upstream.release()
        if cluster.watchers and reply is not None:
            cluster.tell(upstream.endpoint, ok=reply.status < 500)
        self._turn.end_reply(pieces)

    def _end_upstream(self, ok: bool | None) -> None:
        if self._upstream is not None:
            self._upstream.close()
        self._drop(ok)

    def _drop(self, ok: bool | None) -> None:
        """Give up what `take` has counted. ok: what passive health is told; None says nothing about it."""
        endpoint, self._endpoint, self._upstream = self._endpoint, None, None
        if endpoint is not None:
            self._cluster.drop(endpoint)
            self._tried += (endpoint,)
            if ok is not None:
                self._cluster.tell(endpoint, ok=ok)

    def _is_spent(self) -> bool:
        late = self._engine.wheel.now - self._started_at > self._cluster.timeouts.attempts_s
        return late or self._attempts >= _MAX_ATTEMPTS

    def _name(self) -> str | None:
        if self._endpoint is not None:
            return str(self._endpoint)
        return str(self._tried[-1]) if self._tried else None
