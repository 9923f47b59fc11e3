"""What the API answers when it refuses: Status objects in the words of the real server.

An ApiError is raised where a request is found wanting and becomes a Status at the border. Raising
one always means that nothing was changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Protocol

from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json


class Faulty(Protocol):
    """What any list of causes holds: field, reason and message."""

    @property
    def field(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...


class ApiError(Exception):
    """A refused request. details: None leaves the field out of the Status.

    retry_after: seconds for the header of that name. text: a plain text answer in place of a Status.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Json | None = None,
        *,
        retry_after: int = 0,
        text: bool = False,
        proceed: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after
        self.text = text
        self.proceed = proceed

    def status(self) -> Json:
        """The Status object, as it goes over the wire."""
        metadata = {"continue": self.proceed} if self.proceed else {}
        body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": metadata}
        body |= {"status": "Failure", "message": self.message}
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def qualified(kind: str, group: str) -> str:
    """`gadgets.demo.test`; the core group has no suffix."""
    return f"{kind}.{group}" if group else kind


def _details(name: str, group: str, kind: str) -> Json:
    parts = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in parts.items() if value}


def not_found(group: str, plural: str, name: str) -> ApiError:
    message = f'{qualified(plural, group)} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(name, group, plural))


def already_exists(group: str, plural: str, name: str, *, leaving: bool = False) -> ApiError:
    message = f'{qualified(plural, group)} "{name}" already exists'
    if leaving:
        message = f"object is being deleted: {message}"
    return ApiError(409, "AlreadyExists", message, _details(name, group, plural))


def conflict(group: str, kind: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(kind, group)} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(name, group, kind))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def internal(message: str) -> ApiError:
    return ApiError(500, "", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, why: str) -> ApiError:
    subject = qualified(plural, group) + (f' "{name}"' if name else "")
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {why}", _details(name, group, plural))


def forbidden_path(user: str, verb: str, path: str) -> ApiError:
    message = f"forbidden: User {quote(user)} cannot {verb} path {quote(path)}"
    return ApiError(403, "Forbidden", message, {})


def no_such_page() -> ApiError:
    return ApiError(404, "NotFound", "404 page not found\n", text=True)


def no_such_resource(missing: str = "") -> ApiError:
    """missing: what a real server would have, named so that its absence is understood."""
    message = "the server could not find the requested resource"
    if missing:
        message += f": the embedded Kubernetes has no {missing}"
    return ApiError(404, "NotFound", message, {})


def method_not_allowed(group: str = "", plural: str = "", verb: str | None = None) -> ApiError:
    """The router's own words without a verb, the resource handler's with one."""
    if verb is None:
        message = "the server does not allow this method on the requested resource"
        return ApiError(405, "MethodNotAllowed", message, {})
    kind = qualified(plural, group)
    message = f"{verb} is not supported on resources of kind {quote(kind)}"
    return ApiError(405, "MethodNotAllowed", message, _details("", group, plural))


def not_acceptable(offered: Sequence[str]) -> ApiError:
    message = f"only the following media types are accepted: {', '.join(offered)}"
    return ApiError(406, "NotAcceptable", message)


def unsupported_media_type(offered: Sequence[str]) -> ApiError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(
        offered
    )
    return ApiError(415, "UnsupportedMediaType", message)


def too_large() -> ApiError:
    message = "Request entity too large: limit is 3145728"
    return ApiError(413, "RequestEntityTooLarge", message)


def expired(message: str, proceed: str = "") -> ApiError:
    return ApiError(410, "Expired", message, proceed=proceed)


def version_too_large(asked: int, current: int) -> ApiError:
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return ApiError(504, "Timeout", message, details, retry_after=1)


def invalid(group: str, kind: str, name: str, causes: Iterable[Faulty]) -> ApiError:
    """422 with every cause, in the order given; the same line twice is said once."""
    found = list(causes)
    lines = list(dict.fromkeys(f"{c.field}: {c.message}" if c.field else c.message for c in found))
    said = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    details = _details(name, group, kind)
    if found:
        details["causes"] = [
            {k: v for k, v in (("reason", c.reason), ("message", c.message), ("field", c.field)) if v}
            for c in found
        ]
    return ApiError(422, "Invalid", f'{qualified(kind, group)} "{name}" is invalid: {said}', details)


def quote(value: str) -> str:
    """As Go prints a quoted string."""
    return json.dumps(value, ensure_ascii=False)


def wrong(field: str, value: object, why: str) -> Cause:
    """FieldValueInvalid; value is printed as Go prints strings, numbers and the rest."""
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}")


def missing(field: str, why: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value: {why}" if why else "Required value")


def denied(field: str, why: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def unsupported(field: str, value: object, offered: Sequence[str]) -> Cause:
    listed = ", ".join(quote(o) for o in offered)
    said = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return Cause(field, "FieldValueNotSupported", said)


def doubled(field: str, value: object) -> Cause:
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def too_long(field: str, limit: int) -> Cause:
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def shown(value: object) -> str:
    """A value as error messages print it: strings quoted, lists of strings as Go syntax."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return "[]string{" + ", ".join(quote(v) for v in value) + "}"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
