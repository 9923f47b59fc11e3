"""Bytes from a client become requests: parsing, judging and bounding, without a socket.

`feed` takes what was read; `requests` holds what has arrived, oldest first, the last one perhaps without its
whole body. A request whose head breaks a rule carries a `fault` and is the last one: nothing after it can be
trusted to begin where it seems to. A head that came before on this connection is recognised, see repeats.

A long body of known length does not go through the parser: `room` then gives out the place it belongs, so
that the kernel copies it there and nobody copies it again. Everything else is read into one buffer that the
whole process shares, and nothing keeps a view of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import httptools

from edge.wire.faults import LocalFault
from edge.wire.fields import field_name
from edge.wire.framing import judge, settle, settle_plain
from edge.wire.limits import Limits
from edge.wire.messages import NOTHING, Request
from edge.wire.repeats import Pattern, pattern_of

SCRATCH_BYTES: Final = 64 * 1024
SCRATCH: Final = memoryview(bytearray(SCRATCH_BYTES))
"""Where every socket is read into. One thread, and each read is used up before the next."""

_DIRECT_BYTES: Final = SCRATCH_BYTES
"""Bodies longer than this are read in place."""

_FIRST_ROOM_BYTES: Final = 1024 * 1024
"""Set aside at once for a long body; the rest is, doubling, as bytes come: a declared length costs a client
nothing, so it must not cost us memory."""

_OVERHEAD_BYTES: Final = 16 * 1024
_OVERHEAD_RATIO: Final = 8
"""Chunk headers, extensions and trailers may take this much beside the body, and so many bytes per body byte
(one-byte chunks take five). Node and Go bound extensions at 16 KiB likewise."""

_LESSONS: Final = 5
"""Heads looked at in the hope that they come again, the first of a connection aside; a client whose every
head is new costs no more than these."""


BAD_REQUEST: Final = LocalFault(400, "bad_request", "The bytes received are not a valid HTTP/1.1 request.")
HEAD_TOO_LARGE: Final = LocalFault(431, "head_too_large", "The request's head is too large.")
CHUNK_OVERHEAD: Final = LocalFault(400, "bad_framing", "The chunks carry too much beside the body.")
UNKNOWN_METHOD: Final = LocalFault(501, "method_not_supported", "This method is not supported.")


class Arriving(Request):
    """A request that is being read.

    complete: the whole body is there, and in `body`. received: body bytes so far. expects_continue: the
    client waits for 100 Continue before it sends the body. keep_alive: it did not ask to close. fault: why
    this is no request; set before `complete` and final.
    """

    __slots__ = ("complete", "expects_continue", "fault", "keep_alive", "parts", "raw_bytes", "received")

    def __init__(self, target: bytes) -> None:
        self.method = self.host = self.body = b""
        self.target = target
        self.fields = {}
        self.minor = 1
        self.repeated = NOTHING
        self.declared_length = self.received = self.raw_bytes = 0
        self.complete = self.expects_continue = False
        self.keep_alive = True
        self.fault: LocalFault | None = None
        self.parts: list[bytes] | None = None

    def again(self, body: bytes) -> Arriving:
        """The same head once more, as it was before any filter saw it, with another whole body."""
        made = Arriving(self.target)
        made.method, made.host = self.method, self.host
        made.fields = self.fields.copy()
        made.body = body
        made.declared_length = made.received = len(body)
        made.complete = True
        return made


class Intake:
    """The bytes of one connection, in order. limits: of its listener."""

    __slots__ = (
        "_arriving",
        "_before",
        "_between",
        "_feeding",
        "_in_head",
        "_large_have",
        "_lessons",
        "_limits",
        "_moved",
        "_parser",
        "_pattern",
        "_plain",
        "_repeated",
        "closed",
        "head_bytes",
        "large",
        "requests",
    )

    def __init__(self, limits: Limits) -> None:
        self.requests: deque[Arriving] = deque()
        self.closed = False
        """Nothing more is read as a request: a fault was found, or too many were sent ahead."""
        self._limits = limits
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._arriving = Arriving(b"")
        self._repeated: set[bytes] | None = None
        self._in_head = False
        self._between = True  # the next byte begins a message
        self._plain = False  # the last head was an ordinary one, see settle_plain
        self._lessons = _LESSONS
        self._pattern: Pattern | None = None
        self._before = self._arriving  # the head behind the pattern, as no filter has seen it
        self._feeding = 0  # bytes of the read in progress
        self._moved = False  # a head was completed by the read in progress
        self.head_bytes = 0
        """Bytes of earlier reads that belong to a head in progress; above 0, one has begun."""
        self._large_have = 0
        self.large: bytearray | None = None
        """A long body that is read in place: the next bytes go to `room`, and `filled` must be told."""

    def close(self) -> None:
        """Read nothing more, and let go of the parser, which refers back to this."""
        self.closed = True
        self._parser = None
        self.large = None

    def feed(self, data: memoryview) -> None:
        """Take what was read into the shared buffer."""
        if self._between and not self.requests and not self.closed:
            if self._pattern is not None:
                read = bytes(data)
                body_at = self._pattern.body_at(read)
                if body_at:
                    self.requests.append(self._before.again(read[body_at:]))
                    return
            if self._lessons:
                self._learn(data)
                return
        self._parse(data)

    def _learn(self, data: memoryview) -> None:
        """Parse a read that begins a message, and remember its head if the read is all there is of it."""
        self._lessons -= 1
        self._parse(data)
        arriving = self._arriving
        if self._between and self._plain and len(self.requests) == 1 and self._lessons < _LESSONS - 1:
            self._pattern = pattern_of(bytes(data), arriving.received)
            self._before = arriving.again(b"")

    def _parse(self, data: memoryview) -> None:
        parser = self._parser
        if parser is None or self.closed:
            return
        self._feeding = len(data)
        self._moved = False
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(UNKNOWN_METHOD)  # CONNECT and Upgrade have been judged; the parser stops there anyway
        except httptools.HttpParserInvalidMethodError:
            self._fail(UNKNOWN_METHOD)
        except httptools.HttpParserError:
            self._fail(BAD_REQUEST)
        else:
            if not self._arriving.complete:
                self._bound()

    def room(self) -> memoryview:
        """Where the next bytes go: the rest of a long body, at least one byte, or the shared buffer."""
        large = self.large
        if large is None:
            return SCRATCH
        if self._large_have == len(large):
            large.extend(bytes(min(len(large), self._arriving.declared_length - len(large))))
        return memoryview(large)[self._large_have :]

    def filled(self, count: int) -> None:
        """*count* bytes were read into `room`."""
        arriving, large = self._arriving, self.large
        self._large_have += count
        arriving.received += count
        if large is not None and self._large_have == arriving.declared_length:
            arriving.body = large
            arriving.complete = True
            self.large = None
            # The parser still waits for the body it never saw; a new one knows nothing of it.
            self._parser = httptools.HttpRequestParser(self)
            self._between = True

    # The parser's side: each is called by llhttp as it goes, and must not raise.

    def on_message_begin(self) -> None:
        self._between = False

    def on_url(self, url: bytes) -> None:
        if self._in_head:
            self._arriving.target += url
        else:
            self._in_head = True
            self._arriving = Arriving(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # trailers, which may be discarded (RFC 9110, 6.5.1)
        name = field_name(name)
        fields = self._arriving.fields
        if name in fields:
            self._repeat(name, value.rstrip())
        elif name:
            fields[name] = value.rstrip()  # llhttp leaves the blanks that RFC 9112, 5.1 excludes

    def on_headers_complete(self) -> None:
        parser, arriving = self._parser, self._arriving
        self._in_head = False
        if parser is None or self.closed:
            return
        head_bytes, self.head_bytes = self.head_bytes + self._feeding, 0
        self._moved = True
        if self.requests and len(self.requests) >= self._limits.pipelined:
            self.closed = True
            return
        self.requests.append(arriving)
        arriving.method = parser.get_method()
        # Without a Connection field only HTTP/1.1 is kept alive, so then the version need not be asked for.
        plain = (
            parser.should_keep_alive() and self._repeated is None and head_bytes <= self._limits.head_bytes
        )
        self._plain = plain and settle_plain(arriving, self._limits)
        if not self._plain:
            self._pattern = None
            self._examine(arriving, parser, head_bytes)

    def on_body(self, piece: bytes) -> None:
        arriving = self._arriving
        if not arriving.received:
            arriving.body = piece
        elif arriving.parts is None:
            arriving.parts = [bytes(arriving.body), piece]
        else:
            arriving.parts.append(piece)
        arriving.received += len(piece)

    def on_message_complete(self) -> None:
        arriving = self._arriving
        if arriving.parts is not None:
            arriving.body = b"".join(arriving.parts)
            arriving.parts = None
        if arriving.declared_length < 0:
            arriving.declared_length = arriving.received
        arriving.complete = self._between = True

    def _examine(self, arriving: Arriving, parser: httptools.HttpRequestParser, head_bytes: int) -> None:
        """Judge a head that is not plain, by every rule."""
        version = parser.get_http_version()
        if version != "1.1":
            arriving.minor = 0 if version == "1.0" else -1
        arriving.keep_alive = parser.should_keep_alive()
        if self._repeated is not None:
            arriving.repeated = frozenset(self._repeated)
            self._repeated = None
        if head_bytes > self._limits.head_bytes and _head_size(arriving) > self._limits.head_bytes:
            arriving.fault = HEAD_TOO_LARGE
        else:
            arriving.fault = judge(arriving, self._limits)
        if arriving.fault is not None:
            self.closed = True
        else:
            arriving.expects_continue = settle(arriving)

    def _repeat(self, name: bytes, value: bytes) -> None:
        """Lines of one name are one list (RFC 9110, 5.3); cookies are joined their own way (RFC 6265,
        5.4)."""
        self._arriving.fields[name] += (b"; " if name == b"cookie" else b", ") + value
        if self._repeated is None:
            self._repeated = set()
        self._repeated.add(name)

    def _bound(self) -> None:
        """After a read that left a message unfinished: is its head, or what comes beside its body, too
        large?"""
        arriving = self._arriving
        if self._in_head or not self.requests or self.requests[-1] is not arriving:
            self.head_bytes += _head_size(arriving) if self._moved else self._feeding
            if self.head_bytes > self._limits.head_bytes:
                self._fail(HEAD_TOO_LARGE)
        elif arriving.declared_length > _DIRECT_BYTES:
            self._read_in_place(arriving)
        elif arriving.declared_length < 0:
            if not self._moved:  # the read that brought the head is not counted
                arriving.raw_bytes += self._feeding
            if arriving.raw_bytes > _OVERHEAD_BYTES + arriving.received * (1 + _OVERHEAD_RATIO):
                self._fail(CHUNK_OVERHEAD)

    def _read_in_place(self, arriving: Arriving) -> None:
        large = bytearray(min(arriving.declared_length, _FIRST_ROOM_BYTES))
        have = 0
        for part in _parts(arriving):
            large[have : have + len(part)] = part
            have += len(part)
        arriving.body, arriving.parts = b"", None
        self.large, self._large_have = large, have

    def _fail(self, fault: LocalFault) -> None:
        """The message in progress is not a request. One that came whole before it stays."""
        self.closed = True
        last = self.requests[-1] if self.requests else None
        if last is not None and last is self._arriving and not last.complete:
            last.fault = last.fault or fault
            return
        if last is not None and last.fault is not None:
            return
        broken = Arriving(b"")
        broken.fault = fault
        self.requests.append(broken)


def _parts(arriving: Arriving) -> Iterable[bytes | bytearray]:
    return arriving.parts if arriving.parts is not None else (arriving.body,)


def _head_size(arriving: Arriving) -> int:
    """About what the head took on the wire; asked only when the reads it came in were larger than allowed."""
    return len(arriving.target) + sum(len(name) + len(value) + 4 for name, value in arriving.fields.items())
