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
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from edge.chain import Exchange, Response, Traits, refuse
from edge.config.expand import FilePath
from edge.config.fields import HeaderName
from edge.config.strict import Strict
from edge.setup import Setup, Unusable

_AUTHORIZATION = b"authorization"
_MAX_KEY = 512  # bytes; longer values are not hashed at all
_CHALLENGE = ((b"www-authenticate", b"Bearer"),)


class Key(Strict):
    """sha256: hex of the key's hash. tenant: who it belongs to; a tenant may have several keys."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    tenant: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,128}$")]


class KeyFile(BaseModel):
    """The keys' file, JSON: `{"keys": [{"sha256": "…", "tenant": "…"}]}`."""

    model_config = ConfigDict(extra="forbid")
    keys: list[Key]


class Options(Strict):
    """header: where the key stands; `Authorization` wants `Bearer <key>`, any other header the key alone.
    demo_tenant: who a client on this machine's loopback is without a key. For demonstrations, never in
    production."""

    file: FilePath | None = None
    keys: list[Key] = Field(default_factory=list)
    header: HeaderName = "Authorization"
    demo_tenant: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,128}$")] | None = None

    @model_validator(mode="after")
    def _something(self) -> Options:
        if self.file is None and not self.keys:
            raise ValueError("needs file or keys")
        return self


@dataclass(frozen=True, slots=True, repr=False)
class ApiKeyAuth:
    """tenants: digest of a key -> tenant."""

    tenants: Mapping[bytes, str]
    header: bytes
    demo_tenant: str | None

    config = Options
    traits = Traits(writes=frozenset({"tenant"}), security=True)

    @classmethod
    def build(cls, options: Options, setup: Setup) -> ApiKeyAuth:
        keys = [*options.keys, *(_read(setup, options.file) if options.file else ())]
        if not keys:
            raise Unusable(f"{options.file} holds no key", "file")
        tenants = _by_digest(keys)
        return cls(tenants, options.header.lower().encode(), options.demo_tenant)

    def on_head(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        sent = fields.pop(self.header, None)
        if self.header != _AUTHORIZATION:
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
        if self.header == _AUTHORIZATION:
            if sent[:7].lower() != b"bearer ":
                return None
            sent = sent[7:]
        key = sent.strip()
        if not key or len(key) > _MAX_KEY:
            return None
        return self.tenants.get(hashlib.sha256(key).digest())


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
