"""One request and its answer as values, free of the web framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forge.embedded.api import negotiate, status
from forge.embedded.api.cluster import User
from forge.embedded.api.negotiate import YAML
from forge.embedded.api.paths import Target
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, encode
from forge.embedded.api.watch import Watcher

TEXT = "text/plain; charset=utf-8"


@dataclass(slots=True)
class Ask:
    """query: the last value of each name. body: read whole, within its limit."""

    method: str
    target: Target
    query: Mapping[str, str]
    headers: Mapping[str, str]
    user: User
    body: bytes = b""

    @property
    def accept(self) -> str:
        return self.headers.get("Accept", "")

    @property
    def agent(self) -> str:
        return self.headers.get("User-Agent", "")


@dataclass(slots=True)
class Reply:
    """A whole answer. warnings: each becomes a Warning header."""

    body: bytes
    code: int = 200
    media: str = negotiate.JSON
    warnings: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Stream:
    """An open watch: written frame by frame until *timeout_s*, the client or the hub ends it."""

    watcher: Watcher
    resource: Resource
    namespace: str
    timeout_s: float
    bookmarks: bool
    media: str = negotiate.JSON
    warnings: list[str] = field(default_factory=list)


def written(document: Any, media: str) -> bytes:
    """*document* in the form of *media*."""
    if media != YAML:
        return encode(document)
    from forge.embedded.api import goyaml  # few ask for it

    return goyaml.write(document)


def reply(document: Json, accept: str, code: int = 200) -> Reply:
    """*document* in a form that *accept* takes; raises 406."""
    media = negotiate.answer(accept).media
    return Reply(written(document, media), code, media)


def refusal(error: status.ApiError, accept: str) -> Reply:
    """The answer of a refused request."""
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
    if error.text:
        headers["X-Content-Type-Options"] = "nosniff"
        return Reply(error.message.encode(), error.code, TEXT, headers=headers)
    media = negotiate.error_media(accept)
    return Reply(written(error.status(), media), error.code, media, headers=headers)


def text(body: str, code: int = 200) -> Reply:
    return Reply(body.encode(), code, TEXT)
