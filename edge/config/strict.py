"""The parent of everything people write: unknown keys are refused, values are immutable, types are not
guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

M = TypeVar("M", bound=BaseModel)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def rule(check: Callable[[M], None]) -> Any:
    """A rule between the fields of one object: *check* raises ValueError.

    Where the surroundings say `lenient` an object that breaks it is taken all the same: the rule has been
    told, and what else is wrong with the object is looked for.
    """

    def holds(self: M, info: ValidationInfo) -> M:
        if not getattr(info.context, "lenient", False):
            check(self)
        return self

    return model_validator(mode="after")(holds)
