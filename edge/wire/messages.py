"""What travels: a request, a reply's head, a local response, as values the filters read and change.

Field names are lower-case bytes everywhere. The engine has taken out what belongs to one hop only
(Connection and the names it lists, Transfer-Encoding, TE, Upgrade, ...), the framing fields and Host
before a filter looks, and writes its own when it sends; a filter can therefore never break framing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_UNSAFE_VALUE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_TOKEN: Final = re.compile(rb"[a-z0-9!#$%&'*+.^_`|~-]+")

FRAMING_FIELDS: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"connection", b"host", b"trailer", b"te")
)
"""Fields the engine alone writes; a filter that sets one has a bug."""


_MOST_SETS: Final = 256  # of names; upstreams have a handful in earnest

NOTHING: frozenset[bytes] = frozenset()


class UnsafeField(ValueError):
    """A field name or value that would break the head it is written into. Nothing was changed."""


def check_field(name: bytes, value: bytes) -> None:
    """Raises UnsafeField for a name that is not a lower-case token, a framing field, or a value with a
    control character (RFC 9110, 5.5): the door through which a rewritten value could inject a field."""
    if name in FRAMING_FIELDS or not _TOKEN.fullmatch(name):
        raise UnsafeField(f"{name!r} may not be set")
    if _UNSAFE_VALUE.search(value):
        raise UnsafeField(f"the value of {name!r} holds a control character")


class Request:
    """A request as received, without its hop-by-hop fields.

    method: as sent, upper case. target: origin-form as sent (path and query), never decoded.
    minor: the x of HTTP/1.x. host: the Host field, empty only for HTTP/1.0 without one.
    fields: end-to-end fields by name; lines of one name are joined by ", " and listed in *repeated*.
    declared_length: Content-Length; 0 without a body; -1 when chunked, until the whole body is there.
    body: empty until it is whole, which is before body-phase filters run, and again once a reply has begun.
    """

    __slots__ = ("body", "declared_length", "fields", "host", "method", "minor", "repeated", "target")

    def __init__(self, target: bytes = b"") -> None:
        self.method = b""
        self.target = target
        self.fields: dict[bytes, bytes] = {}
        self.minor = 1
        self.host = b""
        self.repeated: frozenset[bytes] = NOTHING
        self.declared_length = 0
        self.body: bytes | bytearray = b""

    @property
    def path(self) -> bytes:
        """The target up to the query, as sent."""
        return self.target.partition(b"?")[0]

    def set(self, name: bytes, value: bytes) -> None:
        """Replace field *name* (lower case). Raises UnsafeField; then nothing was changed."""
        check_field(name, value)
        self.fields[name] = value

    def remove(self, name: bytes) -> None:
        """Take field *name* out, if it is there."""
        self.fields.pop(name, None)


class Reply:
    """The head of an answer on its way to the client; filters may change it before it is written.

    fields: in order, names lower case, repeated names kept apart (Set-Cookie).
    local: True when this gateway made the answer, False when an upstream did.
    received: the names the upstream sent, whatever became of them since; empty for a local answer. Replies of
    one upstream share the set, so what a filter has found about it can be remembered.
    """

    __slots__ = ("fields", "local", "received", "status")

    def __init__(
        self,
        status: int,
        fields: list[tuple[bytes, bytes]],
        local: bool = False,
        received: frozenset[bytes] | None = None,
    ) -> None:
        self.status = status
        self.fields = fields
        self.local = local
        if received is None:
            received = NOTHING if local else frozenset([name for name, _ in fields])
        self.received = received

    def get(self, name: bytes) -> bytes | None:
        """The first value of *name* (lower case), None when absent."""
        for key, value in self.fields:
            if key == name:
                return value
        return None

    def add(self, name: bytes, value: bytes) -> None:
        """One more field line. Raises UnsafeField; then nothing was changed."""
        check_field(name, value)
        self.fields.append((name, value))

    def set(self, name: bytes, value: bytes) -> None:
        """Replace every line of *name* by one. Raises UnsafeField; then nothing was changed."""
        check_field(name, value)
        self.remove(name)
        self.fields.append((name, value))

    def remove(self, name: bytes) -> None:
        """Take every line of *name* out."""
        self.fields = [pair for pair in self.fields if pair[0] != name]


class Beginning(dict[frozenset[bytes], frozenset[bytes]]):
    """names of a reply, as received -> those that begin with one of *prefixes*; looked through once a set."""

    __slots__ = ("_prefixes",)

    def __init__(self, *prefixes: bytes) -> None:
        super().__init__()
        self._prefixes = prefixes

    def __missing__(self, received: frozenset[bytes]) -> frozenset[bytes]:
        found = frozenset(name for name in received if name.startswith(self._prefixes))
        if len(self) < _MOST_SETS:
            self[received] = found
        return found


@dataclass(frozen=True, slots=True)
class Response:
    """An answer made here: a refusal, a static page. The engine adds Date, Content-Length and Connection.

    fields: names lower case. close: end the connection after it, whatever the client asked for.
    """

    status: int
    body: bytes = b""
    fields: tuple[tuple[bytes, bytes], ...] = field(default=())
    close: bool = False
