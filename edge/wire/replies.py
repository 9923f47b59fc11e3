"""Bytes from an upstream become a reply: head, pieces of body, end; without a socket.

`expect` says which request is being answered; `feed` takes what was read and fills `reply` (once the final
head is there), `pieces` and `complete`. Interim answers (1xx) are passed over, except 101, which nobody
asked for. Anything that makes the end of the reply uncertain is a fault; the caller then never uses the
connection again.
"""

from __future__ import annotations

from typing import Final

import httptools

from edge.wire.chunks import whole_chunks
from edge.wire.fields import HOP_BY_HOP, field_name, listed
from edge.wire.framing import Until, body_ends
from edge.wire.messages import Reply
from edge.wire.repeats import Pattern, pattern_of

_MAX_HEAD_BYTES = 64 * 1024
"""Of a reply's head, interim ones included; generous, as our own upstreams send it (nginx gives 4-8 KiB,
Envoy 60 KiB)."""

_MOST_PATIENCE = 255

_NONE: Final[dict[bytes, bytes]] = {}

# Looked up once: on Python 3.11 a member of an Enum costs as much as a call.
_LENGTH: Final = Until.LENGTH
_CLOSE: Final = Until.CLOSE
_HEAD: Final = Until.HEAD
_LAST_CHUNK: Final = Until.LAST_CHUNK
_LF: Final = 0x0A

_APART: Final = frozenset((*HOP_BY_HOP, b"content-length"))


class Memory:
    """The last ordinary head of an endpoint's replies, for all its connections: it changes once a second,
    with its Date. was_used: it came again. let_pass: replies not to be learned from, more each time one was
    learned in vain; an endpoint whose every head is new must not cost more for it."""

    __slots__ = ("_patience", "let_pass", "pattern", "reply", "was_used")

    def __init__(self) -> None:
        self.pattern: Pattern | None = None
        self.reply = Reply(200, [])
        self.was_used = False
        self.let_pass = self._patience = 0

    def learn(self, reply: Reply, read: bytes, body_bytes: int) -> None:
        """*reply* was in *read*, with its body of so many bytes, before any filter saw it."""
        if self.let_pass:
            self.let_pass -= 1
            return
        self._patience = 0 if self.was_used else min(2 * self._patience + 1, _MOST_PATIENCE)
        self.let_pass, self.was_used = self._patience, False
        self.pattern = pattern_of(read, body_bytes)
        self.reply = Reply(reply.status, reply.fields.copy(), received=reply.received)


class ReplyReader:
    """The replies of one upstream connection, one at a time.

    until: where the body ends, None before the head. length: Content-Length as sent, also for replies
    without a body. pieces: body bytes of the last read, to be taken by the caller. raw: the same with their
    framing, when they were whole chunks; to be taken with them, else None. excess: bytes came that
    no request asked for. reusable: after `complete`, whether another request may follow on this connection.
    """

    __slots__ = (
        "_apart",
        "_between_chunks",
        "_chunk_is_over",
        "_fields",
        "_head_bytes",
        "_in_head",
        "_memory",
        "_method",
        "_parser",
        "complete",
        "excess",
        "faulty",
        "length",
        "pieces",
        "raw",
        "reply",
        "reusable",
        "until",
    )

    def __init__(self, memory: Memory | None = None) -> None:
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._memory = memory or Memory()
        self._method = b""
        self._head_bytes = 0
        self._in_head = False
        self._between_chunks = self._chunk_is_over = False
        self.raw: bytes | None = None
        self._fields: list[tuple[bytes, bytes]] = []
        self._apart: dict[bytes, bytes] | None = None
        self.pieces: list[bytes] = []
        self.reply: Reply | None = None
        self.until: Until | None = None
        self.length: bytes | None = None
        self.complete = True
        self.excess = self.faulty = self.reusable = False

    def expect(self, method: bytes) -> None:
        """A request with *method* has been written; its reply comes next."""
        self._method = method
        self._head_bytes = 0
        self._in_head = True
        self._between_chunks = self._chunk_is_over = False
        self._fields = []
        self._apart = None
        self.reply = None
        self.complete = False

    @property
    def has_begun(self) -> bool:
        """A byte of the reply has come."""
        return self._head_bytes > 0

    def close(self) -> None:
        """Read nothing more, and let go of the parser, which refers back to this."""
        self._parser = None

    def feed(self, data: memoryview) -> None:
        """Take what was read into the shared buffer. `faulty` or `excess` say that it must not be trusted."""
        if self._between_chunks:
            read = bytes(data)
            pieces = whole_chunks(read)
            if pieces:
                self.pieces, self.raw = pieces, read
                return
        is_first = not self._head_bytes and not self.complete and self._method == b"POST"
        if is_first and self._is_repeat(data):
            return
        if self.reply is None:
            self.faulty = self.faulty or self._head_bytes >= _MAX_HEAD_BYTES
            self._head_bytes += len(data)
        if self.faulty:
            return
        if self.complete or self._parser is None:
            self.excess = True
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # After a whole reply it is only excess: the reply stands and the connection goes.
            self.excess = self.complete
            self.faulty = not self.complete
        if self.until is _LAST_CHUNK:
            self._between_chunks = self._is_between_chunks(data[-1])
        elif is_first:
            self._learn(data)

    def _is_between_chunks(self, last_byte: int) -> bool:
        """Whether the parser stands where a chunk must begin. The last line it told of ended the head or a
        chunk; more than that would have ended another line, of which it had told, or not end in a LF."""
        return self._chunk_is_over and last_byte == _LF and not self.complete and not self.faulty

    def _is_repeat(self, data: memoryview) -> bool:
        """Whether this is a head that came before with its whole body; then the reply is there."""
        pattern = self._memory.pattern
        if pattern is None or self._parser is None:
            return False
        read = bytes(data)
        body_at = pattern.body_at(read)
        if not body_at:
            return False
        memory = self._memory
        memory.was_used = True
        before = memory.reply
        self._head_bytes = len(read)
        self.until = _LENGTH
        self.length = b"%d" % (len(read) - body_at)
        self.reply = Reply(before.status, before.fields.copy(), received=before.received)
        self.pieces.append(read[body_at:])
        self.complete = self.reusable = True
        return True

    def _learn(self, data: memoryview) -> None:
        reply = self.reply
        if (
            reply is not None
            and self.complete
            and self.until is _LENGTH
            and self.reusable
            and not self.excess
        ):
            self._memory.learn(reply, bytes(data), sum(map(len, self.pieces)))

    def end(self) -> bool:
        """The upstream closed its side. Whether that completes the reply."""
        if self.until is Until.CLOSE and not self.complete and not self.faulty:
            self.complete = True
        return self.complete

    # The parser's side: each is called by llhttp as it goes, and must not raise.

    def on_message_begin(self) -> None:
        if self.complete:
            self.excess = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # trailers, which may be discarded (RFC 9110, 6.5.1)
        name = field_name(name)
        if name in _APART:
            apart = self._apart = self._apart or {}
            value = value.rstrip()  # llhttp leaves the blanks that RFC 9112, 5.1 excludes
            apart[name] = apart[name] + b", " + value if name in apart else value
        elif name:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        parser, fields, apart = self._parser, self._fields, self._apart or _NONE
        self._in_head = False
        self._apart = None
        if self.complete or parser is None:
            return
        status = parser.get_status_code()
        if status < 200:
            self._in_head = True
            self._fields = []
            self.faulty = self.faulty or status == 101
            return
        coding = apart.get(b"transfer-encoding")
        length = self.length = apart.get(b"content-length")
        if status == 200 and self._method == b"POST" and coding is None and length and length.isdigit():
            self.until = _LENGTH  # as body_ends says of most replies
        else:
            minor = 1 if coding is None or parser.get_http_version() == "1.1" else 0
            self.until = body_ends(self._method, status, minor, length, coding)
        until = self.until
        self._chunk_is_over = until is _LAST_CHUNK
        if until is None or status > 599:
            self.faulty = True
            return
        self.reusable = until is not _CLOSE and parser.should_keep_alive()
        if b"connection" in apart:
            fields = _end_to_end(fields, apart[b"connection"])
        self.reply = Reply(status, fields)
        if until is _HEAD:
            self.complete = True
            if status not in (204, 304):
                # The parser does not know that this answers a HEAD and waits for a body.
                self._parser = httptools.HttpResponseParser(self)

    def on_body(self, piece: bytes) -> None:
        if self.complete:
            self.excess = True
        else:
            self.pieces.append(piece)

    def on_chunk_header(self) -> None:
        self._chunk_is_over = False

    def on_chunk_complete(self) -> None:
        self._chunk_is_over = True

    def on_message_complete(self) -> None:
        if self.reply is not None:
            self.complete = True


def _end_to_end(fields: list[tuple[bytes, bytes]], connection: bytes) -> list[tuple[bytes, bytes]]:
    if connection.lower() in (b"keep-alive", b"close"):
        return fields
    names = listed(connection)
    return [pair for pair in fields if pair[0] not in names]
