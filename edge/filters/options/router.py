"""Options of `router`, as in `edge.filters.router`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from edge.config.paths import normalise
from edge.config.strict import Strict


class RouteOptions(Strict):
    """host: a name, or `*.name` for one label before it. headers: name -> exact value."""

    path: str | None = None
    path_prefix: str | None = None
    host: Annotated[str, Field(max_length=253)] | None = None
    methods: list[str] = Field(default_factory=list)
    headers: dict[str, str] = Field(default_factory=dict)
    cluster: str

    @field_validator("path", "path_prefix")
    @classmethod
    def _comparable(cls, path: str | None) -> str | None:
        if path is not None and (not path.startswith("/") or normalise(path.encode()) != path.encode()):
            raise ValueError("must begin with '/' and be normalised: no '//', '.', '..', ';' or '%'")
        return path

    @model_validator(mode="after")
    def _one(self) -> RouteOptions:
        if (self.path is None) == (self.path_prefix is None):
            raise ValueError("needs exactly one of path, path_prefix")
        return self


class Options(Strict):
    routes: Annotated[list[RouteOptions], Field(min_length=1, max_length=10_000)]
