"""The committed CRDs are the views' own, and whatever the published ones store ours store too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from grid.crd.schema import definitions, text

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "grid" / "deploy" / "crds"
PUBLISHED = ROOT.parent / "shared" / "data" / "crds"
BY_PLURAL = {made["spec"]["names"]["plural"]: made for made in definitions()}

Json = dict[str, Any]


@pytest.mark.parametrize("plural", BY_PLURAL)
def test_the_committed_file_is_what_the_views_make(plural: str) -> None:
    assert (COMMITTED / f"{plural}.yaml").read_text(encoding="utf-8") == text(BY_PLURAL[plural])


def test_nothing_else_is_committed_beside_them() -> None:
    assert {path.stem for path in COMMITTED.glob("*.yaml")} == set(BY_PLURAL)


@pytest.mark.parametrize(
    ("plural", "short", "columns"),
    [
        ("gridnetworks", "gnet", ["Grid ID", "Phase", "Sites", "Ready", "Age"]),
        ("gridsites", "gsite", ["Phase", "Network", "Role", "Region", "Ready", "Age"]),
        ("inferenceproviders", "iprov", ["Provider", "Phase", "Admission", "Ready", "Age"]),
    ],
)
def test_kubectl_shows_them_shortly(plural: str, short: str, columns: list[str]) -> None:
    spec = BY_PLURAL[plural]["spec"]
    assert spec["names"]["shortNames"] == [short]
    assert spec["scope"] == "Cluster"
    assert [column["name"] for column in spec["versions"][0]["additionalPrinterColumns"]] == columns
    assert spec["versions"][0]["subresources"] == {"status": {}}


@pytest.mark.parametrize(
    ("plural", "path", "rule"),
    [
        ("gridnetworks", "spec.admissionPolicy.pressure", "self.exitThreshold < self.enterThreshold"),
        ("gridnetworks", "spec.scoringPolicy", "!has(self.weights) || self.strategy == 'combined'"),
        (
            "gridsites",
            "spec",
            (
                "!has(self.egress) || !has(self.gatewayEndpoint) || "
                "self.egress.address == self.gatewayEndpoint.address"
            ),
        ),
    ],
)
def test_rules_between_fields(plural: str, path: str, rule: str) -> None:
    found = dict(walk(schema_of(BY_PLURAL[plural])))[path]["x-kubernetes-validations"]
    assert rule in [each["rule"] for each in found]


@pytest.mark.parametrize("plural", BY_PLURAL)
def test_the_schema_is_structural(plural: str) -> None:
    """Every node has a type and no keyword that a structural schema forbids."""
    for path, node in walk(schema_of(BY_PLURAL[plural])):
        assert "type" in node, path
        assert not node.keys() & {"$ref", "$defs", "anyOf", "title", "const", "prefixItems", "format"}, path
        assert isinstance(node.get("default"), type(None) | bool | int | float | str | list), path


@pytest.mark.parametrize("plural", BY_PLURAL)
def test_conditions_are_a_map_by_type(plural: str) -> None:
    conditions = dict(walk(schema_of(BY_PLURAL[plural])))["status.conditions"]
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_a_description_calls_fields_as_the_resource_does() -> None:
    described = dict(walk(schema_of(BY_PLURAL["gridnetworks"])))["spec.gatewayRefs[]"]["description"]
    assert "localSiteName" in described
    assert "local_site_name" not in described


@pytest.mark.shared
@pytest.mark.skipif(not PUBLISHED.exists(), reason="../shared/data/crds is not here")
@pytest.mark.parametrize(
    ("file", "plural"),
    [("gridnetwork", "gridnetworks"), ("gridsite", "gridsites"), ("inferenceprovider", "inferenceproviders")],
)
def test_every_object_valid_under_the_published_crd_is_valid_here(file: str, plural: str) -> None:
    """Field by field: the same type, no enum, bound, pattern, requirement or rule that is narrower."""
    published = yaml.safe_load((PUBLISHED / f"{file}.yaml").read_text(encoding="utf-8"))
    ours = dict(walk(schema_of(BY_PLURAL[plural])))
    problems = [
        f"{path}: {problem}"
        for path, theirs in walk(schema_of(published))
        for problem in narrower(ours.get(path, {}), theirs)
    ]
    assert problems == []
    assert published["spec"]["names"]["kind"] == BY_PLURAL[plural]["spec"]["names"]["kind"]


def schema_of(definition: Json) -> Json:
    found: Json = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def walk(node: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    yield path, node
    for name, inner in node.get("properties", {}).items():
        yield from walk(inner, f"{path}.{name}".lstrip("."))
    for keyword, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if keyword in node:
            yield from walk(node[keyword], path + mark)


# Patterns of ours that allow more than the published one they stand for.
WIDER = {
    ("^[1-9][0-9]*(ms|s|m|h)$", "^[1-9][0-9]*s$"),
    ("^[1-9][0-9]*(ms|s|m|h)$", "^([1-9][0-9]*s|[1-9][0-9]{3,}ms)$"),
}


def narrower(ours: Json, theirs: Json) -> Iterator[str]:
    if ours.get("type") != theirs.get("type"):
        yield f"type {ours.get('type')}, published {theirs.get('type')}"
    if theirs.get("nullable") and not ours.get("nullable"):
        yield "not nullable"
    if "enum" in ours and not set(theirs.get("enum", ["anything"])) <= set(ours["enum"]):
        yield "enum"
    if set(ours.get("required", ())) - set(theirs.get("required", ())):
        yield "requires more"
    for least in ("minimum", "minLength", "minItems"):
        if least in ours and ours[least] > theirs.get(least, float("-inf")):
            yield least
    for most in ("maximum", "maxLength", "maxItems"):
        if most in ours and ours[most] < theirs.get(most, MOST.get(theirs.get("format", ""), float("inf"))):
            yield most
    patterns = (ours.get("pattern"), theirs.get("pattern"))
    if patterns[0] not in {None, patterns[1]} and patterns not in WIDER:
        yield "pattern"
    rules = {each["rule"] for each in theirs.get("x-kubernetes-validations", ())}
    new = set(theirs.get("properties", ()))
    for each in ours.get("x-kubernetes-validations", ()):
        if each["rule"] not in rules and not names_a_new_field(each["rule"], ours, new):
            yield f"rule {each['rule']}"


# What Kubernetes' own decoder of the published format holds beyond the schema.
MOST = {"uint16": 2**16 - 1, "uint32": 2**32 - 1}


def names_a_new_field(rule: str, ours: Json, published: set[str]) -> bool:
    """A rule that holds whenever a field the published CRD does not have is absent."""
    return any(f"!has(self.{name})" in rule for name in ours["properties"] if name not in published)
