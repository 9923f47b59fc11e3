"""Why a patch was refused, ready to be made into a Status. Nothing was changed."""

from __future__ import annotations

from forge.embedded.api.schema.causes import in_go_plain
from forge.embedded.api.schema.model import JSON, Cause


class PatchRejected(Exception):
    """message, code, reason: of the Status. details: None where it has none, {} where empty."""

    def __init__(self, message: str, code: int, reason: str = "", details: JSON | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.details = details


def undecodable(detail: str) -> PatchRejected:
    """The body is no patch at all."""
    return PatchRejected(f"error decoding patch: {detail}", 400, "BadRequest")


def too_deep() -> PatchRejected:
    """The patch, or what it makes, is nested deeper than can be handled."""
    return undecodable("exceeded max depth")


def inapplicable() -> PatchRejected:
    """An operation does not fit the object; the server says no more than that."""
    message = "the server rejected our request due to an error in our request"
    return PatchRejected(message, 422, "Invalid", {})


def broken(detail: str) -> PatchRejected:
    """What the server answers with 500 and the error's bare text."""
    return PatchRejected(detail, 500)


def unrestorable(patch: object, detail: str) -> PatchRejected:
    """The patched object is not of its type any more."""
    message = f'Invalid value: "{in_go_plain(patch)}": {detail}'
    cause = Cause("patch", "FieldValueInvalid", message)
    return PatchRejected(f' "" is invalid: patch: {message}', 422, "Invalid", {"causes": [cause.as_json()]})


def json_kind(value: object) -> str:
    """How Go's decoder calls a JSON value it did not expect."""
    if isinstance(value, bool):
        return "bool"
    kinds = ((dict, "object"), (list, "array"), (str, "string"), ((int, float), "number"))
    return next((word for types, word in kinds if isinstance(value, types)), "null")
