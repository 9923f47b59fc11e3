"""Options of `credential_inject`, as in `edge.filters.credential_inject`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from edge.config.expand import FilePath
from edge.config.fields import HeaderName
from edge.config.strict import Strict

Part = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z0-9._-]+$")]


class Credential(Strict):
    """file: holds the token. header: for strategy api_key; bearer_token always writes Authorization."""

    name: Part
    namespace: Part = "default"
    key: Part = "token"
    strategy: Literal["bearer_token", "api_key"] = "bearer_token"
    header: HeaderName = "x-api-key"
    file: FilePath

    @property
    def reference(self) -> str:
        return f"{self.namespace}/{self.name}/{self.key}"


class Options(Strict):
    """default: reference of the credential for requests whose route names none."""

    credentials: Annotated[list[Credential], Field(min_length=1, max_length=1024)]
    default: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Options:
        references = [credential.reference for credential in self.credentials]
        if len(set(references)) != len(references):
            raise ValueError("a credential stands twice")
        if self.default is not None and self.default not in references:
            raise ValueError(f"default {self.default!r} is none of {', '.join(references[:8])}")
        return self
