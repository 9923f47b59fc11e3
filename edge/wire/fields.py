"""Field names: lower-cased once, and the sets of names that never travel on.

Names repeat from request to request, so the lower-case form is looked up and not made. The table is bounded:
names invented by a client beyond it are merely lower-cased each time.
"""

from __future__ import annotations

from typing import Final

HOP_BY_HOP: Final = (
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"http2-settings",
)
"""For one connection only (RFC 9110, 7.6.1), beside the names Connection lists."""


_MAX__known = 4096
_MAX_NAME_BYTES: Final = 64

_known: dict[bytes, bytes] = {}
"""Name as sent -> lower case; b"" for a name that is dropped."""


def field_name(name: bytes) -> bytes:
    """The lower-case form, or b"" for a name that must not travel on."""
    known = _known.get(name)
    return _lower(name) if known is None else known


def _lower(name: bytes) -> bytes:
    """The same, looked at for the first time.

    A name with an underscore is dropped, as nginx does: CGI-like backends read X_Model and X-Model as one,
    and a client could put its own value in the place of ours.
    """
    lowered = b"" if b"_" in name else name.lower()
    if len(_known) < _MAX__known and len(name) <= _MAX_NAME_BYTES:
        _known[name] = lowered
    return lowered


def listed(connection: bytes) -> tuple[bytes, ...]:
    """The field names a Connection value lists, lower case: options of this connection, not to be passed
    on."""
    return tuple(option.strip().lower() for option in connection.split(b","))


for _name in (
    *("Host", "User-Agent", "Accept", "Accept-Encoding", "Authorization", "Content-Type", "Content-Length"),
    *("Connection", "Date", "Server", "Transfer-Encoding", "Cache-Control", "X-Request-Id", "Traceparent"),
):
    _lower(_name.encode())
    _lower(_name.lower().encode())
