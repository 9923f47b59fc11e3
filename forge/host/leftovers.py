"""What environments have on the container engine, whoever asks, and taking away what is nobody's any more."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forge.host import docker_labels, docker_service
from forge.host.clusters import nodes
from forge.host.docker_errors import refused_by_engine
from forge.host.docker_socket import engine_socket
from forge.host.engine import Engine, EngineRefused
from forge.plan.values import Owner

_ALL: Mapping[str, Any] = {"filters": {"label": [f"{docker_labels.MANAGED}=true"]}}


def open_engine() -> Engine:
    """The engine of this machine. Raises ToolMissing."""
    return Engine(engine_socket(os.environ, Path.home()))


def on_engine(engine: Engine) -> Mapping[Owner, int]:
    """Containers, networks and nodes of clusters of every environment, counted."""
    counted: Counter[Owner] = Counter()
    for _, owner in (*_containers(engine), *_networks(engine)):
        counted[owner] += 1
    for cluster, owner in _clusters(engine):
        counted[owner] += len(cluster)
    return counted


def remove(engine: Engine, owner: Owner) -> tuple[str, ...]:
    """Takes all of an environment away; gives the names of what went. Raises OperationFailed."""
    gone = []
    try:
        for thing, whose in _containers(engine):
            if whose == owner:
                docker_service.remove_now(engine, thing["Id"])
                gone.append(f"container {thing['Names'][0].removeprefix('/')}")
        for cluster, whose in _clusters(engine):
            if whose == owner:
                nodes.remove(engine, cluster)
                gone.append(f"cluster {cluster[0].cluster}")
        for thing, whose in _networks(engine):
            if whose == owner:
                engine.delete(f"/networks/{thing['Id']}")
                gone.append(f"network {thing['Name']}")
    except EngineRefused as refused:
        raise refused_by_engine(
            f"cannot remove what environment {owner.environment} left", refused
        ) from refused
    return tuple(gone)


def _containers(engine: Engine) -> Iterator[tuple[Mapping[str, Any], Owner]]:
    yield from _labelled(engine.get("/containers/json", {**_ALL, "all": True}))


def _networks(engine: Engine) -> Iterator[tuple[Mapping[str, Any], Owner]]:
    yield from _labelled(engine.get("/networks", _ALL))


def _labelled(found: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Owner]]:
    for thing in found:
        owner = docker_labels.owner_of(thing.get("Labels"))
        if owner is not None:
            yield thing, owner


def _clusters(engine: Engine) -> Iterator[tuple[tuple[nodes.Node, ...], Owner]]:
    """Clusters by the network that their nodes are on: KIND labels its nodes with no owner."""
    networks = nodes.owners(engine)
    for cluster in nodes.find(engine).values():
        owner = nodes.owner_of(cluster, networks)
        if owner is not None:
            yield cluster, owner
