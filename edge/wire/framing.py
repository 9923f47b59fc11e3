"""The framing rules: what the parser accepts and a gateway must not, as one table with its sources.

llhttp already refuses bare CR and LF, folded lines, spaces before the colon, control characters, two
lengths, a length beside a transfer coding and malformed chunks. What it lets pass is judged here, when a
head is complete and before anybody acts on it. A request that breaks a rule is answered and the connection
closed: where its end is cannot be known. A reply that breaks one is a 502 and its connection is never used
again.

Rules with a `field` are only asked when that field is there, so an ordinary request pays for five.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from edge.wire.faults import LocalFault
from edge.wire.fields import HOP_BY_HOP, listed
from edge.wire.limits import Limits
from edge.wire.messages import Request

METHODS: Final = frozenset((b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"))

_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._~%!$&'()*+;=-]{1,255})(?::[0-9]{1,5})?")
_MAX_LENGTH_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class Rule:
    """source: the paragraph it follows. breaks: True when this head must be refused. field: only asked when
    this field is present; None is always asked."""

    source: str
    fault: LocalFault
    breaks: Callable[[Request, Limits], bool]
    field: bytes | None = None


def _is_length(value: bytes) -> bool:
    return value.isdigit() and len(value) <= _MAX_LENGTH_DIGITS


def _has_no_single_host(request: Request, _: Limits) -> bool:
    if b"host" in request.repeated:
        return True
    host = request.fields.get(b"host")
    if host is None:
        return request.minor > 0
    return host not in _seen_hosts and not _is_host(host)


_SLASH: Final = 0x2F
_seen_hosts: set[bytes] = set()


def _is_host(host: bytes) -> bool:
    if not _HOST.fullmatch(host):
        return False
    if len(_seen_hosts) < 1024:
        _seen_hosts.add(host)
    return True


def _is_not_origin_form(request: Request, _: Limits) -> bool:
    target = request.target
    if target[:1] != b"/":
        return not (target == b"*" and request.method == b"OPTIONS")
    return b"#" in target


def _does_not_end_in_chunked(request: Request, _: Limits) -> bool:
    return _codings(request)[-1] != b"chunked" or _codings(request).count(b"chunked") > 1


def _codings(request: Request) -> list[bytes]:
    return [coding.strip().lower() for coding in request.fields[b"transfer-encoding"].split(b",")]


RULES: tuple[Rule, ...] = (
    Rule(
        "RFC 9110, 15.6.6",
        LocalFault(505, "http_version_not_supported", "Only HTTP/1.1 and HTTP/1.0 are spoken here."),
        lambda request, _: request.minor not in (0, 1),
    ),
    Rule(
        "RFC 9110, 9.1 and 9.3.6",
        LocalFault(501, "method_not_supported", "This method is not supported."),
        lambda request, _: request.method not in METHODS,
    ),
    Rule(
        "RFC 9112, 3",
        LocalFault(414, "uri_too_long", "The request target is too long."),
        lambda request, limits: len(request.target) > limits.target_bytes,
    ),
    Rule(
        "RFC 9112, 3.2.2: a gateway is no forward proxy; an absolute target could name another host",
        LocalFault(400, "bad_target", "The request target must be a path."),
        _is_not_origin_form,
    ),
    Rule(
        "RFC 9112, 3.2",
        LocalFault(400, "bad_host", "Exactly one valid Host field is needed."),
        _has_no_single_host,
    ),
    Rule(
        "RFC 6585, 5",
        LocalFault(431, "too_many_fields", "The request has too many header fields."),
        lambda request, limits: len(request.fields) > limits.fields,
    ),
    Rule(
        "RFC 9112, 6.1: faulty framing",
        LocalFault(400, "bad_framing", "Transfer-Encoding needs HTTP/1.1."),
        lambda request, _: request.minor == 0,
        field=b"transfer-encoding",
    ),
    Rule(
        "RFC 9112, 6.1 and 6.3, 3",
        LocalFault(400, "bad_framing", "A message has a length or a transfer coding, not both."),
        lambda request, _: b"content-length" in request.fields,
        field=b"transfer-encoding",
    ),
    Rule(
        "RFC 9112, 6.3, 4: the length cannot be determined",
        LocalFault(400, "bad_framing", "The last transfer coding must be chunked, once."),
        _does_not_end_in_chunked,
        field=b"transfer-encoding",
    ),
    Rule(
        "RFC 9112, 6.1: a coding that is not understood",
        LocalFault(501, "transfer_coding_not_supported", "The only transfer coding supported is chunked."),
        lambda request, _: len(_codings(request)) > 1,
        field=b"transfer-encoding",
    ),
    Rule(
        "RFC 9112, 6.3, 5",
        LocalFault(400, "bad_framing", "Content-Length must be one number."),
        lambda request, _: (
            b"content-length" in request.repeated or not _is_length(request.fields[b"content-length"])
        ),
        field=b"content-length",
    ),
    Rule(
        "RFC 9110, 10.1.1",
        LocalFault(417, "expectation_failed", "The only expectation supported is 100-continue."),
        lambda request, _: request.minor > 0 and request.fields[b"expect"].lower() != b"100-continue",
        field=b"expect",
    ),
    Rule(
        "RFC 9110, 7.8: refused rather than ignored, so that nobody waits for a handshake",
        LocalFault(501, "upgrade_not_supported", "Protocol upgrades are not supported."),
        lambda _, __: True,
        field=b"upgrade",
    ),
)

_ALWAYS: Final = tuple((rule.breaks, rule.fault) for rule in RULES if rule.field is None)
_BY_FIELD: Final = tuple((rule.field, rule.breaks, rule.fault) for rule in RULES if rule.field is not None)
_FIELDS: Final = frozenset(rule.field for rule in RULES if rule.field is not None)


def judge(request: Request, limits: Limits) -> LocalFault | None:
    """The fault of the first rule this head breaks, or None. Nothing is changed."""
    for breaks, fault in _ALWAYS:
        if breaks(request, limits):
            return fault
    fields = request.fields
    if not _FIELDS.isdisjoint(fields):
        for field, breaks, fault in _BY_FIELD:
            if field in fields and breaks(request, limits):
                return fault
    return None


_UNUSUAL: Final = frozenset((*HOP_BY_HOP, b"expect"))


def settle_plain(request: Request, limits: Limits) -> bool:
    """`judge` and `settle` in one pass for the ordinary request: HTTP/1.1 without options, a path, a host
    seen before, perhaps a length. False, and nothing changed, for any other; then the rules have to be asked.

    The caller vouches for HTTP/1.1 and for fields that are not repeated.
    """
    fields, target = request.fields, request.target
    if (
        b"host" not in fields
        or fields[b"host"] not in _seen_hosts
        or request.method not in METHODS
        or target[0] != _SLASH
        or b"#" in target
        or len(target) > limits.target_bytes
        or len(fields) > limits.fields
        or not _UNUSUAL.isdisjoint(fields)
    ):
        return False
    if b"content-length" in fields:
        length = fields[b"content-length"]
        if not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS:
            return False
        request.declared_length = int(length)
        del fields[b"content-length"]
    request.host = fields.pop(b"host")
    return True


def settle(request: Request) -> bool:
    """Take the framing and hop-by-hop fields out of a judged head: host and declared_length are set from
    them.

    Whether the client waits for 100 Continue.
    """
    fields = request.fields
    request.host = fields.pop(b"host", b"")
    length = fields.pop(b"content-length", None)
    if length is not None:
        request.declared_length = int(length)
    elif b"transfer-encoding" in fields:
        request.declared_length = -1
    expects = fields.pop(b"expect", None) is not None and request.minor > 0
    connection = fields.get(b"connection")
    if connection is not None and connection.lower() not in (b"keep-alive", b"close"):
        for name in listed(connection):
            fields.pop(name, None)
    for name in HOP_BY_HOP:
        if name in fields:
            del fields[name]
    return expects


class Until(Enum):
    """Where a reply's body ends (RFC 9112, 6.3)."""

    HEAD = auto()  # there is none
    LENGTH = auto()
    LAST_CHUNK = auto()
    CLOSE = auto()


def body_ends(
    method: bytes, status: int, minor: int, length: bytes | None, coding: bytes | None
) -> Until | None:
    """Where the body of a reply to *method* ends; None when its framing must not be trusted.

    length, coding: the Content-Length and Transfer-Encoding values, joined by ", " when repeated.
    """
    if length is not None and (coding is not None or not _is_length(length)):
        return None
    if coding is not None and (minor == 0 or coding.lower() != b"chunked"):
        return None
    if method == b"HEAD" or status in (204, 304):
        return Until.HEAD
    if coding is not None:
        return Until.LAST_CHUNK
    return Until.LENGTH if length is not None else Until.CLOSE
