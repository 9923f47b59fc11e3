"""What a gateway says of itself at `/status`: one closed schema, the operator its reader.

`accepted` is the last overlay that passed `parse`; `serving` is the one requests are routed by. They differ
only between the two, or when an accepted overlay may not be used (expired under a hard policy, draining).
From them the operator tells "distributed" from "accepted" from "serving".

Nothing here proves who answers: the operator pins the certificate of the connection, never a told value.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from grid.contract.reasons import RejectReason

# 1,024 capabilities with names of 256 bytes, each of which JSON may double, are 600 KiB; a reader stops here.
MAX_STATUS_BYTES = 1024 * 1024


class NotReady(StrEnum):
    """Why a gateway takes itself out of its traffic manager."""

    NO_LISTENER = "no_listener"
    NO_OVERLAY = "no_overlay"
    OVERLAY_AGED = "overlay_aged"
    OVERLAY_EXPIRED = "overlay_expired"
    NO_COVERAGE = "no_coverage"
    TLS_MISSING = "tls_missing"
    AUTH_MISSING = "auth_missing"
    DRAINING = "draining"


class Loaded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One overlay as the gateway holds it. Instants are Unix seconds by the gateway's clock.

    revision: None for a format that does not count. label: what requests are stamped with.
    """

    revision: int | None
    label: str
    digest: str
    generated_at: float | None
    valid_until: float | None
    accepted_at: float
    candidates: int


class Rejection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last document refused."""

    reason: RejectReason
    at: float


class Coverage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """routes: capabilities with a candidate. open: those of them open to new work. missing: required by the
    gateway's configuration and not open."""

    routes: int
    open: int
    missing: int


class Covered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One capability. candidates: those the gateway has a cluster for. open: those that take new work."""

    kind: str
    name: str
    candidates: int
    open: int


class GatewayStatus(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """age_s: seconds since an overlay was last accepted or refreshed; None before the first. covered: each
    capability of the overlay, in its order. bindings: sessions held to a candidate."""

    api_version: Literal["grid.praxis.fast/status/v1alpha1"] = "grid.praxis.fast/status/v1alpha1"
    network: str
    gateway: str
    site: str
    ready: bool
    not_ready: tuple[NotReady, ...]
    draining: bool
    accepted: Loaded | None
    serving: Loaded | None
    age_s: float | None
    rejections: int
    last_rejection: Rejection | None
    coverage: Coverage
    covered: tuple[Covered, ...] = ()
    bindings: int = 0


class StatusRejected(Exception):
    """An answer is not a gateway's status; what was known of the gateway before stays."""


def read_status(data: bytes) -> GatewayStatus:
    """The status in *data*. Raises StatusRejected for anything else, and for over 1 MiB."""
    if len(data) > MAX_STATUS_BYTES:
        raise StatusRejected(f"{len(data)} bytes, at most {MAX_STATUS_BYTES}")
    try:
        return msgspec.json.decode(data, type=GatewayStatus)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as fault:
        raise StatusRejected(str(fault)) from None


def write_status(status: GatewayStatus) -> bytes:
    """One JSON object on one line."""
    return msgspec.json.encode(status)
