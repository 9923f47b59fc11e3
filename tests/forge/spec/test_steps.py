"""Each step type knows what it needs and what of it is rendered."""

from __future__ import annotations

import pytest

from forge.spec.known import step_types
from forge.spec.steps import StepShape
from tests.forge.spec.reading import problems

NEEDS = {
    "url": ["url", "sha256"],
    "manifest": ["path"],
    "kustomize": ["path"],
    "helm": ["release", "chart", "version"],
    "deployment": ["name", "image"],
    "service": ["name", "port"],
    "wait": ["resource", "condition", "timeout"],
    "exec": ["command"],
    "for-each": ["property", "steps"],
    "metallb-auto-pool": ["name"],
    "core-dns-forward": ["zone", "upstreams"],
    "capture": ["resource", "jsonpath", "key", "timeout", "interval"],
    "template-manifest": ["path"],
    "template-file": ["source", "target"],
    "configmap": ["name"],
    "secret": ["name"],
    "kubeconfig": ["serviceAccount", "namespace", "target"],
    "http-wait": ["url", "timeout"],
}


@pytest.mark.parametrize(("kind", "keys"), NEEDS.items(), ids=NEEDS)
def test_what_a_step_needs(kind: str, keys: list[str]) -> None:
    found = problems(f"  stacks: {{s: {{steps: [{{type: {kind}}}]}}}}\n")
    assert sorted(p.message for p in found) == sorted(f'"{key}" is missing' for key in keys)


def test_every_type_is_tried_above() -> None:
    assert set(step_types()) == {*NEEDS, "delete"}


def test_what_is_rendered_is_a_field_of_its_step() -> None:
    for shape in StepShape.__subclasses__():
        assert set(shape.TEMPLATED) <= set(shape.model_fields), shape.__name__


@pytest.mark.parametrize(
    "step",
    [
        "{type: manifest, path: a, timeout: 1}",
        "{type: manifest, path: a, retries: 101}",
        "{type: manifest, path: a, when: ' '}",
        "{type: manifest, path: a, retries: -1}",
    ],
)
def test_what_any_step_may_say_is_checked(step: str) -> None:
    assert [p.code for p in problems(f"  stacks: {{s: {{steps: [{step}]}}}}\n")] == ["FG0104"]
