"""kubectl's annotation is read where it can be, and refreshed where it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forge.embedded.api.schema.structural import parse
from forge.embedded.api.ssa.last_applied import ANNOTATION, named, refreshed

SCHEMA = parse(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
)


def noted(text: Any) -> dict[str, Any]:
    return {"metadata": {"annotations": {ANNOTATION: text}}}


def test_the_fields_it_names() -> None:
    assert named(noted('{"spec":{"size":1}}'), SCHEMA) == {("f:spec", "f:size")}


UNREADABLE = [
    noted("{"),
    noted("[]"),
    noted('{"spec":{"size":"x"}}'),
    noted(3),
    {"metadata": {}},
    {"metadata": []},
    {},
]


@pytest.mark.parametrize("live", UNREADABLE, ids=repr)
def test_what_cannot_be_read_names_nothing(live: dict[str, Any]) -> None:
    assert named(live, SCHEMA) == set()


def test_it_is_refreshed_without_itself_inside() -> None:
    applied = {"spec": {"size": 2}, "metadata": {"annotations": {"a": "b", ANNOTATION: "old"}}}
    text = refreshed(noted("old"), applied)["metadata"]["annotations"][ANNOTATION]
    assert json.loads(text) == {"spec": {"size": 2}, "metadata": {"annotations": {"a": "b"}}}
    assert text.endswith("\n")
    assert refreshed({"metadata": {}}, applied) == {"metadata": {}}
