"""Puts the provider's own credential on the request at the last hop; the client's never goes there.

Which one is named by the routing decision (`exchange.credential`, `namespace/name/key`), or is the default.
The bytes are read from Secret files when the configuration is built and live in this object alone: not in its
repr, not in a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.credential_inject import Credential, Options
from edge.setup import Setup, Unusable

_AUTHORIZATION = b"authorization"
_MAX = 16 * 1024


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options


@dataclass(frozen=True, slots=True)
class CredentialInject(_Kind):
    """fields: reference -> the header field to write."""

    fields: Mapping[str, tuple[bytes, bytes]] = field(repr=False)
    default: str | None
    traits: Traits

    @classmethod
    def build(cls, options: Options, setup: Setup) -> CredentialInject:
        fields = {
            credential.reference: _field(credential, setup, index)
            for index, credential in enumerate(options.credentials)
        }
        reads = {"cluster"} | ({"credential"} if options.default is None else set())
        return cls(fields, options.default, Traits(reads=frozenset(reads)))

    def on_body(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        fields.pop(_AUTHORIZATION, None)
        reference = exchange.credential or self.default
        if reference is None:
            return None
        pair = self.fields.get(reference)
        if pair is None:
            return refuse(exchange, 503, "credential_unavailable", retry_after_s=1)
        fields[pair[0]] = pair[1]
        return None


def _field(credential: Credential, setup: Setup, index: int) -> tuple[bytes, bytes]:
    at = ("credentials", index, "file")
    token = setup.files.read(credential.file, *at).strip()
    if not token or len(token) > _MAX:
        raise Unusable(f"{credential.file} must hold 1 byte to 16 KiB", *at)
    if any(byte <= 0x20 or byte >= 0x7F for byte in token):
        raise Unusable(f"{credential.file} holds characters that cannot stand in a header", *at)
    if credential.strategy == "bearer_token":
        return _AUTHORIZATION, b"Bearer " + token
    return credential.header.lower().encode(), token
