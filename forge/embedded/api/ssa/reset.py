"""Which part of an object a write does not take, and so neither owns nor conflicts over."""

from __future__ import annotations

from typing import Final

from forge.embedded.api.ssa.fieldset import EMPTY, FieldSet, of

STATUS: Final = of(("f:status",))
SPEC: Final = of(("f:spec",))


def reset_fields(subresource: str, *, has_status: bool) -> FieldSet:
    """The fields a write to *subresource* ("" for the object) leaves alone.

    has_status: whether the resource has a status subresource.
    """
    if not has_status:
        return EMPTY
    return SPEC if subresource == "status" else STATUS
