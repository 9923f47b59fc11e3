"""Node containers are told apart by kind's labels and belong to whom their network belongs."""

from __future__ import annotations

import pytest

from forge.host.clusters import nodes
from forge.host.clusters.nodes import Node
from forge.plan.values import Owner

ME, OTHER = Owner("lab", "0" * 32), Owner("other", "1" * 32)
NETWORKS = {"net-1": ME, "lab-net": ME, "net-2": OTHER}


def node(name: str, role: str = "worker", *networks: str, port: int | None = None) -> Node:
    return Node(name, name, "c", role, "running", networks, port)


@pytest.mark.parametrize(
    ("found", "owner"),
    [
        pytest.param([node("a", "worker", "net-1")], ME, id="on ours"),
        pytest.param([node("a", "worker", "lab-net")], ME, id="on ours, by its name, never started"),
        pytest.param([node("a", "worker", "net-2")], OTHER, id="on another's"),
        pytest.param([node("a", "worker", "bridge")], None, id="on nobody's"),
        pytest.param([node("a")], None, id="on none"),
        pytest.param([node("a", "worker", "bridge", "net-1")], ME, id="on ours among others"),
        pytest.param([node("a", "worker", "net-1"), node("b", "worker", "bridge")], None, id="one is not"),
        pytest.param([node("a", "worker", "net-1"), node("b", "worker", "net-2")], None, id="of two owners"),
    ],
)
def test_whose_they_are(found: list[Node], owner: Owner | None) -> None:
    assert nodes.owner_of(found, NETWORKS) == owner


@pytest.mark.parametrize(
    ("found", "server", "inside"),
    [
        pytest.param(
            [node("c-control-plane", "control-plane", port=4711)],
            "https://127.0.0.1:4711",
            "https://c-control-plane:6443",
            id="one",
        ),
        pytest.param(
            [node("c-lb", "external-load-balancer", port=1), node("c-cp", "control-plane", port=2)],
            "https://127.0.0.1:1",
            "https://c-lb:6443",
            id="behind a balancer",
        ),
        pytest.param(
            [node("c-cp", "control-plane", port=2), node("c-cp2", "control-plane", port=3)],
            "https://127.0.0.1:2",
            "https://c-cp:6443",
            id="the first of several",
        ),
        pytest.param([node("c-cp", "control-plane")], None, "https://c-cp:6443", id="stopped"),
    ],
)
def test_where_its_api_is(found: list[Node], server: str | None, inside: str) -> None:
    assert (nodes.server(found), nodes.network_server(found)) == (server, inside)
