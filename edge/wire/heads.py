"""Heads and chunks as bytes: what is written to upstreams and clients."""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus

from edge.wire.messages import Reply, Request

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

_LINE = b": ".join
"""A field's line, without its CRLF, from (name, value)."""

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}
STATUS_LINES = {n: b"HTTP/1.1 %d %b" % (n, _REASONS.get(n, b"Status")) for n in range(200, 600)}
"""By status, without CRLF. The upstream's own phrase is not passed on: it means nothing and may hold
anything."""

_BODILESS = frozenset((b"GET", b"HEAD", b"OPTIONS", b"DELETE"))


def host_line(authority: str) -> bytes:
    """The part of a request's head that is the same for a whole cluster, from the version on, without its
    last CRLF."""
    return f" HTTP/1.1\r\nhost: {authority}\r\nvia: 1.1 praxis".encode("ascii")


def request_head(request: Request, prefix: bytes) -> bytes:
    """The head that goes to an upstream; *prefix* is its cluster's `host_line`."""
    body = request.body
    end = b"\r\n" if not body and request.method in _BODILESS else b"content-length: %d\r\n\r\n" % len(body)
    first = b"%b %b%b" % (request.method, request.target, prefix)
    return b"\r\n".join((first, *map(_LINE, request.fields.items()), end))


def reply_head(reply: Reply, framing: bytes) -> bytes:
    """The head that goes to the client. *framing*: the lines that say where the body ends and what becomes
    of the connection, whole with their CRLF."""
    end = b"%b\r\n" if reply.local else b"via: 1.1 praxis\r\n%b\r\n"
    return b"\r\n".join((STATUS_LINES[reply.status], *map(_LINE, reply.fields), end % framing))


def chunk(data: bytes) -> bytes:
    """One chunk; empty for no data, since an empty chunk would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def date(wall_s: float) -> bytes:
    """A Date field's value (RFC 9110, 5.6.7)."""
    return formatdate(wall_s, usegmt=True).encode()
