"""One reader a document format. Each takes decoded JSON and returns an Overlay or raises OverlayRejected.

v1alpha2 is the format Grid writes. The 1.0.0 envelope and the flat one are what gateways may still hold from
earlier control planes; they are read with their own rules, never guessed at with another format's.
"""

from __future__ import annotations

from grid.contract import fields
from grid.contract.candidates import lenient, not_empty, read_candidates, strict
from grid.contract.canonical import canonical
from grid.contract.digest import PREFIX, content_digest, sha256
from grid.contract.names import OVERLAY_V1ALPHA1, OVERLAY_V1ALPHA2
from grid.contract.overlay import Format, Overlay
from grid.contract.reasons import OverlayRejected, RejectReason

# What the envelope's digest covers; there a score is part of it.
_ENVELOPE_COVERED = ("candidates", "local_site", "network")


def read_v1alpha2(document: fields.Json) -> Overlay:
    """Unknown fields are tolerated, and covered by the digest where it covers their owner."""
    if document["api_version"] != OVERLAY_V1ALPHA2:
        raise OverlayRejected(RejectReason.UNSUPPORTED_SCHEMA_VERSION, "api_version")
    consumer = fields.mapping(fields.required(document, "consumer"), "consumer")
    overlay = Overlay(
        format=Format.V1ALPHA2,
        grid_id=fields.identifier(document, "grid_id"),
        network=fields.identifier(document, "network"),
        gateway=fields.identifier(consumer, "gateway"),
        site=fields.identifier(consumer, "site"),
        revision=fields.counting(document, "revision", RejectReason.INVALID_REVISION, least=1),
        digest=content_digest(document),
        generated_at=(generated_at := fields.instant(document, "generated_at")),
        valid_until=(valid_until := fields.instant(document, "valid_until")),
        candidates=read_candidates(document, strict),
    )
    if valid_until <= generated_at:
        raise OverlayRejected(RejectReason.INVALID_VALIDITY, "valid_until is not after generated_at")
    if fields.text(fields.required(document, "content_digest"), "content_digest") != overlay.digest:
        raise OverlayRejected(RejectReason.DIGEST_MISMATCH)
    return overlay


def read_envelope(document: fields.Json) -> Overlay:
    """The 1.x envelope round a flat payload: scope, content-addressed revision, digest."""
    version = fields.text(document["schema_version"], "schema_version")
    if not version.startswith("1."):
        raise OverlayRejected(RejectReason.UNSUPPORTED_SCHEMA_VERSION, "schema_version")
    revision = fields.mapping(fields.required(document, "revision"), "revision")
    stated = fields.mapping(fields.required(document, "content_digest"), "content_digest")
    scope = fields.mapping(fields.required(document, "scope"), "scope")
    payload = fields.mapping(fields.required(document, "overlay"), "overlay")
    overlay = Overlay(
        format=Format.ENVELOPE,
        network=fields.identifier(payload, "network"),
        gateway=fields.identifier(scope, "gateway"),
        namespace=fields.identifier(scope, "namespace"),
        site=fields.identifier(payload, "local_site"),
        digest=_payload_digest(payload),
        generated_at=_optional_instant(payload, "generated_at"),
        candidates=not_empty(read_candidates(payload, lenient)),
    )
    for field, inside in (("network", overlay.network), ("local_site", overlay.site)):
        if fields.identifier(scope, field) != inside:
            raise OverlayRejected(RejectReason.SCOPE_MISMATCH, f"scope.{field} is not the overlay's")
    # The digest first: a document whose digest is wrong says nothing true about its revision.
    if _sha256_value(stated) != overlay.digest:
        raise OverlayRejected(RejectReason.DIGEST_MISMATCH)
    if _sha256_value(revision) != overlay.digest:
        raise OverlayRejected(RejectReason.REVISION_DIGEST_MISMATCH)
    return overlay


def read_flat(document: fields.Json) -> Overlay:
    """The flat format; its writers differed in which of version, network and time they stated."""
    if document.get("apiVersion", OVERLAY_V1ALPHA1) != OVERLAY_V1ALPHA1:
        raise OverlayRejected(RejectReason.UNSUPPORTED_SCHEMA_VERSION, "apiVersion")
    if "revision" in document:
        fields.identifier(document, "revision")
    stamp = "generatedAt" if "generatedAt" in document else "generated_at"
    return Overlay(
        format=Format.FLAT,
        network=fields.identifier(document, "network") if "network" in document else "",
        gateway="",
        site=fields.identifier(document, "local_site"),
        digest=_payload_digest(document),
        generated_at=_optional_instant(document, stamp),
        candidates=not_empty(read_candidates(document, lenient)),
    )


def _payload_digest(payload: fields.Json) -> str:
    return sha256(canonical({name: payload[name] for name in _ENVELOPE_COVERED if name in payload}))


def _sha256_value(owner: fields.Json) -> str:
    """The digest an envelope states, in this contract's spelling."""
    if fields.text(fields.required(owner, "algorithm"), "algorithm") != "sha256":
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, "algorithm is not sha256")
    return PREFIX + fields.text(fields.required(owner, "value"), "value")


def _optional_instant(owner: fields.Json, field: str) -> float | None:
    return None if owner.get(field) is None else fields.instant(owner, field)
