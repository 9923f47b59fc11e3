"""What a step names is known before it runs, as far as it can be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.kinds.step import kind
from forge.plan.facts import Facts
from forge.plan.lab_ports import ObjectRef
from forge.plan.lab_resources import StepResource
from forge.spec.steps import KustomizeStep, UrlStep
from forge.stack.named import Named, named
from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.step_lab import StepLab

OBJECT = "apiVersion: {}\nkind: {}\nmetadata: {{name: {}}}\n"


@pytest.fixture
def lab(tmp_path: Path) -> StepLab:
    lab = StepLab(tmp_path, lambda name: FakeKube(FakeCluster(), name))
    lab.write("d/a.yaml", OBJECT.format("v1", "Secret", "a"))
    lab.write("d/b.yaml", OBJECT.format("lab.test/v1", "Widget", "b"))
    lab.write("t.yaml", OBJECT.format("v1", "ConfigMap", '"t-{{ cluster.name }}"'))
    lab.write("c.yaml", OBJECT.format("v1", "ConfigMap", '"c-{{ captures.east.x }}"'))
    return lab


def built(step: UrlStep | KustomizeStep) -> bytes:
    if isinstance(step, KustomizeStep):
        raise OperationFailed("FG0740", "kubectl says no")
    return OBJECT.format("v1", "Namespace", "from-url").encode()


def found(lab: StepLab, *steps: str) -> Named:
    desired = kind.desire(lab.spec(*steps), replace(lab.context(), facts=Facts(pools={"east": "a-b"})))
    resources = [d.resource for d in desired if isinstance(d.resource, StepResource)]
    return named(resources, lab.files, built)


CAPTURE = '{type: capture, resource: svc/a, jsonpath: "{.x}", key: x, timeout: 1s, interval: 1s}'


@pytest.mark.parametrize(
    ("step", "objects"),
    [
        ("{type: manifest, path: d}", {("", "Secret", "", "a"), ("lab.test", "Widget", "", "b")}),
        ("{type: template-manifest, path: t.yaml}", {("", "ConfigMap", "", "t-east")}),
        ("{type: deployment, name: w, image: i}", {("apps", "Deployment", "default", "w")}),
        ("{type: service, name: w, port: 1, namespace: n}", {("", "Service", "n", "w")}),
        ("{type: configmap, name: c}", {("", "ConfigMap", "default", "c")}),
        ("{type: secret, name: s}", {("", "Secret", "default", "s")}),
        ("{type: exec, command: [x]}", set()),
        (
            "{type: metallb-auto-pool, name: p}",
            {
                ("metallb.io", "IPAddressPool", "metallb-system", "p"),
                ("metallb.io", "L2Advertisement", "metallb-system", "p-l2"),
            },
        ),
        (f"{{type: url, url: 'https://x/', sha256: {'0' * 64}}}", {("", "Namespace", "", "from-url")}),
        ("{type: configmap, name: c, when: 'a == b'}", set()),
        (
            "{type: for-each, property: zones, steps: [{type: template-manifest, path: t.yaml}]}",
            {("", "ConfigMap", "", "t-east")},
        ),
    ],
    ids=lambda value: value.split(",")[0].removeprefix("{type: ") if isinstance(value, str) else "",
)
def test_what_a_step_names(lab: StepLab, step: str, objects: set[tuple[str, str, str, str]]) -> None:
    assert found(lab, step) == Named(frozenset(objects), frozenset())


def test_what_cannot_be_known_now_is_told_by_type(lab: StepLab) -> None:
    steps = (
        CAPTURE,
        "{type: template-manifest, path: c.yaml}",
        "{type: kustomize, path: d}",
        "{type: configmap, name: c}",
    )
    assert found(lab, *steps).unknown == {"template-manifest", "kustomize"}


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        (ObjectRef("v1", "Secret", "default", "a"), True),
        (ObjectRef("v1", "Secret", "elsewhere", "a"), False),
        (ObjectRef("lab.test/v2", "Widget", "default", "b"), True),
        (ObjectRef("lab.test/v1", "Widget", "", "b"), True),
        (ObjectRef("other.test/v1", "Widget", "default", "b"), False),
    ],
)
def test_an_object_is_known_again_in_any_version(lab: StepLab, ref: ObjectRef, expected: bool) -> None:
    assert found(lab, "{type: manifest, path: d}").has(ref) is expected
