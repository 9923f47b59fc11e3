"""Version 2 says what version 3 says, as far as it has words, and kubectl's form of it the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from forge.embedded.api.openapi import gnostic, swagger, wire
from forge.embedded.api.openapi.document import Served
from tests.forge.embedded.openapi.test_document import LEASES, NODES, PODS, VERBS, references
from tests.forge.embedded.recorded import needs_recordings, pairs

GROUPS = [("", "v1", (PODS, NODES)), ("coordination.k8s.io", "v1", (LEASES,))]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
            {"type": "object", "properties": {"a": {"type": "string"}}},
            id="defaults are the server's",
        ),
        pytest.param(
            {"description": "d", "default": {}, "allOf": [{"$ref": "#/components/schemas/x.Y"}]},
            {"description": "d", "$ref": "#/definitions/x.Y"},
            id="a reference stands beside its description",
        ),
        pytest.param(
            {"type": "string", "nullable": True, "description": "d", "pattern": "x"},
            {"description": "d"},
            id="nothing is said of what may be null",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            {"x-kubernetes-int-or-string": True},
            id="an integer or a string",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}},
            {"x-kubernetes-preserve-unknown-fields": True},
            id="anything goes",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            id="maps and lists",
        ),
    ],
)
def test_a_schema_in_the_words_of_version_2(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert swagger.converted(schema) == expected


def test_definitions_lead_to_each_other_and_know_their_kinds() -> None:
    made = swagger.definitions(GROUPS)
    assert references(made) <= set(made)
    options = made["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]["x-kubernetes-group-version-kind"]
    assert {kind["group"] for kind in options} == {"", "coordination.k8s.io"}
    assert made["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"] == [
        {"group": "", "kind": "Pod", "version": "v1"}
    ]


def test_the_protobuf_form_is_the_same_document() -> None:
    made = swagger.definitions(GROUPS)
    schema = {"minimum": -1.5, "maxLength": 300, "uniqueItems": True, "enum": ["a", 1], "title": "ä"}
    made["odd"] = schema | {"additionalProperties": False, "exclusiveMinimum": False, "minItems": 0}
    message = gnostic.document(swagger.head()) + gnostic.definitions(made)
    found = wire.fields(message)
    assert _text(found[1][0]) == "2.0"
    (held,) = found[9]
    assert isinstance(held, bytes)
    assert dict(map(_named, wire.fields(held)[1])) == made


def _schema(message: bytes) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for number, values in wire.fields(message).items():
        if number in _NUMBERS:
            word, read = _NUMBERS[number]
            made[word] = read(values[0])
        elif number == 19:
            made["required"] = [_text(v) for v in values]
        elif number == 20:
            made["enum"] = [_any(_bytes(v)) for v in values]
        elif number == 21:
            made["additionalProperties"] = _additional(wire.fields(_bytes(values[0])))
        elif number == 31:
            for pair in map(_bytes, values):
                parts = wire.fields(pair)
                made[_text(parts[1][0])] = _any(_bytes(parts[2][0]))
    return made


def _additional(parts: Mapping[int, list[int | bytes]]) -> Any:
    return bool(parts[2][0]) if 2 in parts else _schema(_bytes(parts[1][0]))


def _named(pair: int | bytes) -> tuple[str, dict[str, Any]]:
    parts = wire.fields(_bytes(pair))
    return _text(parts[1][0]), _schema(_bytes(parts[2][0]))


def _any(message: bytes) -> Any:
    return json.loads(_text(wire.fields(message)[2][0]))


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


def _bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value


_NUMBERS: dict[int, tuple[str, Callable[[Any], Any]]] = {
    1: ("$ref", _text),
    2: ("format", _text),
    3: ("title", _text),
    4: ("description", _text),
    8: ("exclusiveMaximum", bool),
    9: ("minimum", wire.double),
    10: ("exclusiveMinimum", bool),
    11: ("maxLength", int),
    15: ("minItems", int),
    16: ("uniqueItems", bool),
    22: ("type", lambda v: _text(wire.fields(v)[1][0])),
    23: ("items", lambda v: _schema(_bytes(wire.fields(v)[1][0]))),
    25: ("properties", lambda v: dict(map(_named, wire.fields(v)[1]))),
}


@pytest.mark.shared
@needs_recordings
def test_the_recorded_definition_of_a_custom_resource() -> None:
    recorded = pairs("kube-apiserver-1.32-cr-openapi")
    expected = next(p for p in recorded if p["id"] == "v2")["response"]["body"]
    spec = next(p for p in recorded if p["id"].startswith("crd-create"))["response"]["body"]["spec"]
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    toys = Served("toys", "Toy", "ToyList", True, VERBS, (), schema)
    made = swagger.definitions([("demo.test", "v1", (toys,))])
    assert made["test.demo.v1.Toy"] == expected["definitions.test\\.demo\\.v1\\.Toy"]
