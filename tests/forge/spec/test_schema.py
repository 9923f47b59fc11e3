"""The JSON schema says of every key what it is, and takes what the models take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from forge.spec.load import load, load_text
from forge.spec.nodes import plain
from forge.spec.schema import schema
from tests.forge.spec.reading import HEAD, SHARED
from tests.forge.spec.test_model import EVERYTHING


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return json.loads(json.dumps(schema()))  # type: ignore[no-any-return]  # JSON


def test_it_names_its_draft_and_itself(made: dict[str, Any]) -> None:
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert made["title"]
    assert made["$id"].startswith("https://forge.praxis.dev/v1alpha1/")


def test_every_key_has_a_description_and_is_camel_case(made: dict[str, Any]) -> None:
    for name, shape in [("Environment", made), *made["$defs"].items()]:
        assert shape["description"], name
        for key, value in shape.get("properties", {}).items():
            assert value.get("description") or "$ref" in value, f"{name}.{key}"
            assert "_" not in key, f"{name}.{key}"
            assert "title" not in value, f"{name}.{key}"


def test_unknown_keys_are_refused_everywhere(made: dict[str, Any]) -> None:
    shapes = {name: shape for name, shape in made["$defs"].items() if "properties" in shape}
    assert {name for name, shape in shapes.items() if shape["additionalProperties"] is not False} == set()


def test_choices_and_patterns_are_in_it(made: dict[str, Any]) -> None:
    service = made["$defs"]["Service"]["properties"]
    assert service["restart"]["enum"] == ["no", "on-failure", "always", "unless-stopped"]
    assert service["name"]["pattern"].startswith("^[a-z0-9]")
    assert made["$defs"]["PortMapping"]["properties"]["host"] == {
        "description": "Port on this machine, 1 to 65535.", "maximum": 65535, "minimum": 1, "type": "integer",
    }  # fmt: skip


def _misfits(value: object, shape: dict[str, Any], made: dict[str, Any], path: str = "$") -> Iterator[str]:
    """Enough of JSON Schema for this schema: references, choices, types, properties, items."""
    if "$ref" in shape:
        yield from _misfits(value, made["$defs"][shape["$ref"].rsplit("/", 1)[1]], made, path)
        return
    choices = shape.get("anyOf", shape.get("oneOf"))
    if choices and all(list(_misfits(value, part, made, path)) for part in choices):
        yield f"{path}: none of the choices"
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "null": type(None),
    }
    if "type" in shape and not isinstance(value, types[shape["type"]]):
        yield f"{path}: not {shape['type']}"
        return
    if ("const" in shape and value != shape["const"]) or ("enum" in shape and value not in shape["enum"]):
        yield f"{path}: not the value"
    if isinstance(value, dict) and "properties" in shape:
        yield from (f"{path}.{key}: missing" for key in shape.get("required", ()) if key not in value)
        for key, inner in value.items():
            known = shape["properties"].get(key)
            yield from _misfits(inner, known, made, f"{path}.{key}") if known else [f"{path}.{key}: unknown"]
    if isinstance(value, list) and isinstance(shape.get("items"), dict):
        for index, inner in enumerate(value):
            yield from _misfits(inner, shape["items"], made, f"{path}[{index}]")


def _written(text: str) -> object:
    return plain(load_text(text).source.root)


def test_what_the_models_take_fits(made: dict[str, Any]) -> None:
    assert list(_misfits(_written(EVERYTHING), made, made)) == []
    short = HEAD + "  services: [{name: a, image: x, dependsOn: [b]}, {name: b, image: x}]\n"
    assert list(_misfits(_written(short), made, made)) == []


@pytest.mark.parametrize(
    "service", [{"name": "a"}, {"name": "a", "image": "x", "bogus": 1}, {"name": "a", "image": "x", "restart": "x"},
                {"name": "a", "image": "x", "dependsOn": [{"nome": "b"}]}, {"name": "a", "image": "x", "dependsOn": [1]}],
)  # fmt: skip
def test_what_the_models_refuse_does_not(service: dict[str, object], made: dict[str, Any]) -> None:
    file = {"apiVersion": "forge.praxis.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "a"}}
    assert list(_misfits({**file, "spec": {"runtime": {}, "services": [service]}}, made, made))


@pytest.mark.shared
@pytest.mark.parametrize(
    "file", sorted(SHARED.rglob("forge*.yaml")), ids=lambda f: f"{f.parent.name}/{f.name}"
)
def test_topologies_fit(file: object, made: dict[str, Any]) -> None:
    loaded = load(SHARED.joinpath(str(file)))
    assert list(_misfits(plain(loaded.source.root), made, made)) == []
