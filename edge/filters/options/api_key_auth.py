"""Options of `api_key_auth`, as in `edge.filters.api_key_auth`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from edge.config.expand import FilePath
from edge.config.fields import HeaderName
from edge.config.strict import Strict


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
