"""Images by reference: how they are built, and what stands for them without an engine. Shape only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from forge.spec.shape import ImageName, Label, RelativePath, Shape, Text, Variable


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class Build(Shape):
    """How an image is built from a folder."""

    context: RelativePath = Field(description="Folder that is sent to the build.")
    file: RelativePath | None = Field(
        default=None, description="Containerfile; left out: Containerfile or Dockerfile of the context."
    )
    args: Mapping[Variable, Text] = Field(default_factory=dict, repr=False, description="Build arguments.")


class Image(Shape):
    """An image by its reference: where it comes from, and what stands for it without an engine."""

    name: ImageName = Field(description="Reference, as services and pods name it.")
    build: Build | None = Field(
        default=None, description="How it is built; left out: it is pulled or present."
    )
    pull: Literal["missing", "never"] = Field(
        default="missing", description="missing: pulled when it is not present. never: it must be present."
    )
    process: tuple[Text, ...] | None = Field(
        default=None,
        description="argv that stands for it on the embedded runtime; [] runs the service's own arguments.",
    )
    load: Annotated[
        tuple[Label, ...],
        BeforeValidator(_one_or_more),
        WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}]}),
    ] = Field(default=(), description="Clusters it is loaded into, by name, or `all`.")

    def is_loaded_into(self, cluster: str) -> bool:
        return cluster in self.load or "all" in self.load
