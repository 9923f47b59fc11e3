"""Templates become the values their paths lead to, or stop the step with the path by name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.plan.facts import Facts
from forge.spec.load import load_text
from forge.spec.model import Environment
from forge.spec.services import Service
from forge.spec.steps import CaptureStep, ForEachStep, HelmStep, ManifestStep
from forge.stack.template import (
    TemplateFailed,
    holds,
    render,
    render_service,
    render_step,
    scope,
    with_item,
)

FILE = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {}
  network: {dnsZone: lab.test}
  clusters:
    - name: east
      stacks: [base]
      properties: {region: us-east, replicas: 3, ha: true, zones: [a, b], image: {tag: v1}, none: null}
  stacks:
    base:
      steps:
        - type: helm
          release: op
          chart: charts/op
          version: "1"
          values: {image: {tag: "{{ cluster.properties.image.tag }}"}, n: 2, seeds: ["{{ cluster.name }}:1"]}
        - {type: manifest, path: "sites/{{ cluster.name }}.yaml"}
        - type: for-each
          property: zones
          steps:
            - {type: capture, resource: "svc/{{ item }}", jsonpath: "{.x}", key: "ip-{{ item }}", timeout: 1s, interval: 1s}
        - {type: capture, resource: svc/a, jsonpath: "{.x}", key: ip, timeout: 1s, interval: 1s}
"""
FACTS = Facts(
    captures={"east": {"ip": "10.0.0.9"}},
    pools={"east": "10.0.0.10-10.0.0.20"},
    fingerprints={"edge": "ab" * 32, "old": "cd" * 32},
    previous={"old": "ef" * 32},
    addresses={"web": "10.0.0.2"},
    secrets={"key": "01" * 32},
)


@pytest.fixture(scope="module")
def environment() -> Environment:
    return load_text(FILE).environment


@pytest.fixture(scope="module")
def values(environment: Environment) -> dict[str, object]:
    return dict(scope(environment, FACTS, environment.spec.clusters[0], "base"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("no template", "no template", id="text without a template"),
        pytest.param("{{cluster.name}}", "east", id="no spaces"),
        pytest.param("a-{{ cluster.name }}-{{ stack.name }}", "a-east-base", id="two in one text"),
        pytest.param("{{ cluster.properties.image.tag }}", "v1", id="a field of a property"),
        pytest.param("{{ cluster.properties.zones.1 }}", "b", id="an item of a list"),
        pytest.param("{{ cluster.properties.replicas }}", "3", id="a number"),
        pytest.param("{{ cluster.properties.ha }}", "true", id="a truth"),
        pytest.param(
            "{{ network.dnsZone }} {{ network.pool }}", "lab.test 10.0.0.10-10.0.0.20", id="network"
        ),
        pytest.param("{{ captures.east.ip }}:7946", "10.0.0.9:7946", id="a capture"),
        pytest.param("{{ certificates.edge.sha256 }}", "ab" * 32, id="a fingerprint"),
        pytest.param("{{ certificates.edge.previousSha256 }}", "ab" * 32, id="never renewed: its own"),
        pytest.param("{{ certificates.old.previousSha256 }}", "ef" * 32, id="renewed: the one before"),
        pytest.param("{{ services.web.address }}", "10.0.0.2", id="an address"),
        pytest.param("{{ secrets.key.sha256 }}", "01" * 32, id="the hash of a secret"),
        pytest.param('{{ "{{" }} .Values.x }}', "{{ .Values.x }}", id="braces that are meant"),
    ],
)
def test_a_template_is_replaced_by_its_value(text: str, expected: str, values: dict[str, object]) -> None:
    assert render(text, values) == expected


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        pytest.param("{{ cluster.properties.zone }}", "cluster.properties.zone", id="no such property"),
        pytest.param("{{ cluster.properties.zones }}", "is a list", id="a list is no text"),
        pytest.param("{{ cluster.properties.none }}", "is empty", id="nothing is no text"),
        pytest.param("{{ item }}", '"item" does not exist', id="no item outside for-each"),
        pytest.param("{{ cluster.name", "never closed", id="not closed"),
        pytest.param("{{ }}", "empty", id="empty"),
        pytest.param("{{ a | b }}", "words joined by dots", id="a filter"),
        pytest.param("{{ cluster.name.x }}", "cluster.name.x", id="a field of a text"),
    ],
)
def test_what_leads_nowhere_stops_the_step(text: str, fact: str, values: dict[str, object]) -> None:
    with pytest.raises(TemplateFailed) as raised:
        render(text, values)
    assert fact in f"{raised.value.what} {raised.value.why}"


def test_a_rendered_text_has_a_bound(values: dict[str, object]) -> None:
    assert len(render("{{ cluster.name }}" * 5, values, max_bytes=20)) == 20
    with pytest.raises(TemplateFailed, match="too long"):
        render("{{ cluster.name }}" * 6, values, max_bytes=20)


def test_a_step_is_rendered_where_it_says_so(environment: Environment, values: dict[str, object]) -> None:
    helm, manifest = environment.spec.stacks["base"].steps[:2]
    rendered = render_step(helm, values)
    assert isinstance(rendered, HelmStep)
    assert rendered.values == {"image": {"tag": "v1"}, "n": 2, "seeds": ["east:1"]}
    assert render_step(manifest, values) == ManifestStep.model_validate(
        {"type": "manifest", "path": "sites/east.yaml"}
    )


def test_for_each_renders_its_steps_with_each_item(
    environment: Environment, values: dict[str, object]
) -> None:
    each = render_step(environment.spec.stacks["base"].steps[2], values)
    assert isinstance(each, ForEachStep)
    inner = render_step(each.steps[0], with_item(values, "a"))
    assert isinstance(inner, CaptureStep)
    assert (inner.resource, inner.key) == ("svc/a", "ip-a")


def test_a_service_is_rendered_in_args_and_env(environment: Environment) -> None:
    service = Service.model_validate(
        {
            "name": "a",
            "image": "x",
            "fromCluster": "east",
            "args": ["--peer={{ services.web.address }}", "plain"],
            "env": {"REGION": "{{ cluster.properties.region }}", "EMPTY": ""},
        }
    )
    rendered = render_service(service, environment, FACTS)
    assert rendered.args == ("--peer=10.0.0.2", "plain")
    assert rendered.env == {"REGION": "us-east", "EMPTY": ""}
    with pytest.raises(TemplateFailed, match=r"cluster\.properties\.region"):
        render_service(service.model_copy(update={"from_cluster": None}), environment, FACTS)


def test_a_value_cannot_turn_a_path_into_another_place(environment: Environment) -> None:
    step = ManifestStep.model_validate({"type": "manifest", "path": "{{ item }}"})
    with pytest.raises(TemplateFailed, match="invalid once it is rendered"):
        render_step(step, {"item": "/etc/passwd"})


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        pytest.param(None, True, id="no condition holds"),
        pytest.param("{{ cluster.properties.ha }}", True, id="a truth"),
        pytest.param("{{ cluster.name }}", False, id="a text that is not true"),
        pytest.param("{{ cluster.name }} == east", True, id="equal"),
        pytest.param("{{ cluster.name }} != east", False, id="not unequal"),
        pytest.param("west != {{ cluster.name }}", True, id="unequal"),
    ],
)
def test_when(when: str | None, expected: bool, values: dict[str, object]) -> None:
    assert holds(when, values) is expected


def test_a_value_with_a_sign_in_it_does_not_decide() -> None:
    assert not holds("{{ item }} == x", {"item": "x == x"})


@settings(deadline=None)
@given(st.text(alphabet='ab{} ."', max_size=30), st.text(max_size=5))
def test_any_text_renders_or_is_refused(text: str, value: str) -> None:
    try:
        rendered = render(text, {"a": value, "b": {"a": value}})
    except TemplateFailed:
        return
    assert isinstance(rendered, str)


@settings(deadline=None)
@given(st.text(max_size=50))
def test_values_are_not_rendered_again(value: str) -> None:
    assert render("<{{ item }}>", {"item": value}) == f"<{value}>"
