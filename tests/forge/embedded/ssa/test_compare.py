"""A comparison names what was added, removed and modified, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.api.schema.structural import parse
from forge.embedded.api.ssa.compare import compare
from forge.embedded.api.ssa.fieldset import of, shown

ITEM = {
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "string"}, "v": {"type": "integer"}},
}
SCHEMA = parse(
    {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "l": {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["n"],
            },
            "s": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "any": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }
)
X1, X2, Y = {"n": "x", "v": 1}, {"n": "x", "v": 2}, {"n": "y"}
ROWS: list[Any] = [
    pytest.param({"a": 1}, {"a": 1.0}, "", "", "", id="the same number"),
    pytest.param({"a": 1}, {"a": 2}, "", "", ".a", id="another number"),
    pytest.param({}, {"m": {"k": "v"}}, ".m .m.k", "", "", id="a new map and its key"),
    pytest.param({"m": {"k": "v"}}, {"m": {}}, "", ".m.k", "", id="a key gone"),
    pytest.param({"m": {}}, {"m": None}, "", "", ".m", id="an empty map to null"),
    pytest.param(
        {"l": [X1]}, {"l": [X2, Y]}, '.l[n="y"] .l[n="y"].n', "", '.l[n="x"].v', id="an item changed, one new"
    ),
    pytest.param({"l": [X1, X2]}, {"l": [X1]}, "", "", '.l[n="x"]', id="one of two with the same key gone"),
    pytest.param({"l": [X1, X2]}, {"l": [X1, X2]}, "", "", "", id="two with the same key as they were"),
    pytest.param({"l": [X1, X2]}, {"l": []}, "", '.l[n="x"]', "", id="both with the same key gone"),
    pytest.param({"l": []}, {"l": [X1, X2]}, '.l[n="x"]', "", "", id="two new with the same key"),
    pytest.param({"s": ["a", "b"]}, {"s": ["b", "c"]}, '.s[="c"]', '.s[="a"]', "", id="set items"),
    pytest.param({"any": {"k": [1]}}, {"any": {"k": [2]}}, "", "", ".any.k", id="a deduced list is one leaf"),
    pytest.param({"any": {"k": 1}}, {"any": 3}, "", ".any.k", ".any", id="a map that becomes a scalar"),
]


@pytest.mark.parametrize(("old", "new", "added", "removed", "modified"), ROWS)
def test_what_differs(old: Any, new: Any, added: str, removed: str, modified: str) -> None:
    found = compare(old, new, SCHEMA)
    told = [" ".join(sorted(shown(p) for p in part)) for part in (found.added, found.removed, found.modified)]
    assert told == [added, removed, modified]
    assert bool(found) is bool(added or removed or modified)


def test_ignored_fields_take_what_is_below_with_them() -> None:
    found = compare({"m": {"k": "1"}, "a": 1}, {"m": {"k": "2"}, "a": 2}, SCHEMA).without(of(("f:m",)))
    assert [shown(p) for p in found.modified] == [".a"]
