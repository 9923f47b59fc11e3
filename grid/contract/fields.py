"""Reads typed, bounded fields out of decoded JSON; each refusal has its reason.

The formats' readers say *which* fields there are, this file says what a field may hold. A detail names the
field, never its value.
"""

from __future__ import annotations

from collections.abc import Mapping

from grid.contract.canonical import MAX_SAFE_INTEGER
from grid.contract.instants import read_instant
from grid.contract.overlay import Admission, Credential, Tier, is_identifier
from grid.contract.reasons import OverlayRejected, RejectReason

Json = Mapping[str, object]

_ADMISSIONS = {state.value: state for state in Admission}
_TIERS = {tier.value: tier for tier in Tier}
_CREDENTIAL = {"strategy", "secretRef"}
_SECRET_REF = {"namespace", "name", "key"}


def mapping(value: object, field: str) -> Json:
    if not isinstance(value, dict):
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, f"{field} is not an object")
    return value


def required(owner: Json, field: str) -> object:
    if field not in owner:
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, f"{field} is missing")
    return owner[field]


def text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, f"{field} is not a string")
    return value


def identifier(owner: Json, field: str) -> str:
    value = text(required(owner, field), field)
    if not is_identifier(value):
        raise OverlayRejected(RejectReason.INVALID_IDENTIFIER, field)
    return value


def instant(owner: Json, field: str) -> float:
    try:
        return read_instant(text(required(owner, field), field))
    except ValueError:
        raise OverlayRejected(RejectReason.INVALID_TIMESTAMP, field) from None


def counting(owner: Json, field: str, reason: RejectReason, least: int) -> int:
    """An integer from *least* to 2^53 - 1; 1.0 is not one."""
    value = required(owner, field)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_SAFE_INTEGER:
        raise OverlayRejected(reason, field)
    return value


def flag(owner: Json, field: str, default: bool) -> bool:
    value = owner.get(field, default)
    if not isinstance(value, bool):
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, f"{field} is not true or false")
    return value


def score(owner: Json) -> float | None:
    value = owner.get("score")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, "score is not a number")
    return float(value)


def admission(owner: Json) -> Admission:
    found = _ADMISSIONS.get(text(required(owner, "admission_state"), "admission_state"))
    if found is None:
        raise OverlayRejected(RejectReason.UNKNOWN_ADMISSION_STATE)
    return found


def tier(owner: Json) -> Tier:
    found = _TIERS.get(text(required(owner, "selection_tier"), "selection_tier"))
    if found is None:
        raise OverlayRejected(RejectReason.UNKNOWN_SELECTION_TIER)
    return found


def credential(owner: Json) -> Credential | None:
    """The one closed object of the format: an unknown field there might be a token somebody put in."""
    if owner.get("credential") is None:
        return None
    reference = _closed(owner["credential"], _CREDENTIAL, "credential")
    secret = _closed(required(reference, "secretRef"), _SECRET_REF, "secretRef")
    return Credential(
        strategy=identifier(reference, "strategy"),
        namespace=identifier(secret, "namespace"),
        name=identifier(secret, "name"),
        key=identifier(secret, "key"),
    )


def _closed(value: object, known: set[str], field: str) -> Json:
    found = mapping(value, field)
    if found.keys() - known:
        raise OverlayRejected(RejectReason.INVALID_CREDENTIAL, f"{field} holds more than a reference")
    return found
