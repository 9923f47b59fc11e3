"""One connection to an upstream endpoint: idle in its pool, or carrying one exchange.

It moves bytes and tells its exchange; what they mean for the request is decided in forward.py.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Final, Protocol, cast

from edge.wire.faults import Cause
from edge.wire.intake import SCRATCH, SCRATCH_BYTES
from edge.wire.pool import Cluster, Endpoint
from edge.wire.replies import ReplyReader
from edge.wire.transports import is_readable
from edge.wire.wheel import NEVER, Timer

if TYPE_CHECKING:
    from edge.wire.engine import Engine

_TRUSTED_IDLE_S: Final = 0.5
"""An idle connection is asked whether it has been closed once it lay longer than this: the loop would have
told of anything older than its last turn, and the question costs a system call."""


class Carried(Protocol):
    """The exchange a connection carries."""

    def received(self) -> None:
        """The reader took bytes in."""

    def lost(self, cause: Cause) -> None:
        """The connection ended before the reply was whole. It is closed and must be dropped."""

    def expired(self) -> None:
        """The deadline the exchange had set has passed."""


class Upstream(asyncio.BufferedProtocol, Timer):
    """used: it has carried a request before. carried: None while it is idle."""

    __slots__ = (
        "_engine",
        "_idle_since",
        "_is_large",
        "carried",
        "cluster",
        "endpoint",
        "reader",
        "transport",
        "used",
    )

    def __init__(self, engine: Engine, cluster: Cluster, endpoint: Endpoint) -> None:
        Timer.__init__(self)
        self._engine = engine
        self.endpoint = endpoint
        self._idle_since = 0.0
        self._is_large = False
        self.cluster = cluster
        self.carried: Carried | None = None
        self.reader = ReplyReader(endpoint.memory)
        self.transport: asyncio.Transport | None = None
        self.used = False

    def send(self, carried: Carried, method: bytes, head: bytes, body: bytes | bytearray) -> None:
        """Write one request; its reply goes to *carried*. Small ones leave in one piece."""
        self.carried = carried
        self.reader.expect(method)
        transport = self.transport
        if transport is None:
            raise RuntimeError("an upstream connection is used after its end")
        if len(body) <= SCRATCH_BYTES:
            self._is_large = False
            transport.write(head + body)
        else:
            self._is_large = True
            transport.write(head)
            transport.write(body)

    def release(self) -> bool:
        """The reply is whole: give this connection back to its pool, if it is certain where the next reply
        would begin and that all of the request has left. Whether it was kept; if not, it is closed and
        dropped."""
        reader, cluster = self.reader, self.cluster
        if not reader.reusable or reader.excess or (self._is_large and not self._is_drained):
            self.close()
            cluster.drop(self.endpoint)
            return False
        self.carried = None
        if not cluster.give_back(self.endpoint, self):
            return False
        wheel = self._engine.wheel
        self.used = True
        self._idle_since = wheel.now
        wheel.arm(self, cluster.caps.idle_s)
        return True

    @property
    def _is_drained(self) -> bool:
        """An early answer may come while a body is still being sent."""
        return self.transport is not None and self.transport.get_write_buffer_size() == 0

    def is_usable(self, now: float) -> bool:
        """Whether it is still open as far as can be told without writing."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return False
        return now - self._idle_since < _TRUSTED_IDLE_S or not is_readable(transport)

    def close(self) -> None:
        """End it at once; nothing more is told to anybody."""
        self.carried = None
        self._engine.wheel.forget(self)
        self.reader.close()
        if self.transport is not None:
            self.transport.abort()

    def abandon(self) -> None:
        """The dial was given up, perhaps just after it succeeded: uvloop then closes without telling."""
        self._engine.upstreams.discard(self)
        self.close()

    def pause(self) -> None:
        """Read no more for now: the client does not keep up. Its own time limit stops meanwhile."""
        self.deadline = NEVER
        if self.transport is not None:
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self.transport is not None:
            self.transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # a stream connection's transport is one
        self._engine.upstreams.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return SCRATCH

    def buffer_updated(self, nbytes: int) -> None:
        self.reader.feed(SCRATCH[:nbytes])
        carried = self.carried
        if carried is not None:
            carried.received()
        else:
            self._gone()  # bytes nobody asked for: never reuse it (RFC 9112, 9.2: response splitting)

    def eof_received(self) -> bool:
        carried = self.carried
        if carried is None:
            self._gone()
        elif self.reader.end():
            carried.received()
        else:
            carried.lost(Cause.RESET)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._engine.upstreams.discard(self)
        carried = self.carried
        if carried is None:
            self._gone()
        else:
            carried.lost(Cause.TLS if isinstance(exc, ssl.SSLError) else Cause.RESET)
        self.transport = None

    def expire(self) -> None:
        if self.carried is not None:
            self.carried.expired()
        else:
            self._gone()

    def _gone(self) -> None:
        """It was idle, or only just let go: the pool must not hand it out again."""
        self.cluster.gone(self.endpoint, self)
        self.close()
