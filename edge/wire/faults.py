"""The two families of things that go wrong on the wire: the client's side and the upstream's side.

A LocalFault is about the request in hand (bad framing, too large, too slow) and carries the status it earns.
A RemoteFault is about an upstream and says the one thing failover needs: whether a byte of the request may
have left. Both are values the engine passes on, seldom raised; codes are closed sets, fit for labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class LocalFault:
    """status: what the client is told. code: snake_case, for error bodies and labels. why: one sentence.
    param: the field at fault, in OpenAI's sense, when there is one. retry_after_s: for 429 and 503."""

    status: int
    code: str
    why: str
    param: str | None = None
    retry_after_s: int | None = None


class Cause(StrEnum):
    """Why an upstream exchange failed."""

    NO_ENDPOINT = "no_endpoint"  # none healthy, or all tried
    FULL = "full"  # the cluster's connection cap is reached
    REFUSED = "connect_failed"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS = "tls_failed"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    RESET = "reset"  # closed or reset before its answer was whole
    PROTOCOL = "protocol"  # an answer we must not pass on
    UNSENT = "unsent"  # a trusted hop says that it sent nothing on


TIMEOUTS = frozenset(
    (Cause.CONNECT_TIMEOUT, Cause.FIRST_BYTE_TIMEOUT, Cause.IDLE_TIMEOUT, Cause.TOTAL_TIMEOUT)
)
UNAVAILABLE = frozenset((Cause.NO_ENDPOINT, Cause.FULL, Cause.UNSENT))


@dataclass(frozen=True, slots=True)
class RemoteFault:
    """unsent: True when certainly no byte of the request reached the upstream, so that another may be tried.
    endpoint: "host:port" when one was chosen; for logs, never for clients."""

    cause: Cause
    unsent: bool
    endpoint: str | None = None

    @property
    def status(self) -> int:
        """504 for our own timeouts, 503 when nobody could be asked, else 502."""
        if self.cause in TIMEOUTS:
            return 504
        return 503 if self.cause in UNAVAILABLE else 502


class End(StrEnum):
    """How a request ended, told once to whoever decided it."""

    COMPLETE = "complete"  # the answer was handed to the kernel whole
    CLIENT_GONE = "client_gone"
    CLIENT_STALLED = "client_stalled"  # it stopped reading and its time ran out
    UPSTREAM_BROKE = "upstream_broke"  # after the head was sent
    DRAINED = "drained"  # cut at the drain's hard end
