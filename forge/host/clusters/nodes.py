"""The node containers of KIND clusters on an engine: found by kind's labels, owned by their network.

kind gives its containers no label of ours. What is ours beyond doubt is the network that they sit on,
which carries the environment's labels and was made for it alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from forge.host import docker_labels, docker_service
from forge.host.engine import Engine, EngineRefused
from forge.host.unix_http import Query
from forge.plan.values import Owner

CLUSTER = "io.x-k8s.kind.cluster"
ROLE = "io.x-k8s.kind.role"
_API_PORT = 6443
_STOP_S = 10
_QUIET_S = 0.3


@dataclass(frozen=True, slots=True)
class Node:
    """One container. role: `control-plane`, `worker`, `external-load-balancer`. state: the engine's
    word. networks: ids, or names while it was never started (engines settle the id then). port: of this
    machine on which its API is published, None for none. status: the engine's words for people."""

    id: str
    name: str
    cluster: str
    role: str
    state: str
    networks: tuple[str, ...] = ()
    port: int | None = None
    bind: str = "127.0.0.1"
    status: str = ""

    @property
    def running(self) -> bool:
        return self.state == "running"


def find(engine: Engine, cluster: str | None = None) -> dict[str, tuple[Node, ...]]:
    """Nodes by cluster, of one cluster or of all; control planes first, as they are to be started."""
    label = CLUSTER if cluster is None else f"{CLUSTER}={cluster}"
    query: Query = {"all": True, "filters": {"label": [label]}}
    found: dict[str, list[Node]] = {}
    for container in engine.get("/containers/json", query):
        node = _node(container)
        found.setdefault(node.cluster, []).append(node)
    return {name: tuple(sorted(nodes, key=_place)) for name, nodes in found.items()}


def _place(node: Node) -> tuple[int, str]:
    order = ("external-load-balancer", "control-plane")
    return (order.index(node.role) if node.role in order else len(order), node.name)


def _node(container: Mapping[str, Any]) -> Node:
    labels = container.get("Labels") or {}
    networks = (container.get("NetworkSettings") or {}).get("Networks") or {}
    asked_for = (str((container.get("HostConfig") or {}).get("NetworkMode", "")),)
    published = [p for p in container.get("Ports") or () if p.get("PrivatePort") == _API_PORT]
    public: Mapping[str, Any] = next((p for p in published if p.get("PublicPort")), {})
    return Node(
        id=str(container["Id"]),
        name=str((container.get("Names") or [""])[0]).removeprefix("/"),
        cluster=str(labels.get(CLUSTER, "")),
        role=str(labels.get(ROLE, "")),
        state=str(container.get("State", "")),
        networks=tuple(str(n.get("NetworkID") or name) for name, n in networks.items()) or asked_for,
        port=public.get("PublicPort"),
        bind=str(public.get("IP") or "127.0.0.1"),
        status=str(container.get("Status") or ""),
    )


def owners(engine: Engine) -> dict[str, Owner]:
    """Network id, and name where only one has it, -> whose it is, of the networks of environments."""
    found = engine.get("/networks")
    names = Counter(str(n["Name"]) for n in found)
    owned: dict[str, Owner] = {}
    for network in found:
        owner = docker_labels.owner_of(network.get("Labels"))
        if owner is not None:
            owned[str(network["Id"])] = owner
            if names[str(network["Name"])] == 1:
                owned[str(network["Name"])] = owner
    return owned


def owner_of(nodes: Iterable[Node], networks: Mapping[str, Owner]) -> Owner | None:
    """Whose they are by their network, None where they are nobody's, or not all the same one's."""
    each = {next((networks[i] for i in node.networks if i in networks), None) for node in nodes}
    return each.pop() if len(each) == 1 else None


def server(nodes: Iterable[Node]) -> str | None:
    """Where the API is published on this machine; None while it is not."""
    by_role = {node.role: node for node in reversed(tuple(nodes)) if node.port}
    front = by_role.get("external-load-balancer") or by_role.get("control-plane")
    return None if front is None else f"https://{front.bind}:{front.port}"


def network_server(nodes: Iterable[Node]) -> str:
    """Where containers of the same network reach the API: by the name that the engine resolves."""
    names = {node.role: node.name for node in reversed(tuple(nodes))}
    front = names.get("external-load-balancer") or names.get("control-plane") or ""
    return f"https://{front}:{_API_PORT}"


def start(engine: Engine, nodes: Collection[Node]) -> None:
    """Starts those that do not run, in their order: a restart gives addresses in that order again."""
    for node in nodes:
        if not node.running:
            engine.post(f"/containers/{node.id}/{'unpause' if node.state == 'paused' else 'start'}")


def restart(engine: Engine, nodes: Collection[Node]) -> None:
    _at_once(nodes, lambda n: engine.post(f"/containers/{n.id}/restart", {"t": _STOP_S}))


def stop(engine: Engine, nodes: Collection[Node]) -> None:
    """Those that are gone, or stand still, are a success."""
    _at_once(nodes, lambda n: _stop(engine, n))


def _stop(engine: Engine, node: Node) -> None:
    try:
        engine.post(f"/containers/{node.id}/stop", {"t": _STOP_S})
    except EngineRefused as refused:
        if refused.status not in (304, 404):
            raise


def remove(engine: Engine, nodes: Collection[Node]) -> None:
    """With their anonymous volumes. Those that are gone are a success."""
    _at_once(nodes, lambda n: docker_service.remove_now(engine, n.id))


def remove_all(engine: Engine, cluster: str, within_s: float = 10.0) -> None:
    """Removes all nodes of a cluster whose maker was just killed. A request of its own may still be with
    the engine, so it looks again until nothing new has come for a moment."""
    until, quiet = time.monotonic() + within_s, 0.0
    while quiet < _QUIET_S and time.monotonic() < until:
        nodes = find(engine, cluster).get(cluster, ())
        with suppress(EngineRefused):  # one that is just being made; it is there in the next look
            remove(engine, nodes)
        quiet = 0.0 if nodes else quiet + 0.1
        time.sleep(0.1)


def _at_once(nodes: Collection[Node], act: Callable[[Node], object]) -> None:
    if not nodes:
        return
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(act, nodes))
