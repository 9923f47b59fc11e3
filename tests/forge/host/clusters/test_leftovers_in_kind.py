"""A KIND cluster whose environment is gone is found by its network's label, and goes with it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from forge.host import leftovers
from forge.host.clusters import nodes
from forge.host.clusters.drivers import open_clusters
from forge.host.engine import Engine
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Key, Owner
from tests.kit.clusters_contract import FINGERPRINT, silent

pytestmark = pytest.mark.docker


def test_an_orphaned_cluster_goes_with_its_network(
    docker: Engine,
    kind_binary: Path,
    node_image: str,
    lab_owner: Owner,
    network: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORGE_KIND", str(kind_binary))
    name = f"{lab_owner.environment}-east"
    wanted = ClusterResource("east", name, Driver.KIND, node_image=node_image, network=network)
    clusters = open_clusters("docker", tmp_path, socket=docker.socket_path)
    key = Key("cluster", "east")
    clusters.create(key, wanted, lab_owner, FINGERPRINT, silent, threading.Event())
    assert leftovers.on_engine(docker)[lab_owner] == 2
    assert leftovers.remove(docker, Owner(lab_owner.environment, "another")) == ()
    assert nodes.find(docker, name)
    assert leftovers.remove(docker, lab_owner) == (f"cluster {name}", f"network {network}")
    assert nodes.find(docker, name) == {}
    assert lab_owner not in leftovers.on_engine(docker)
