"""Header names and values as people write them: what would break a message's framing is refused."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from edge.config.strict import Strict

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")

# The engine writes these itself, or takes them out because they concern one connection only (RFC 9110,
# 7.6.1).
ENGINE_OWN = frozenset(
    (
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


def _name(text: str) -> str:
    if not _TOKEN.fullmatch(text):
        raise ValueError(f"{text!r} is not a header name")
    if text.lower() in ENGINE_OWN:
        raise ValueError(f"{text} is written by the gateway alone")
    return text


def _value(text: str) -> str:
    if not _VALUE.fullmatch(text):
        raise ValueError("a header value cannot hold control characters")
    return text


HeaderName = Annotated[str, Field(max_length=128), AfterValidator(_name)]
HeaderValue = Annotated[str, Field(max_length=8192), AfterValidator(_value)]


class HeaderField(Strict):
    name: HeaderName
    value: HeaderValue

    @property
    def pair(self) -> tuple[bytes, bytes]:
        return self.name.lower().encode(), self.value.encode()
