"""Clusters have what their driver needs, and nothing it cannot use."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import HEAD, told


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        pytest.param("driver: existing, context: prod", [], id="existing with its context"),
        pytest.param("driver: existing", ['FG0125 6:32 "a" exists already, and Forge must know its kubeconfig context'], id="existing without"),
        pytest.param("context: prod", ["FG0125 6:24 context is only for a cluster with driver: existing"], id="a context without the driver"),
        pytest.param("driver: embedded, nodeImage: x", ["FG0125 6:42 nodeImage is only for a KIND cluster, and this one has driver: embedded"], id="a node image on embedded"),
        pytest.param("driver: existing, context: c, kindConfig: {}", ["FG0125 6:54 kindConfig is only for a KIND cluster, and this one has driver: existing"], id="a KIND configuration elsewhere"),
        pytest.param("driver: kind, nodeImage: x, kindConfig: {networking: {}}", [], id="KIND with both"),
        pytest.param("nodeImage: x", [], id="a node image where the driver is open"),
    ],
)  # fmt: skip
def test_drivers(cluster: str, expected: list[str]) -> None:
    assert told(f"  clusters: [{{name: a, {cluster}}}]\n") == expected


def test_embedded_has_no_engine_for_kind() -> None:
    head = HEAD.replace("runtime: {}", "runtime: {provider: embedded}")
    assert told("  clusters: [{name: a, driver: kind}]\n", head=head) == [
        "FG0125 6:32 the embedded runtime has no container engine for a KIND cluster"
    ]


FORWARD = "{type: core-dns-forward, zone: x.test, upstreams: [10.0.0.2]}"


@pytest.mark.parametrize(
    "steps",
    [FORWARD, f"{{type: for-each, property: p, steps: [{FORWARD}]}}"],
    ids=["in the stack", "inside for-each"],
)
def test_forwarding_needs_a_shared_network(steps: str) -> None:
    stack = f"  stacks: {{s: {{steps: [{steps}]}}}}\n"
    assert [line[:6] for line in told(stack)] == ["FG0126"]
    assert told("  network: {crossCluster: true}\n" + stack) == []
    assert [line[:6] for line in told("  network: {crossCluster: yes}\n" + stack)] == ["FG0104"]


def test_a_capture_key_has_no_dots_unless_a_template_has() -> None:
    def keyed(key: str) -> list[str]:
        step = f'{{type: capture, resource: a, jsonpath: "{{.x}}", key: "{key}", timeout: 1s, interval: 1s}}'
        return told(f"  stacks: {{s: {{steps: [{{type: for-each, property: p, steps: [{step}]}}]}}}}\n")

    assert keyed("a-b") == []
    assert keyed("{{ item.name }}") == []
    assert [line[:6] for line in keyed("a.b")] == ["FG0104"]


def test_podman_shares_at_best() -> None:
    head = HEAD.replace("runtime: {}", "runtime: {provider: podman}")
    assert [line[:14] for line in told("  network: {crossCluster: true}\n", head=head)] == ["warning FG0127"]
    assert told("  network: {crossCluster: false}\n", head=head) == []


@pytest.mark.parametrize(
    ("network", "fits"),
    [
        pytest.param("subnet: 10.9.0.0/24", True, id="two pools of twenty in 256"),
        pytest.param("subnet: 10.9.0.0/27", False, id="two pools of twenty in 32"),
        pytest.param("subnet: 10.9.0.0/27, loadBalancer: {poolSize: 12}", True, id="24 in pools, 2 nodes, 3 reserved: 29 of 32"),
        pytest.param("subnet: 10.9.0.0/27, loadBalancer: {poolSize: 14}", False, id="28 in pools, 2 nodes, 3 reserved: 33 of 32"),
        pytest.param("subnet: 10.9.0.0/28, loadBalancer: {type: none}", True, id="no pools"),
        pytest.param("crossCluster: true", True, id="a subnet Forge chooses"),
    ],
)  # fmt: skip
def test_the_subnet_has_room(network: str, fits: bool) -> None:
    found = told(
        f"  network: {{{network}}}\n  clusters: [{{name: a}}, {{name: b}}, {{name: c, driver: existing, context: x}}]\n"
    )
    assert [line[:15] for line in found] == ([] if fits else ["FG0114 6:21 the"])
