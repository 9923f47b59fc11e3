"""Errors as clients of the OpenAI API expect them: one JSON shape, with the request id, without topology."""

from __future__ import annotations

import json
from typing import Final

from edge.wire.messages import Response

MESSAGES: Final = {
    "bad_request": "The request could not be understood.",
    "client_certificate_required": "A client certificate is required.",
    "internal_error": "The gateway failed to handle the request.",
    "model_not_allowed": "The model does not exist or you do not have access to it.",
    "no_route": "No route serves this request.",
    "overloaded": "The gateway is overloaded. Try again later.",
    "rate_limit_exceeded": "Too many requests. Try again later.",
    "request_too_large": "The request body is larger than allowed.",
    "unauthorized": "Missing or incorrect API key.",
    "upstream_connect_failed": "The upstream could not be reached.",
    "upstream_connect_timeout": "The upstream could not be reached in time.",
    "upstream_first_byte_timeout": "The upstream did not answer in time.",
    "upstream_full": "The upstream is at its connection limit. Try again later.",
    "upstream_idle_timeout": "The upstream stopped sending.",
    "upstream_no_endpoint": "No upstream is available. Try again later.",
    "upstream_protocol": "The upstream gave an answer that cannot be passed on.",
    "upstream_reset": "The upstream closed the connection before its answer was whole.",
    "upstream_tls_failed": "The upstream could not be reached securely.",
    "upstream_total_timeout": "The request took longer than allowed.",
    "upstream_unsent": "No upstream is available. Try again later.",
}
"""By code; a code that is not here is its own message, with spaces."""

TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""OpenAI's error types by status; other 4xx are invalid_request_error, 5xx server_error."""


def error_body(
    status: int,
    code: str,
    message: str | None = None,
    param: str | None = None,
    request_id: str | None = None,
) -> bytes:
    """The JSON text of one error, also the data of an SSE error event."""
    error = {
        "message": message or MESSAGES.get(code) or code.replace("_", " ").capitalize() + ".",
        "type": TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error"),
        "param": param,
        "code": code,
    }
    if request_id:
        error["request_id"] = request_id
    return json.dumps({"error": error}, separators=(",", ":")).encode()


def error_response(
    status: int,
    code: str,
    message: str | None = None,
    *,
    param: str | None = None,
    retry_after_s: int | None = None,
    request_id: str | None = None,
    close: bool = False,
) -> Response:
    """A whole error answer. Never cached or transformed on its way (an intermediary's error page helps
    nobody)."""
    fields = [(b"content-type", b"application/json"), (b"cache-control", b"no-store, no-transform")]
    if retry_after_s is not None:
        fields.append((b"retry-after", b"%d" % retry_after_s))
    return Response(status, error_body(status, code, message, param, request_id), tuple(fields), close)
