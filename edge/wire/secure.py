"""TLS between a plain transport and one of our connections: protocol of the one, transport of the other.

    socket ─► buffer_updated ─► incoming ─► read ──► inner.buffer_updated
    socket ◄─ raw.write ◄────── outgoing ◄─ write ◄─ inner

    SHAKING ──► OPEN ──close()──► CLOSING ──their close_notify──► ENDED
                  └──theirs first, and an answer is owed──► HALF ──close()──┘     (faults, deadlines: ENDED)

uvloop's own layer asks OpenSSL for more after each record, and pays an exception for the answer that there is
none; this one looks first whether a byte is left. Ciphertext is read into one buffer that the whole process
shares, as plaintext is, and goes through in pieces of a record, so that what OpenSSL keeps stays small.

`inner` hears of a connection when the handshake is over. An end of stream without close_notify is no end in
order (RFC 8446, 6.1): then only `connection_lost` is called, never `eof_received`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, cast

from edge.wire.wheel import Timer, Wheel

HANDSHAKE_S: Final = 10.0
"""From a client's connection to the end of its handshake; who dials has a limit of its own."""

_FAREWELL_S: Final = 30.0
"""For the other side to answer our close_notify; asyncio and uvloop give as long."""

_FLUSH_S: Final = 1.0
"""For the kernel to take an alert, or what was written before the other side ended."""

_DISCARDED_MOST_BYTES: Final = 1024 * 1024
"""Read and dropped after our close_notify; who sends more is not waiting to read an answer."""

_RECORD_BYTES: Final = 16 * 1024
"""The most plaintext in a record (RFC 8446, 5.1). A memory BIO never shrinks, so it is given no more at
once."""

_CIPHER: Final = memoryview(bytearray(64 * 1024))
"""Where every socket is read into. One thread, and each read is used up before the next."""

_VOID: Final = memoryview(bytearray(_RECORD_BYTES))

_SHAKING: Final = 0
_OPEN: Final = 1
_CLOSING: Final = 2
_HALF: Final = 3
_ENDED: Final = 4


class Inner(Protocol):
    """What asyncio asks of a buffered protocol, as our connections are."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...
    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...
    def eof_received(self) -> bool | None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...


class Secure(Timer):
    """One connection's TLS. shaken: told once how the handshake ended, with None when it succeeded; `inner`
    has heard of the connection by then. A timer for the handshake and for the end."""

    __slots__ = (
        "_discarded",
        "_fault",
        "_incoming",
        "_inner",
        "_loop",
        "_more",
        "_outgoing",
        "_paused",
        "_peer_ended",
        "_raw",
        "_read",
        "_shaken",
        "_state",
        "_tls",
        "_wheel",
    )

    def __init__(
        self,
        inner: Inner,
        context: ssl.SSLContext,
        wheel: Wheel,
        shaken: Callable[[Secure, Exception | None], None],
        server_name: str | None = None,
    ) -> None:
        """server_name: of the server to connect to; None when this side is the server."""
        Timer.__init__(self)
        self._inner = inner
        self._wheel = wheel
        self._shaken: Callable[[Secure, Exception | None], None] | None = shaken
        self._loop = asyncio.get_running_loop()
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_name is None, server_hostname=server_name
        )
        # With a buffer it returns a count, which its type does not say.
        self._read = cast("Callable[[int, memoryview], int]", self._tls.read)
        self._raw: asyncio.Transport | None = None
        self._state = _SHAKING
        self._fault: Exception | None = None
        self._more = False  # OpenSSL may hold plaintext that had no room
        self._paused = False
        self._peer_ended = False
        self._discarded = 0

    # The loop's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = cast("asyncio.Transport", transport)  # a stream connection's transport is one
        if self._tls.server_side:
            self._wheel.arm(self, HANDSHAKE_S)
        self._shake()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return _CIPHER

    def buffer_updated(self, nbytes: int) -> None:
        if nbytes <= _RECORD_BYTES and self._state == _OPEN:
            self._incoming.write(_CIPHER[:nbytes])
            self._decrypt()
            return
        for begin in range(0, nbytes, _RECORD_BYTES):
            if self._state <= _CLOSING:
                self._incoming.write(_CIPHER[begin : min(begin + _RECORD_BYTES, nbytes)])
                self._take()

    def data_received(self, data: bytes) -> None:
        """For asyncio's own loop, which knows a buffered protocol by its class alone."""
        view = memoryview(data)
        for begin in range(0, len(view), len(_CIPHER)):
            piece = view[begin : begin + len(_CIPHER)]
            _CIPHER[: len(piece)] = piece
            self.buffer_updated(len(piece))

    def eof_received(self) -> bool:
        if self._state != _HALF:
            self._end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._wheel.forget(self)
        self._state = _ENDED
        self._raw = None
        if self._shaken is not None:
            self._tell(self._fault or exc or ConnectionResetError())
        else:
            self._inner.connection_lost(self._fault or exc)

    def pause_writing(self) -> None:
        if self._shaken is None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._shaken is None:
            self._inner.resume_writing()

    def expire(self) -> None:
        self.abort()

    # The transport's side.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and hand on; dropped once it is closing."""
        raw, state = self._raw, self._state
        if state not in (_OPEN, _HALF) or raw is None or not data:
            return
        try:
            if len(data) <= _RECORD_BYTES:
                self._tls.write(data)
                raw.write(self._outgoing.read())
            else:
                raw.writelines(self._records(memoryview(data)))
        except ssl.SSLError as error:
            self._fail(error)

    def close(self) -> None:
        """Say so, and end when the other side has said so too; what it still sends is dropped."""
        raw, state = self._raw, self._state
        if state not in (_OPEN, _HALF) or raw is None:
            return
        self._say_goodbye()
        if self._peer_ended:
            self._end()
            return
        self._state = _CLOSING
        self._wheel.arm(self, _FAREWELL_S)
        if self._paused:
            self._paused = False
            raw.resume_reading()

    def abort(self) -> None:
        """End it now, without a word."""
        self._state = _ENDED
        if self._raw is not None:
            self._raw.abort()

    def can_write_eof(self) -> bool:
        """False: `close` is what lets an answer be read."""
        return False

    def is_closing(self) -> bool:
        """Nothing can be written any more."""
        state = self._state
        return state not in (_OPEN, _HALF) or self._raw is None or self._raw.is_closing()

    def pause_reading(self) -> None:
        """Nothing more is read, nor given to `inner`."""
        if self._state == _OPEN and self._raw is not None:
            self._paused = True
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        """The opposite; what had been read comes in a turn of the loop of its own."""
        if self._state == _OPEN and self._raw is not None:
            self._paused = False
            self._raw.resume_reading()
            if self._more or self._incoming.pending:
                self._loop.call_soon(self._take)

    def get_write_buffer_size(self) -> int:
        """Bytes the kernel has not taken yet, as ciphertext."""
        return self._raw.get_write_buffer_size() if self._raw is not None else 0

    def get_extra_info(self, name: str, default: object = None) -> object:
        """ssl_object is this layer's, all else the plain transport's."""
        if name == "ssl_object":
            return self._tls
        return self._raw.get_extra_info(name, default) if self._raw is not None else default

    # Between the two.

    def _take(self) -> None:
        """Something has been read: do with it what the state wants."""
        if self._state == _SHAKING:
            self._shake()
            if not self._incoming.pending:
                return
        if self._state == _OPEN:
            self._decrypt()
        elif self._state == _CLOSING:
            self._discard()

    def _shake(self) -> None:
        try:
            self._tls.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            self._flush()
            return
        except ssl.SSLError as error:
            self._fail(error)
            return
        self._flush()
        self._wheel.forget(self)
        self._state = _OPEN
        self._inner.connection_made(cast("asyncio.BaseTransport", self))  # it has all of one that is used
        self._tell(None)

    def _decrypt(self) -> None:
        """Give `inner` what can be read, until it wants no more or there is none."""
        inner = self._inner
        while self._state == _OPEN and not self._paused:
            count = self._fill(inner.get_buffer(-1))
            if self._outgoing.pending:  # the answer to a KeyUpdate, or an alert
                self._flush()
            if count:
                inner.buffer_updated(count)
            if self._fault is not None:
                self._fail(self._fault)
            elif self._peer_ended:
                self._hear_goodbye()
                return
            elif not self._more:
                return
        if self._state == _CLOSING:
            self._discard()

    def _fill(self, room: memoryview) -> int:
        """How many bytes were put into *room*; `_more`, `_peer_ended` and `_fault` say what stopped it."""
        size, have = len(room), 0
        self._more = False
        try:
            while True:
                count = self._read(size - have, room[have:] if have else room)
                if not count:
                    self._peer_ended = True
                    break
                have += count
                if have == size:
                    self._more = True
                    break
                if not self._incoming.pending:
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._peer_ended = True
        except ssl.SSLError as error:
            self._fault = error
        return have

    def _discard(self) -> None:
        """Drop what comes after our close_notify, up to theirs."""
        try:
            while count := self._read(_RECORD_BYTES, _VOID):
                self._discarded += count
                if self._discarded > _DISCARDED_MOST_BYTES:
                    self.abort()
                    return
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError:
            pass
        self._end()

    def _records(self, data: memoryview) -> list[bytes]:
        pieces = []
        for begin in range(0, len(data), _RECORD_BYTES):
            self._tls.write(data[begin : begin + _RECORD_BYTES])
            pieces.append(self._outgoing.read())
        return pieces

    def _hear_goodbye(self) -> None:
        """They write nothing more. For `inner` it is the end, unless it still owes an answer."""
        if self._state == _OPEN:
            self._state = _HALF
            if not self._inner.eof_received():
                self.close()

    def _say_goodbye(self) -> None:
        with suppress(ssl.SSLError):  # it always wants their answer, which may never come
            self._tls.unwrap()
        self._flush()

    def _fail(self, error: Exception) -> None:
        """Tell the other side by OpenSSL's alert, and end."""
        self._fault = error
        self._flush()
        self._end()

    def _end(self) -> None:
        """End once the kernel has taken what is written, in bounded time."""
        self._state = _ENDED
        if self._raw is not None:
            self._wheel.arm(self, _FLUSH_S)
            self._raw.close()

    def _flush(self) -> None:
        if self._raw is not None and self._outgoing.pending:
            self._raw.write(self._outgoing.read())

    def _tell(self, error: Exception | None) -> None:
        shaken, self._shaken = self._shaken, None
        if shaken is not None:
            shaken(self, error)


def as_protocol(secure: Secure) -> asyncio.BaseProtocol:
    """For asyncio's signatures: it is one in all but name, so that it can be compiled."""
    return cast("asyncio.BaseProtocol", secure)
