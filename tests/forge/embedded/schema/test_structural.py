"""A schema that cannot be served is refused with every reason, in the server's words."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.api.schema.structural import SchemaInvalid, parse

AT = "spec.validation.openAPIV3Schema"


def around(field: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": field}}


def refusals(openapi: dict[str, Any]) -> list[tuple[str, str]]:
    try:
        parse(openapi)
    except SchemaInvalid as wrong:
        return [(c.field.removeprefix(AT), c.message) for c in wrong.causes]
    return []


REFUSED = [
    pytest.param(
        {}, [(".type", "Required value: must not be empty at the root")], id="a root without a type"
    ),
    pytest.param(
        {"type": "string"},
        [(".type", 'Invalid value: "string": must be object at the root')],
        id="a root that is a string",
    ),
    pytest.param(
        around({"minimum": 1}),
        [(".properties[a].type", "Required value: must not be empty for specified object fields")],
        id="a field without a type",
    ),
    pytest.param(
        around({"type": "array", "items": {}}),
        [(".properties[a].items.type", "Required value: must not be empty for specified array items")],
        id="items without a type",
    ),
    pytest.param(
        around({"type": "array"}),
        [(".properties[a].items", "Required value: must be specified")],
        id="an array without items",
    ),
    pytest.param(
        around({"type": "text"}),
        [
            (
                ".properties[a].type",
                'Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
            )
        ],
        id="an unknown type",
    ),
    pytest.param(
        around({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
        [
            (
                ".properties[a].x-kubernetes-preserve-unknown-fields",
                "Invalid value: false: must be true or undefined",
            )
        ],
        id="preserve-unknown-fields that says false",
    ),
    pytest.param(
        around({"type": "object", "x-kubernetes-map-type": "set"}),
        [
            (
                ".properties[a].x-kubernetes-map-type",
                'Unsupported value: "set": supported values: "atomic", "granular"',
            )
        ],
        id="an unknown map type",
    ),
    pytest.param(
        around({"type": "string", "x-kubernetes-list-type": "set"}),
        [
            (
                ".properties[a].type",
                'Invalid value: "string": must be array if x-kubernetes-list-type is specified',
            )
        ],
        id="a list type on a string",
    ),
    pytest.param(
        around({"type": "object", "anyOf": [{"type": "object"}]}),
        [(".properties[a].anyOf[0].type", "Forbidden: must be empty to be structural")],
        id="a type inside anyOf",
    ),
    pytest.param(
        around({"type": "object", "x-kubernetes-embedded-resource": True}),
        [
            (
                ".properties[a].properties",
                (
                    "Required value: must not be empty if x-kubernetes-embedded-resource is true without"
                    " x-kubernetes-preserve-unknown-fields"
                ),
            )
        ],
        id="an embedded resource that keeps nothing",
    ),
    pytest.param(
        around({"type": "string", "pattern": "a(?=b)"}),
        [
            (
                ".properties[a].pattern",
                (
                    'Invalid value: "a(?=b)": must be a valid regular expression, but isn\'t: error parsing regexp:'
                    " invalid or unsupported Perl syntax: `(?=`"
                ),
            )
        ],
        id="a pattern RE2 does not know",
    ),
    pytest.param(
        around({"type": "string", "default": 3}),
        [(".properties[a].default", 'Invalid value: "integer":  in body must be of type string: "integer"')],
        id="a default of another type",
    ),
    pytest.param(
        around({"type": "object", "x-kubernetes-validations": [{"rule": "self.zz == 1"}]}),
        [
            (
                ".properties[a].x-kubernetes-validations[0].rule",
                (
                    'Invalid value: apiextensions.ValidationRule{Rule:"self.zz == 1", Message:"", MessageExpression:"",'
                    ' Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:"", OptionalOldSelf:(*bool)(nil)}:'
                    " compilation failed: ERROR: <input>:1:5: undefined field 'zz'\n | self.zz == 1\n | ....^"
                ),
            )
        ],
        id="a rule on a field that is not declared",
    ),
]


LIST = {
    "type": "array",
    "items": {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]},
}
MAP = {**LIST, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
OBJECT_KEY = {"type": "object", "properties": {"k": {"type": "object"}}, "required": ["k"]}
NULLABLE_KEY = {
    "type": "object",
    "properties": {"k": {"type": "string", "nullable": True}},
    "required": ["k"],
}
SHORT = [
    ({"type": "null"}, ".type", "Forbidden: type cannot be set to null, use nullable as an alternative"),
    ({"$ref": "#/x", "type": "object"}, ".$ref", "Forbidden: $ref is not supported"),
    (
        {"type": "array", "items": [{"type": "string"}]},
        ".items",
        "Forbidden: items must be a schema object and not an array",
    ),
    (
        {**LIST, "x-kubernetes-list-type": "bag"},
        ".x-kubernetes-list-type",
        'Unsupported value: "bag": supported values: "atomic", "map", "set"',
    ),
    (
        {**LIST, "x-kubernetes-list-map-keys": ["k"]},
        ".x-kubernetes-list-type",
        "Required value: must be map if x-kubernetes-list-map-keys is non-empty",
    ),
    (
        {**MAP, "x-kubernetes-list-type": "atomic"},
        ".x-kubernetes-list-type",
        'Invalid value: "atomic": must be map if x-kubernetes-list-map-keys is non-empty',
    ),
    (
        {**MAP, "items": {"type": "string"}},
        ".items.type",
        'Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
    ),
    (
        {**MAP, "x-kubernetes-list-map-keys": ["k", "k"]},
        ".x-kubernetes-list-map-keys",
        'Invalid value: []string{"k", "k"}: must not contain duplicate entries',
    ),
    (
        {**MAP, "items": OBJECT_KEY},
        ".items.properties[k].type",
        'Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
    ),
    (
        {**MAP, "items": NULLABLE_KEY},
        ".items.properties[k].nullable",
        "Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
    ),
    (
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": True}},
        ".items.nullable",
        "Forbidden: cannot be nullable when x-kubernetes-list-type is set",
    ),
    (
        {"x-kubernetes-map-type": "atomic"},
        ".type",
        "Required value: must be object if x-kubernetes-map-type is specified",
    ),
    (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {}, "default": None},
        ".default",
        "Required value: must not be null",
    ),
    (
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}},
            "anyOf": [{"properties": {"y": {"minimum": 1}}}],
        },
        ".properties[y]",
        "Required value: because it is defined in properties[a].anyOf[0].properties[y]",
    ),
    (
        {"type": "array", "items": {"type": "string"}, "not": {"items": {"default": "x"}}},
        ".not.items.default",
        "Forbidden: must be empty to be structural",
    ),
    (
        {
            "type": "string",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        ".type",
        'Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
    ),
]


@pytest.mark.parametrize(("field", "at", "told"), SHORT, ids=[told for _, _, told in SHORT])
def test_what_a_field_may_not_say(field: dict[str, Any], at: str, told: str) -> None:
    assert (f".properties[a]{at}", told) in refusals(around(field))


ROOTS = [
    ({"type": "object", "nullable": True}, ".nullable", "Forbidden: nullable cannot be true at the root"),
    (
        {"type": "object", "additionalProperties": {"type": "string"}},
        ".additionalProperties",
        "Forbidden: additionalProperties cannot be used at the root",
    ),
    (
        {"type": "object", "properties": {"kind": {"type": "integer"}}},
        ".properties[kind].type",
        'Invalid value: "integer": must be string',
    ),
]


@pytest.mark.parametrize(("openapi", "at", "told"), ROOTS, ids=[told for _, _, told in ROOTS])
def test_what_the_root_may_not_say(openapi: dict[str, Any], at: str, told: str) -> None:
    assert refusals(openapi) == [(at, told)]


@pytest.mark.parametrize(("openapi", "expected"), REFUSED)
def test_what_is_refused(openapi: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert refusals(openapi) == expected


ACCEPTED = [
    pytest.param(
        around({"type": "string", "x-kubernetes-int-or-string": True}), id="a type beside int-or-string"
    ),
    pytest.param(around({"x-kubernetes-preserve-unknown-fields": True}), id="anything"),
    pytest.param(
        around({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}),
        id="a map of quantities",
    ),
    pytest.param(around({"type": "object", "additionalProperties": False}), id="additionalProperties: false"),
]


@pytest.mark.parametrize("openapi", ACCEPTED)
def test_what_is_accepted(openapi: dict[str, Any]) -> None:
    assert refusals(openapi) == []


def test_several_violations_are_all_named() -> None:
    openapi = {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "x"}}}
    assert [field for field, _ in refusals(openapi)] == [".properties[a].items", ".properties[b].type"]


def test_metadata_has_its_own_shape_whatever_is_written() -> None:
    schema = parse({"type": "object", "properties": {"metadata": {"type": "object"}}})
    assert "ownerReferences" in schema.properties["metadata"].properties
