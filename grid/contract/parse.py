"""Bytes to an Overlay, or OverlayRejected with its reason; never anything else.

    size, JSON, bounds -> format -> fields, candidates, digest -> scope -> clock and history

The operator, overlay-sync and the gateway accept with this one function, so a document one of them takes is
one that all of them take. Expiry is not looked at: an expired overlay is well formed, and what becomes of its
routes is the gateway's policy.
"""

from __future__ import annotations

from grid.contract import fields
from grid.contract.formats import read_envelope, read_flat, read_v1alpha2
from grid.contract.overlay import CLOCK_SKEW_S, Format, Overlay, Scope
from grid.contract.reasons import OverlayRejected, RejectReason
from grid.contract.strict_json import decode

ANYBODY = Scope()

# Any of these says "I am an envelope"; without its version such a document is refused, not read as flat.
_ENVELOPE_FIELDS = frozenset(
    {"content_digest", "scope", "provenance", "overlay", "grid_id", "consumer", "valid_until"}
)


def parse(
    data: bytes,
    *,
    expected: Scope = ANYBODY,
    previous: Overlay | None = None,
    now: float | None = None,
) -> Overlay:
    """The overlay in *data*.

    previous: the overlay accepted before, for the rules on revisions; None if there is none.
    now: the reader's clock in Unix seconds; None leaves skew unchecked.
    Raises OverlayRejected; what was accepted before is not touched by it.
    """
    overlay = _read(fields.mapping(decode(data), "document"))
    _check_scope(overlay, expected)
    _check_clock(overlay, now)
    _check_history(overlay, previous)
    return overlay


def _read(document: fields.Json) -> Overlay:
    if "api_version" in document and "schema_version" in document:
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, "two formats at once")
    if "api_version" in document:
        return read_v1alpha2(document)
    if "schema_version" in document:
        return read_envelope(document)
    if document.keys() & _ENVELOPE_FIELDS or isinstance(document.get("revision"), dict):
        raise OverlayRejected(RejectReason.MISSING_SCHEMA_VERSION)
    return read_flat(document)


def _check_scope(overlay: Overlay, expected: Scope) -> None:
    """What a format does not carry (a flat one its gateway) cannot disagree."""
    for part, found, wanted in (
        ("network", overlay.network, expected.network),
        ("gateway", overlay.gateway, expected.gateway),
        ("site", overlay.site, expected.site),
    ):
        if found and wanted and found != wanted:
            raise OverlayRejected(RejectReason.SCOPE_MISMATCH, f"another {part}'s")


def _check_clock(overlay: Overlay, now: float | None) -> None:
    """Only v1alpha2 states times its readers act on."""
    if now is None or overlay.format is not Format.V1ALPHA2 or overlay.generated_at is None:
        return
    if overlay.generated_at > now + CLOCK_SKEW_S:
        raise OverlayRejected(RejectReason.CLOCK_SKEW, "generated in the future")


def _check_history(overlay: Overlay, previous: Overlay | None) -> None:
    """An old document must not come back; a new writer that starts counting afresh may."""
    if previous is None or previous.revision is None or overlay.revision is None:
        return
    newer = (overlay.generated_at or 0) > (previous.generated_at or 0)
    if overlay.revision == previous.revision and overlay.digest != previous.digest and not newer:
        raise OverlayRejected(RejectReason.REVISION_CONFLICT)
    older = (overlay.generated_at or 0) < (previous.generated_at or 0)
    if overlay.revision < previous.revision and older:
        raise OverlayRejected(RejectReason.REVISION_ROLLBACK)
