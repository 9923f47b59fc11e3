"""The parent of everything people write: unknown keys are refused, values are immutable, types are not
guessed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
