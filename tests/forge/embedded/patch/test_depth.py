"""What is nested deeper than can be handled is refused, by every patch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from forge.embedded.api.openapi.builtin import builtin
from forge.embedded.api.patch.json import apply_json
from forge.embedded.api.patch.merge import apply_merge
from forge.embedded.api.patch.rejected import PatchRejected
from forge.embedded.api.patch.strategic import apply_strategic


def nested(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"a": made}
    return made


def strategic(doc: Any, patch: Any) -> Any:
    schema = builtin("", "v1", "ConfigMap")
    assert schema is not None
    return apply_strategic(doc, patch, schema)


PATCHES: list[Any] = [
    pytest.param(lambda: apply_merge({}, nested(5000)), id="merge"),
    pytest.param(lambda: apply_json(nested(5000), []), id="JSON"),
    pytest.param(lambda: strategic({}, nested(5000)), id="strategic"),
]


@pytest.mark.parametrize("patch", PATCHES)
def test_too_deep(patch: Callable[[], Any]) -> None:
    with pytest.raises(PatchRejected) as refused:
        patch()
    assert (refused.value.code, refused.value.message) == (400, "error decoding patch: exceeded max depth")
