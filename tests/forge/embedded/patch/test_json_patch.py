"""JSON patches do what RFC 6902 says, with the leniences and refusals of the real server."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.patch.json import apply_json, unknown_fields
from forge.embedded.api.patch.rejected import PatchRejected

DOC: dict[str, Any] = {"a": {"b": 1, "c/d": 2, "m~n": 3}, "l": [1, 2, 3], "n": None}


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


DONE = [
    pytest.param([op("add", "/a/x", value=9)], {"a": {**DOC["a"], "x": 9}}, id="add a member"),
    pytest.param([op("add", "/l/1", value=9)], {"l": [1, 9, 2, 3]}, id="insert an item"),
    pytest.param([op("add", "/l/-", value=9)], {"l": [1, 2, 3, 9]}, id="append an item"),
    pytest.param([op("add", "/l/3", value=9)], {"l": [1, 2, 3, 9]}, id="insert behind the last"),
    pytest.param([op("remove", "/l/0")], {"l": [2, 3]}, id="remove an item"),
    pytest.param([op("remove", "/l/-1")], {"l": [1, 2]}, id="remove from the end"),
    pytest.param(
        [op("replace", "/a/zz", value=1)], {"a": {**DOC["a"], "zz": 1}}, id="replace makes what is missing"
    ),
    pytest.param(
        [op("replace", "/a/c~1d", value=0)], {"a": {"b": 1, "c/d": 0, "m~n": 3}}, id="an escaped slash"
    ),
    pytest.param(
        [op("replace", "/a/m~0n", value=0)], {"a": {"b": 1, "c/d": 2, "m~n": 0}}, id="an escaped tilde"
    ),
    pytest.param([op("move", "/x", **{"from": "/l"})], {"x": [1, 2, 3], "l": ...}, id="move"),
    pytest.param([op("copy", "/x", **{"from": "/a/b"})], {"x": 1}, id="copy"),
    pytest.param([op("test", "/l", value=[1, 2, 3])], {}, id="a test that holds"),
    pytest.param([op("test", "/nope", value=None)], {}, id="an absent member tests equal to null"),
    pytest.param([], {}, id="no operation"),
]


@pytest.mark.parametrize(("ops", "changed"), DONE)
def test_what_operations_do(ops: list[dict[str, Any]], changed: dict[str, Any]) -> None:
    expected = {k: v for k, v in {**DOC, **changed}.items() if v is not ...}
    assert apply_json(copy.deepcopy(DOC), ops) == expected


MISFIT: tuple[int, str, Any] = (422, "the server rejected our request due to an error in our request", {})
REFUSED = [
    pytest.param([op("remove", "/nope")], MISFIT, id="remove of what is not there"),
    pytest.param([op("add", "/x/y", value=1)], MISFIT, id="add below what is not there"),
    pytest.param([op("add", "/l/9", value=1)], MISFIT, id="an index out of range"),
    pytest.param([op("add", "/l/x", value=1)], MISFIT, id="an index that is no number"),
    pytest.param([op("test", "/a/b", value=True)], MISFIT, id="true is not 1"),
    pytest.param([op("frob", "/a")], MISFIT, id="an unknown operation"),
    pytest.param([{"op": "add", "value": 1}], MISFIT, id="no path"),
    pytest.param([op("add", "", value={})], MISFIT, id="the whole document"),
    pytest.param([op("move", "/x", **{"from": "/nope"})], MISFIT, id="move of what is not there"),
    pytest.param([op("copy", "/x")], MISFIT, id="copy from nowhere"),
    pytest.param(
        {"op": "add"},
        (
            400,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            None,
        ),
        id="an object instead of a list",
    ),
    pytest.param(
        [1],
        (
            400,
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            None,
        ),
        id="a number instead of an operation",
    ),
    pytest.param(
        [op("add", "/x")] * 10_001,
        (
            413,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
            None,
        ),
        id="more operations than the server takes",
    ),
]


@pytest.mark.parametrize(("ops", "expected"), REFUSED)
def test_what_is_refused(ops: Any, expected: tuple[int, str, Any]) -> None:
    before = copy.deepcopy(DOC)
    with pytest.raises(PatchRejected) as refused:
        apply_json(before, ops)
    assert (refused.value.code, refused.value.message, refused.value.details) == expected
    assert before == DOC


def test_copies_are_bounded() -> None:
    ops = [op("add", "/x", value=["0123456789" * 100]), *[op("copy", "/x/-", **{"from": "/x"})] * 40]
    with pytest.raises(PatchRejected):
        apply_json({}, ops)


def test_unknown_members_of_operations_are_named() -> None:
    ops = [op("add", "/x", value=1, zz=1, foo=2), op("remove", "/x")]
    assert unknown_fields(ops) == ['json patch unknown field "[0].foo"', 'json patch unknown field "[0].zz"']


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1", "~1", ""]), max_size=3).map(
    lambda p: "".join(f"/{s}" for s in p)
)
OPS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": PATHS},
        optional={"value": VALUES, "from": PATHS},
    )
    | VALUES,
    max_size=4,
)


@given(st.dictionaries(st.sampled_from("abc"), VALUES), OPS | VALUES)
def test_any_patch_applies_or_is_refused_and_the_document_is_as_it_was(doc: dict[str, Any], ops: Any) -> None:
    before, code = copy.deepcopy(doc), 200
    try:
        assert isinstance(apply_json(doc, ops), dict)
    except PatchRejected as refused:
        code = refused.code
    assert code in (200, 400, 413, 422)
    assert doc == before


@given(st.dictionaries(st.sampled_from("abc"), VALUES), st.sampled_from("abc"), VALUES)
def test_what_is_added_is_found_and_can_be_taken_away(doc: dict[str, Any], key: str, value: Any) -> None:
    after = apply_json(doc, [op("add", f"/{key}", value=value), op("test", f"/{key}", value=value)])
    assert after == {**doc, key: value}
    assert apply_json(after, [op("remove", f"/{key}")]) == {k: v for k, v in doc.items() if k != key}
