"""Turns an API key into a tenant, by the key's SHA-256; the key itself goes no further than this file.

Keys are random and long, so one plain hash is enough: there is nothing to guess. The look-up is by the digest
of what was sent, which an attacker cannot steer, so its time tells nothing about the keys that exist.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ValidationError

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.api_key_auth import Key, KeyFile, Options
from edge.setup import Setup, Unusable

_AUTHORIZATION = b"authorization"
_BEARER = b"Bearer "  # as nearly everybody writes it
_sha256 = hashlib.sha256
_MAX_KEY = 512  # bytes; longer values are not hashed at all
_CHALLENGE = ((b"www-authenticate", b"Bearer"),)


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(writes=frozenset({"tenant"}), security=True)


@dataclass(frozen=True, slots=True, repr=False)
class ApiKeyAuth(_Kind):
    """tenants: digest of a key -> tenant. is_bearer: the key stands in Authorization, after `Bearer`."""

    tenants: Mapping[bytes, str]
    header: bytes
    is_bearer: bool
    demo_tenant: str | None

    @classmethod
    def build(cls, options: Options, setup: Setup) -> ApiKeyAuth:
        keys = [*options.keys, *(_read(setup, options.file) if options.file else ())]
        if not keys:
            raise Unusable(f"{options.file} holds no key", "file")
        tenants, header = _by_digest(keys), options.header.lower().encode()
        return cls(tenants, header, header == _AUTHORIZATION, options.demo_tenant)

    def on_head(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        sent = fields.pop(self.header, None)
        if not self.is_bearer:
            fields.pop(_AUTHORIZATION, None)  # whatever it says, it is not for the next hop
        tenant = None
        if sent is not None:
            tenant = self._tenant(sent)
        elif self.demo_tenant is not None and _is_loopback(exchange.peer.address):
            tenant = self.demo_tenant
        if tenant is None:
            return refuse(exchange, 401, "unauthorized", fields=_CHALLENGE)
        exchange.tenant = tenant
        return None

    def _tenant(self, sent: bytes) -> str | None:
        if self.is_bearer:
            if not sent.startswith(_BEARER) and sent[:7].lower() != b"bearer ":
                return None
            sent = sent[7:]
        key = sent.strip()
        if not key or len(key) > _MAX_KEY:
            return None
        return self.tenants.get(_sha256(key).digest())


def _by_digest(keys: Iterable[Key]) -> dict[bytes, str]:
    """Raises Unusable when one key would be two tenants."""
    tenants: dict[bytes, str] = {}
    for key in keys:
        digest = bytes.fromhex(key.sha256)
        known = tenants.setdefault(digest, key.tenant)
        if not hmac.compare_digest(known, key.tenant):
            raise Unusable(f"one key belongs to two tenants, {known} and {key.tenant}", "keys")
    return tenants


def _read(setup: Setup, file: str) -> list[Key]:
    try:
        return KeyFile.model_validate(json.loads(setup.files.read(file, "file"))).keys
    except ValidationError as error:
        places = ", ".join(
            ".".join(map(str, e["loc"])) or "the whole" for e in error.errors(include_input=False)[:8]
        )
        raise Unusable(f"{file} is not a list of keys: see {places}", "file") from None
    except ValueError:
        raise Unusable(f"{file} is not JSON", "file") from None


def _is_loopback(address: str) -> bool:
    """Of a peer's address as the kernel writes it; a mapped one (`::ffff:127…`) is not taken for it."""
    return address.startswith("127.") or address == "::1"
