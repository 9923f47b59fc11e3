"""A step's fingerprint tells when doing it would do something else, and only then."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.kinds.step import kind
from forge.plan.facts import Facts
from forge.plan.values import Key
from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.step_lab import StepLab

FOR_EACH = """{type: for-each, property: zones, steps: [
  {type: capture, resource: svc/a, jsonpath: "{.x}", key: "z-{{ item }}", timeout: 1s, interval: 1s},
  {type: template-manifest, path: "t.yaml"}]}"""


@pytest.fixture
def lab(tmp_path: Path) -> StepLab:
    lab = StepLab(tmp_path, lambda name: FakeKube(FakeCluster(), name))
    lab.write("m.yaml", "kind: X\n")
    lab.write("dir/a.yaml", "kind: A\n")
    lab.write("t.yaml", "a: {{ captures.east.z-a }}\n")
    lab.write("chart/Chart.yaml", "name: c\n")
    lab.write("run.sh", "true\n")
    return lab


def fingerprint(lab: StepLab, step: str, facts: Facts | None = None) -> str:
    context = lab.context() if facts is None else replace(lab.context(), facts=facts)
    (desired,) = kind.desire(lab.spec(step.replace("\n", " ")), context)
    return desired.fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("{type: exec, command: [a]}", "{type: exec, command: [b]}", id="argument"),
        pytest.param("{type: exec, command: [a]}", "{type: exec, command: [a], env: {X: y}}", id="variable"),
        pytest.param(
            "{type: exec, command: [a]}", "{type: exec, command: [a], when: 'a == b'}", id="left out"
        ),
        pytest.param("{type: service, name: a, port: 1}", "{type: service, name: a, port: 2}", id="port"),
        pytest.param(
            "{type: configmap, name: a, data: {k: v}}", "{type: secret, name: a, data: {k: v}}", id="type"
        ),
    ],
)
def test_what_does_something_else_differs(lab: StepLab, one: str, other: str) -> None:
    assert fingerprint(lab, one) != fingerprint(lab, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            "{type: exec, command: [a]}", "{type: exec, command: [a], retries: 3, timeout: 9s}", id="patience"
        ),
        pytest.param(
            "{type: exec, command: [a]}",
            "{type: exec, command: [a], when: 'a == a'}",
            id="a condition that holds",
        ),
        pytest.param(
            "{type: exec, command: [east]}",
            "{type: exec, command: ['{{ cluster.name }}']}",
            id="written out or rendered",
        ),
    ],
)
def test_what_does_the_same_does_not(lab: StepLab, one: str, other: str) -> None:
    assert fingerprint(lab, one) == fingerprint(lab, other)


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ("{type: manifest, path: m.yaml}", "m.yaml"),
        ("{type: manifest, path: dir}", "dir/new/b.yaml"),
        ("{type: kustomize, path: dir}", "dir/kustomization.yaml"),
        ("{type: configmap, name: a, files: {f: m.yaml}}", "m.yaml"),
        ("{type: secret, name: a, files: {f: m.yaml}}", "m.yaml"),
        ("{type: delete, path: m.yaml}", "m.yaml"),
        ("{type: template-file, source: m.yaml, target: .forge/x}", "m.yaml"),
        ("{type: template-manifest, path: m.yaml}", "m.yaml"),
        ("{type: helm, release: r, chart: chart, version: '1'}", "chart/templates/a.yaml"),
        ("{type: exec, command: [sh, run.sh]}", "run.sh"),
        ("{type: http-wait, url: 'https://a/', ca: m.yaml, timeout: 1s}", "m.yaml"),
    ],
)
def test_every_file_that_is_read_counts(lab: StepLab, step: str, path: str) -> None:
    before = fingerprint(lab, step)
    assert before
    assert fingerprint(lab, step) == before
    lab.write(path, "kind: Changed\n")
    assert fingerprint(lab, step) not in ("", before)


def test_a_value_that_is_not_there_yet_leaves_it_open(lab: StepLab) -> None:
    capture = '{type: capture, resource: svc/a, jsonpath: "{.x}", key: ip, timeout: 1s, interval: 1s}'
    spec = lab.spec(capture, '{type: exec, command: [echo, "{{ captures.east.ip }}"]}')
    _, unknown = kind.desire(spec, lab.context())
    assert unknown.fingerprint == ""
    with pytest.raises(OperationFailed, match=r"captures\.east\.ip"):
        lab.settled(spec, unknown.key)
    known = replace(lab.context(), facts=Facts(captures={"east": {"ip": "1"}}))
    settled = kind.settled(spec, known, unknown.key)
    assert settled.fingerprint
    other = replace(lab.context(), facts=Facts(captures={"east": {"ip": "2"}}))
    assert kind.settled(spec, other, unknown.key).fingerprint != settled.fingerprint


def test_captures_that_it_makes_itself_do_not_count(lab: StepLab) -> None:
    before = fingerprint(lab, FOR_EACH, Facts())
    assert before
    assert fingerprint(lab, FOR_EACH, Facts(captures={"east": {"z-a": "10.0.0.1"}})) == before
    lab.write("t.yaml", "other: {{ captures.east.z-a }}\n")
    assert fingerprint(lab, FOR_EACH, Facts()) != before


def test_a_generated_secret_counts_by_its_hash_alone(lab: StepLab) -> None:
    step = "{type: secret, name: a, secrets: {k: token}}"
    one = fingerprint(lab, step, Facts(secrets={"token": "aa"}))
    assert fingerprint(lab, step, Facts(secrets={"token": "bb"})) != one
    assert fingerprint(lab, step, Facts()) == ""


def test_the_pool_counts(lab: StepLab) -> None:
    step = "{type: metallb-auto-pool, name: p}"
    assert fingerprint(lab, step, Facts(pools={"east": "a-b"})) != fingerprint(
        lab, step, Facts(pools={"east": "c-d"})
    )


def test_a_file_that_is_missing_leaves_it_open_and_stops_it_later(lab: StepLab) -> None:
    spec = lab.spec("{type: manifest, path: none.yaml}")
    (desired,) = kind.desire(spec, lab.context())
    assert desired.fingerprint == ""
    with pytest.raises(OperationFailed, match="FG0732"):
        lab.settled(spec, desired.key)


def test_a_property_that_turns_out_to_be_no_list_is_said(lab: StepLab) -> None:
    capture = '{type: capture, resource: svc/a, jsonpath: "{.x}", key: p, timeout: 1s, interval: 1s}'
    spec = lab.spec(
        capture, '{type: for-each, property: "{{ captures.east.p }}", steps: [{type: exec, command: [echo]}]}'
    )
    known = replace(lab.context(), facts=Facts(captures={"east": {"p": "region"}}))
    with pytest.raises(OperationFailed, match="FG0747"):
        kind.settled(spec, known, Key("step", "east/base/02-for-each"))


def test_a_list_that_is_too_long_is_said(lab: StepLab) -> None:
    spec = lab.spec("{type: for-each, property: zones, steps: [{type: exec, command: [echo]}]}")
    (east,) = spec.spec.clusters
    long = east.model_copy(update={"properties": {"zones": [str(n) for n in range(257)]}})
    spec = spec.model_copy(update={"spec": spec.spec.model_copy(update={"clusters": (long,)})})
    with pytest.raises(OperationFailed, match="at most 256 items"):
        lab.settled(spec, Key("step", "east/base/01-for-each"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff", "no UTF-8 text"),
        (b"{{ cluster.properties.nothing }}", r"in m\.yaml"),
        (b"{{ open", r"in m\.yaml"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_named(lab: StepLab, content: bytes, why: str) -> None:
    lab.write("m.yaml", content)
    spec = lab.spec("{type: template-manifest, path: m.yaml}")
    with pytest.raises(OperationFailed) as caught:
        lab.settled(spec, Key("step", "east/base/01-template-manifest"))
    assert re.search(why, caught.value.what)


def test_a_stand_in_that_fits_nowhere_leaves_the_step_as_it_is_written(lab: StepLab) -> None:
    step = """{type: for-each, property: zones, steps: [
      {type: capture, resource: svc/a, jsonpath: "{.x}", key: sum, timeout: 1s, interval: 1s},
      {type: url, url: "https://x/", sha256: "{{ captures.east.sum }}"}]}"""
    before = fingerprint(lab, step)
    assert before
    assert fingerprint(lab, step.replace("https://x/", "https://y/")) not in ("", before)


def test_what_a_plan_says_of_a_step(lab: StepLab) -> None:
    (desired,) = kind.desire(
        lab.spec('{type: template-file, source: m.yaml, target: ".forge/{{ cluster.name }}/x"}'),
        lab.context(),
    )
    assert (str(desired.key), desired.name, desired.in_place) == (
        "step/east/base/01-template-file",
        ".forge/east/x",
        True,
    )
    assert "token" not in repr(desired)


def test_programs_that_steps_need_are_known_before(lab: StepLab) -> None:
    spec = lab.spec(
        "{type: helm, release: r, chart: c, version: '1'}",
        "{type: for-each, property: zones, steps: [{type: exec, command: [terraform, x]}]}",
        "{type: exec, command: [./own.sh]}",
        '{type: exec, command: [west-only], when: "{{ cluster.name }} == west"}',
    )
    assert kind.tools(spec) == {"helm": "step/east/base/01-helm", "terraform": "step/east/base/02-for-each"}
    missing = kind.missing_tool(spec, lambda program: None if program == "helm" else f"/bin/{program}")
    assert missing is not None
    assert (missing.code, missing.exit_code, missing.changed) == ("FG0741", 7, False)
    assert "step/east/base/01-helm" in missing.why
    assert kind.missing_tool(spec, lambda program: program) is None
    assert kind.missing_tool(spec, lambda _: None, among=()) is None
