"""Field sets are sets, and FieldsV1 documents carry them unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.ssa.fieldset import BadFields, FieldSet, of, parse, shown

STEPS = st.sampled_from(
    ["f:a", "f:b", 'k:{"name":"x"}', 'k:{"name":"x","port":80}', 'v:"s"', "v:1", "v:true", "i:0"]
)
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
SETS = st.lists(PATHS, max_size=6).map(lambda paths: of(*paths))


@given(SETS)
def test_a_document_holds_the_set(fields: FieldSet) -> None:
    assert parse(json.loads(json.dumps(fields.as_json()))) == fields


@given(SETS, SETS)
def test_union_intersection_and_difference_are_those_of_sets(left: FieldSet, right: FieldSet) -> None:
    mine, theirs = set(left), set(right)
    assert set(left.union(right)) == mine | theirs
    assert set(left.intersection(right)) == mine & theirs
    assert set(left.difference(right)) == mine - theirs
    assert bool(left.difference(left)) is False


@given(SETS, SETS)
def test_without_takes_what_is_below_too(left: FieldSet, right: FieldSet) -> None:
    covered = {path for path in left if any(path[: n + 1] in set(right) for n in range(len(path)))}
    assert set(left.without(right)) == set(left) - covered


SHOWN = [
    (("f:spec", "f:size"), ".spec.size"),
    (("f:ports", 'k:{"name":"http"}', "f:port"), '.ports[name="http"].port'),
    (("f:ports", 'k:{"port":80,"protocol":"TCP"}'), '.ports[port=80,protocol="TCP"]'),
    (("f:tags", 'v:"x"'), '.tags[="x"]'),
    (("f:l", "i:3"), ".l[3]"),
]


@pytest.mark.parametrize(("path", "text"), SHOWN)
def test_how_a_path_is_printed(path: tuple[str, ...], text: str) -> None:
    assert shown(path) == text


def test_paths_come_in_the_servers_order() -> None:
    fields = of(("f:b", "f:c"), ("f:a",), ("f:b",), ("f:a", 'k:{"n":1}'))
    assert list(fields) == [("f:a",), ("f:b",), ("f:a", 'k:{"n":1}'), ("f:b", "f:c")]


def test_a_member_with_more_below_is_marked_by_a_dot() -> None:
    assert of(("f:a",), ("f:a", "f:b")).as_json() == {"f:a": {".": {}, "f:b": {}}}


BAD: list[Any] = [
    [],
    "x",
    {"a": {}},
    {"f:a": 1},
    {"k:": {}},
    {"k:1": {}},
    {"v:{": {}},
    {"i:x": {}},
    {"q:1": {}},
]


@pytest.mark.parametrize("document", BAD, ids=repr)
def test_what_is_no_fields_document(document: Any) -> None:
    with pytest.raises(BadFields):
        parse(document)
