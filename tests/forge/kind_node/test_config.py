"""The stand-in for kubeadm reads what it needs of either form of kubeadm's configuration."""

from __future__ import annotations

import pytest

from tests.kind.node.config import Config, parse

CLUSTER = "kind: ClusterConfiguration\ncontrolPlaneEndpoint: a-control-plane:6443\n"
INIT = "kind: InitConfiguration\nbootstrapTokens: [{token: abcdef.0123456789abcdef}]\n"
JOIN = (
    "kind: JoinConfiguration\n"
    "discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: 'a-control-plane:6443'}}\n"
)
WHOLE = Config("a-control-plane:6443", "abcdef.0123456789abcdef", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"{CLUSTER}---\n{INIT}", WHOLE, id="a control plane's"),
        pytest.param(JOIN, WHOLE, id="a worker's"),
        pytest.param(
            f"{CLUSTER}---\n{INIT}---\n{JOIN}---\n", WHOLE, id="all documents in one file, as kind's"
        ),
        pytest.param(CLUSTER, Config("a-control-plane:6443", "", {}), id="no token"),
    ],
)
def test_it_finds_endpoint_and_token(text: str, expected: Config) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            "{node-labels: 'tier=backend,zone=a'}", {"tier": "backend", "zone": "a"}, id="a map, v1beta3"
        ),
        pytest.param("[{name: node-labels, value: tier=backend}]", {"tier": "backend"}, id="a list, v1beta4"),
        pytest.param("{node-labels: ''}", {}, id="no labels"),
        pytest.param("{node-labels: 'bare='}", {"bare": ""}, id="an empty label"),
        pytest.param("{}", {}, id="no arguments"),
    ],
)
def test_it_finds_the_labels_of_the_node(arguments: str, expected: dict[str, str]) -> None:
    text = f"{INIT}nodeRegistration: {{kubeletExtraArgs: {arguments}}}\n"
    assert parse(text).labels == expected
