"""Strategic merge patches merge lists by their keys, and obey the directives."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.openapi.builtin import builtin
from forge.embedded.api.patch.rejected import PatchRejected
from forge.embedded.api.patch.strategic import apply_strategic
from forge.embedded.api.schema.model import Schema


def pod() -> Schema:
    schema = builtin("", "v1", "Pod")
    assert schema is not None
    return schema


def merged(spec: dict[str, Any], patch: dict[str, Any]) -> Any:
    return apply_strategic({"spec": spec}, {"spec": patch}, pod())["spec"]


A, B = {"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}
DONE = [
    pytest.param(
        {"containers": [A, B]},
        {"containers": [{"name": "b", "image": "y:2"}]},
        {"containers": [A, {"name": "b", "image": "y:2"}]},
        id="an item merges by its key",
    ),
    pytest.param(
        {"containers": [A]}, {"containers": [B]}, {"containers": [B, A]}, id="a new item comes first"
    ),
    pytest.param(
        {"containers": [A, B]},
        {"containers": [{"name": "a", "$patch": "delete"}]},
        {"containers": [B]},
        id="an item is deleted",
    ),
    pytest.param(
        {"containers": [A, B]},
        {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]},
        {"containers": [B, A]},
        id="an order alone reorders",
    ),
    pytest.param(
        {"containers": [A]}, {"containers": [{"$patch": "replace"}, B]}, {"containers": [B]}, id="a list is replaced"
    ),
    pytest.param(
        {"nodeSelector": {"x": "1"}}, {"nodeSelector": {"$patch": "replace", "y": "2"}}, {"nodeSelector": {"y": "2"}}, id="a map is replaced"
    ),
    pytest.param({"nodeSelector": {"x": "1"}}, {"nodeSelector": {"x": None}}, {"nodeSelector": {}}, id="null removes"),
    pytest.param(
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]},
        {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
        id="retained keys drop the others",
    ),
    pytest.param({"nope": [1]}, {"nope": [2]}, {"nope": [2]}, id="an unknown list is replaced"),
    pytest.param(
        {}, {"containers": [{"name": "a", "env": [{"name": "E", "value": None}]}]}, {"containers": [{"name": "a", "env": [{"name": "E", "value": None}]}]},
        id="what is new is taken as it is",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "patch", "expected"), DONE)
def test_what_a_patch_does(spec: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert merged(spec, patch) == expected


def test_scalars_merge_without_doubles_and_can_be_taken_out() -> None:
    live = {"metadata": {"finalizers": ["a", "b"]}}
    assert apply_strategic(live, {"metadata": {"finalizers": ["c", "a"]}}, pod()) == {
        "metadata": {"finalizers": ["c", "a", "b"]}
    }
    taken = apply_strategic(live, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, pod())
    assert taken == {"metadata": {"finalizers": ["b"]}}


REFUSED = [
    pytest.param(
        {"containers": [{"image": "x"}]},
        (500, "map: map[image:x] does not contain declared merge key: name"),
        id="an item without its key",
    ),
    pytest.param(
        {"nodeSelector": {"$patch": "frob"}},
        (500, "unknown patch type: frob in map: map[$patch:frob]"),
        id="an unknown directive on what is there",
    ),
    pytest.param(
        {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]},
        (
            500,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        id="an order without the item",
    ),
    pytest.param(
        {"containers": [{"$patch": "merge"}]},
        (500, "merging lists cannot yet be specified in the patch"),
        id="a merge directive in a list",
    ),
    pytest.param(
        {"containers": [{"$patch": "frob", "name": "a"}]},
        (500, "unknown patch type: frob in map: map[$patch:frob name:a]"),
        id="an unknown directive in a list",
    ),
    pytest.param(
        {"containers": [{"$patch": "delete"}]},
        (500, "map: map[$patch:delete] does not contain declared merge key: name"),
        id="a deletion of nobody",
    ),
    pytest.param(
        {"containers": [{"name": "a"}, "b"]},
        (500, "the elements of a list are not all of one type"),
        id="a list of unlike items",
    ),
    pytest.param(
        {"nodeSelector": {"$retainKeys": ["y"], "x": "1"}},
        (500, "invalid patch format of $retainKeys: the list does not hold every key of the patch"),
        id="retained keys without one of the patch",
    ),
    pytest.param(
        {"$setElementOrder/containers": "a"},
        (500, "invalid patch format of $setElementOrder list: no list"),
        id="an order that is no list",
    ),
    pytest.param(
        {"$deleteFromPrimitiveList/x": "a"},
        (500, "invalid patch format of $deleteFromPrimitiveList: no list"),
        id="a deletion that is no list",
    ),
    pytest.param(
        {"containers": {"name": "a"}},
        (
            422,
            ' "" is invalid: patch: Invalid value: "map[spec:map[containers:map[name:a]]]": cannot restore slice from map',
        ),
        id="a map where a list is",
    ),
    pytest.param(
        {"hostNetwork": "yes"},
        (
            422,
            ' "" is invalid: patch: Invalid value: "map[spec:map[hostNetwork:yes]]": cannot convert string to bool',
        ),
        id="a string where a boolean is",
    ),
]


@pytest.mark.parametrize(("patch", "expected"), REFUSED)
def test_what_is_refused(patch: dict[str, Any], expected: tuple[int, str]) -> None:
    with pytest.raises(PatchRejected) as refused:
        merged({"containers": [A], "nodeSelector": {"x": "1"}}, patch)
    assert (refused.value.code, refused.value.message) == expected


KEYS = ["name", "image", "env", "value", "containers", "nodeSelector", "finalizers", "$patch", "$retainKeys",
        "$setElementOrder/containers", "$setElementOrder/env", "$deleteFromPrimitiveList/finalizers"]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "b", "replace", "delete", "merge"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from(["spec", "metadata", "$patch"]), VALUES, max_size=2)


@given(OBJECTS, OBJECTS | VALUES)
def test_any_patch_applies_or_is_refused_and_changes_no_input(live: dict[str, Any], patch: Any) -> None:
    kept, code = copy.deepcopy((live, patch)), 200
    try:
        assert isinstance(apply_strategic(live, patch, pod()), dict)
    except PatchRejected as refused:
        code = refused.code
    assert code in (200, 400, 422, 500)
    assert (live, patch) == kept


NAMED = st.lists(st.sampled_from("abcd"), unique=True, max_size=4).map(
    lambda names: [{"name": n, "image": n} for n in names]
)


@given(NAMED, NAMED)
def test_merging_twice_is_merging_once_and_loses_nothing(live: list[Any], patch: list[Any]) -> None:
    once = merged({"containers": live}, {"containers": patch})
    assert {c["name"] for c in once.get("containers", [])} == {c["name"] for c in (*live, *patch)}
    assert merged(once, {"containers": patch}) == once
