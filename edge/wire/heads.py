"""Heads and chunks as bytes: what is written to upstreams and clients."""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from edge.wire.messages import Reply, Request

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}
STATUS_LINES: Final = {n: b"HTTP/1.1 %d %b" % (n, _REASONS.get(n, b"Status")) for n in range(200, 600)}
"""By status, without CRLF. The upstream's own phrase is not passed on: it means nothing and may hold
anything."""

_BODILESS: Final = frozenset((b"GET", b"HEAD", b"OPTIONS", b"DELETE"))


def host_line(authority: str) -> bytes:
    """The part of a request's head that is the same for a whole cluster, from the version on, without its
    last CRLF."""
    return f" HTTP/1.1\r\nhost: {authority}\r\nvia: 1.1 praxis".encode("ascii")


def request_head(request: Request, prefix: bytes) -> bytes:
    """The head that goes to an upstream; *prefix* is its cluster's `host_line`."""
    body = request.body
    method = request.method
    if not body and method in _BODILESS:
        end = b"\r\n"
    else:
        end = b"content-length: " + str(len(body)).encode() + b"\r\n\r\n"
    first = method + b" " + request.target + prefix
    lines = [b": ".join(field) for field in request.fields.items()]
    return b"\r\n".join([first, *lines, end])


def reply_head(reply: Reply, framing: bytes) -> bytes:
    """The head that goes to the client. *framing*: the lines that say where the body ends and what becomes
    of the connection, whole with their CRLF."""
    lines = [b": ".join(field) for field in reply.fields]
    end = framing + b"\r\n" if reply.local else b"via: 1.1 praxis\r\n" + framing + b"\r\n"
    return b"\r\n".join([STATUS_LINES[reply.status], *lines, end])


def chunk(data: bytes) -> bytes:
    """One chunk; empty for no data, since an empty chunk would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def date(wall_s: float) -> bytes:
    """A Date field's value (RFC 9110, 5.6.7)."""
    return formatdate(wall_s, usegmt=True).encode()
