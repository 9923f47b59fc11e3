"""Unknown fields go, defaults come, and doing it twice changes nothing."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.schema.default import default
from forge.embedded.api.schema.prune import prune
from forge.embedded.api.schema.structural import parse
from forge.embedded.api.schema.validate import validate

SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 1, "default": 2},
        "name": {"type": "string", "maxLength": 3, "pattern": "^[a-z]*$"},
        "note": {"type": "string", "nullable": True},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {"port": {"type": "integer"}, "proto": {"type": "string", "default": "TCP"}},
            },
        },
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "tuned": {
            "type": "object",
            "default": {"mode": "auto"},
            "properties": {"mode": {"type": "string"}, "level": {"type": "integer", "default": 3}},
        },
        "limit": {"x-kubernetes-int-or-string": True},
        "choice": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
    },
}
SCHEMA = parse({"type": "object", "properties": {"spec": SPEC}})
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*SPEC["properties"], "x", "port"]), inner, max_size=3)
    ),
    max_leaves=12,
)
SPECS = st.dictionaries(st.sampled_from([*SPEC["properties"], "nope"]), JSON_VALUES, max_size=5)
OBJECTS = st.fixed_dictionaries(
    {"spec": SPECS | SCALARS}, optional={"metadata": st.just({"name": "a"}), "extra": SCALARS}
)


def shaped(spec: dict[str, Any]) -> Any:
    return default(prune({"spec": spec}, SCHEMA)[0], SCHEMA)["spec"]


FULL = {"size": 2, "tuned": {"mode": "auto", "level": 3}}
SHAPED = [
    pytest.param({}, FULL, id="an empty spec has its defaults, and defaults of defaults"),
    pytest.param({"nope": 1, "size": 5}, {**FULL, "size": 5}, id="an unknown field goes"),
    pytest.param({"size": None}, FULL, id="null gives way to a default"),
    pytest.param({"name": None}, FULL, id="null without a default goes"),
    pytest.param({"note": None}, {**FULL, "note": None}, id="null that is allowed stays"),
    pytest.param(
        {"raw": {"x": {"y": None}}},
        {**FULL, "raw": {"x": {"y": None}}},
        id="a preserved object stays as it is",
    ),
    pytest.param(
        {"ports": [{"port": 1, "z": 2}]},
        {**FULL, "ports": [{"port": 1, "proto": "TCP"}]},
        id="items are shaped too",
    ),
    pytest.param(
        {"tuned": {}},
        {"size": 2, "tuned": {"level": 3}},
        id="an object that is given takes no default of the whole",
    ),
    pytest.param({"size": 1e30}, {**FULL, "size": 1e30}, id="a float beyond 64 bits stays one"),
    pytest.param({"size": 3.0}, {**FULL, "size": 3}, id="a whole float becomes an integer"),
]


@pytest.mark.parametrize(("spec", "expected"), SHAPED)
def test_what_a_spec_becomes(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert shaped(spec) == expected


def test_defaults_make_no_parent() -> None:
    assert default({}, SCHEMA) == {}


def test_unknown_fields_are_named_by_path() -> None:
    obj = {"spec": {"zz": 1, "ports": [{"port": 1, "huh": 2}]}, "metadata": {"labelz": {}}, "more": 1}
    assert prune(obj, SCHEMA)[1] == ["metadata.labelz", "more", "spec.ports[0].huh", "spec.zz"]


@given(OBJECTS)
def test_shaping_twice_is_shaping_once_and_changes_no_input(obj: dict[str, Any]) -> None:
    before = copy.deepcopy(obj)
    once = default(prune(obj, SCHEMA)[0], SCHEMA)
    assert obj == before
    again, unknown = prune(once, SCHEMA)
    assert unknown == []
    assert default(again, SCHEMA) == once


@given(OBJECTS, OBJECTS)
def test_judging_never_fails_and_what_is_unchanged_is_let_through(
    obj: dict[str, Any], old: dict[str, Any]
) -> None:
    made = default(prune(obj, SCHEMA)[0], SCHEMA)
    for cause in validate(made, SCHEMA, old):
        assert cause.field
        assert cause.reason.startswith("FieldValue")
    assert [c for c in validate(made, SCHEMA, made) if c.reason != "FieldValueDuplicate"] == []
