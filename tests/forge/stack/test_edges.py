"""What waits for what: list order, captures, files that are written, and what Forge makes on disk."""

from __future__ import annotations

import pytest

from forge.plan.lab_resources import StepResource
from forge.plan.values import Desired, Key, Need
from forge.spec.load import load_text
from forge.spec.model import Environment
from forge.stack.edges import with_edges

FILE = """
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {provider: embedded}
  secrets: [{name: key}]
  certificates:
    authorities: [{name: ca}]
    leaves: [{name: web, authority: ca, secrets: [{cluster: east, name: tls}]}]
  clusters:
    - {name: east, stacks: [base, gateway]}
    - {name: west, stacks: [seeds]}
  stacks:
    base:
      steps:
        - {type: manifest, path: base.yaml}
        - {type: capture, resource: service/x, jsonpath: "{.spec.clusterIP}", key: ip, timeout: 5s, interval: 1s}
    gateway:
      steps:
        - {type: template-file, source: web.yaml, target: ".forge/runtime/{{ cluster.name }}/web.yaml"}
        - {type: wait, resource: deployment/x, condition: available, timeout: 5s}
    seeds:
      steps:
        - {type: configmap, name: seeds, data: {seed: "{{ captures.east.ip }}:1"}}
        - {type: configmap, name: pins, data: {pin: "{{ certificates.web.sha256 }}"}}
  images: [{name: "app:1", process: []}]
  services:
    - name: edge
      image: app:1
      volumes:
        - {source: .forge/runtime/east, target: /config}
        - {source: .forge/runtime/certs/web, target: /certs}
        - {source: .forge/secrets/key, target: /key}
      env: {BACKEND: "{{ captures.east.ip }}"}
    - {name: last, image: "app:1", after: [west/seeds]}
    - {name: alone, image: "app:1"}
"""
BASE, CAPTURE = Key("step", "east/base/01-manifest"), Key("step", "east/base/02-capture")
FILE_STEP, WAIT = Key("step", "east/gateway/01-template-file"), Key("step", "east/gateway/02-wait")
SEEDS, PINS = Key("step", "west/seeds/01-configmap"), Key("step", "west/seeds/02-configmap")
EAST, WEST = Key("cluster", "east"), Key("cluster", "west")
LEAF, SECRET, AUTHORITY = Key("certificate", "web"), Key("secret", "key"), Key("authority", "ca")
TLS = Key("certificate-secret", "east/web/default/tls")


@pytest.fixture(scope="module")
def desired() -> dict[Key, Desired]:
    spec = load_text(FILE).environment
    keys = [AUTHORITY, LEAF, SECRET, EAST, WEST, TLS]
    found = {key: Desired(key, "", "f", None) for key in keys}
    found[TLS] = Desired(TLS, "", "f", None, needs=(Need(LEAF), Need(EAST)))
    steps = flattened(spec)
    found |= {key: Desired(key, "", "f", step) for key, step in steps}
    found |= {
        Key("service", s.name): Desired(Key("service", s.name), "", "f", None) for s in spec.spec.services
    }
    return with_edges(spec, found, steps)


def flattened(spec: Environment) -> list[tuple[Key, StepResource]]:
    steps = []
    for cluster in spec.spec.clusters:
        for stack in cluster.stacks:
            for index, step in enumerate(spec.spec.stacks[stack].steps, 1):
                writes = ("ip",) if step.type == "capture" else ()
                key = Key("step", f"{cluster.name}/{stack}/{index:02}-{step.type}")
                steps.append((key, StepResource(cluster.name, stack, index, step, writes=writes)))
    return steps


def needs(desired: dict[Key, Desired], key: Key) -> set[Key]:
    return {need.key for need in desired[key].needs}


def test_the_first_step_waits_for_the_cluster_and_all_that_stacks_stand_on(
    desired: dict[Key, Desired],
) -> None:
    assert needs(desired, BASE) == {EAST, TLS, LEAF, SECRET, AUTHORITY}


def test_steps_of_a_cluster_wait_for_the_one_before_across_stacks(desired: dict[Key, Desired]) -> None:
    assert needs(desired, CAPTURE) == {EAST, BASE}
    assert needs(desired, FILE_STEP) == {EAST, CAPTURE}


def test_a_capture_makes_an_edge_into_another_cluster(desired: dict[Key, Desired]) -> None:
    assert CAPTURE in needs(desired, SEEDS)
    assert CAPTURE in desired[SEEDS].follows
    assert CAPTURE not in needs(desired, PINS)


def test_a_certificate_s_hash_is_followed(desired: dict[Key, Desired]) -> None:
    assert LEAF in desired[PINS].follows
    assert LEAF in desired[TLS].follows


def test_what_looks_follows_what_was_applied_before_it_in_its_stack(desired: dict[Key, Desired]) -> None:
    assert BASE in desired[CAPTURE].follows
    assert FILE_STEP in desired[WAIT].follows
    assert CAPTURE not in desired[WAIT].follows


def test_what_stands_in_a_cluster_goes_and_comes_with_it(desired: dict[Key, Desired]) -> None:
    assert desired[SEEDS].replaces_with == (WEST,)
    assert desired[TLS].replaces_with == (EAST,)
    assert WEST in desired[SEEDS].follows


def test_a_service_waits_for_what_writes_into_the_folders_it_mounts(desired: dict[Key, Desired]) -> None:
    assert needs(desired, Key("service", "edge")) == {FILE_STEP, LEAF, SECRET, CAPTURE}
    assert desired[Key("service", "edge")].follows == (CAPTURE,)


def test_a_service_waits_for_the_stacks_it_names(desired: dict[Key, Desired]) -> None:
    assert needs(desired, Key("service", "last")) == {PINS}


def test_a_service_of_its_own_waits_for_nothing(desired: dict[Key, Desired]) -> None:
    assert needs(desired, Key("service", "alone")) == set()
