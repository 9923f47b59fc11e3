"""Why a document was refused: one closed set, shared by the operator, overlay-sync and the gateway.

The values are metric labels and status fields, so they are few, bounded, and never carry a part of the
document. What exactly was wrong is the error's `detail`, for a log line.
"""

from __future__ import annotations

from enum import StrEnum


class RejectReason(StrEnum):
    """In the order a reader finds them: bytes, JSON, format, fields, candidates, digests, scope, history."""

    MISSING_KEY = "missing_key"
    EMPTY = "empty"
    OVERSIZED = "oversized"
    MALFORMED_JSON = "malformed_json"
    DUPLICATE_KEY = "duplicate_key"
    TOO_COMPLEX = "too_complex"
    MALFORMED_STRUCTURE = "malformed_structure"
    MISSING_SCHEMA_VERSION = "missing_schema_version"
    UNSUPPORTED_SCHEMA_VERSION = "unsupported_schema_version"
    INVALID_IDENTIFIER = "invalid_identifier"
    INVALID_REVISION = "invalid_revision"
    INVALID_TIMESTAMP = "invalid_timestamp"
    INVALID_VALIDITY = "invalid_validity"
    TOO_MANY_CANDIDATES = "too_many_candidates"
    NO_CANDIDATES = "no_candidates"
    UNKNOWN_ADMISSION_STATE = "unknown_admission_state"
    UNKNOWN_SELECTION_TIER = "unknown_selection_tier"
    INVALID_RANK = "invalid_rank"
    INVALID_CREDENTIAL = "invalid_credential"
    DUPLICATE_CANDIDATE = "duplicate_candidate"
    DUPLICATE_STABLE_ID = "duplicate_stable_id"
    DUPLICATE_RANK = "duplicate_rank"
    STABLE_ID_MISMATCH = "stable_id_mismatch"
    DIGEST_MISMATCH = "digest_mismatch"
    REVISION_DIGEST_MISMATCH = "revision_digest_mismatch"
    SCOPE_MISMATCH = "scope_mismatch"
    CLOCK_SKEW = "clock_skew"
    REVISION_ROLLBACK = "revision_rollback"
    REVISION_CONFLICT = "revision_conflict"


class OverlayRejected(Exception):
    """A document is not an overlay its reader may use. Whatever was accepted before stays in force.

    detail: what was wrong and where, in words; bounded, and without any value of the document.
    """

    def __init__(self, reason: RejectReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail
