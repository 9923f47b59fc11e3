"""Code in the same process works with the same objects, by values and without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.embedded.api.local import LocalClient
from forge.embedded.api.status import ApiError
from tests.kit.embedded_cluster import config_map
from tests.kit.embedded_machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "store")
    yield made
    made.journal.close()


def test_objects_are_the_callers_own(machine: Machine) -> None:
    client = LocalClient(machine.cluster, "kubelet")
    maps = client.resource("configmaps")
    client.create(maps, config_map("a", k="1"), "default")["data"]["k"] = "spoilt"
    found = client.get(maps, "a", "default")
    assert found is not None
    assert found["data"] == {"k": "1"}
    assert found["metadata"]["managedFields"][0]["manager"] == "kubelet"


def test_a_status_is_written_apart(machine: Machine) -> None:
    client = LocalClient(machine.cluster, "deployment-controller")
    deployments = client.resource("deployments", "apps")
    labels = {"app": "a"}
    pod = {"containers": [{"name": "c", "image": "demo:1"}]}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    body = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "a"}, "spec": spec}
    code, made = machine.call("POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert (code, made["metadata"]["generation"]) == (201, 1)
    made["status"] = {"observedGeneration": 1, "replicas": 1}
    made["spec"]["replicas"] = 7
    after = client.update_status(deployments, made)
    assert (after["spec"]["replicas"], after["status"]["replicas"], after["metadata"]["generation"]) == (
        1,
        1,
        1,
    )


def test_a_stale_update_is_a_conflict(machine: Machine) -> None:
    client = LocalClient(machine.cluster, "x")
    maps = client.resource("configmaps")
    stale = client.create(maps, config_map("a", k="1"), "default")
    client.patch(maps, "a", {"data": {"k": "2"}}, "default")
    with pytest.raises(ApiError) as refused:
        client.update(maps, stale)
    assert refused.value.code == 409


async def test_a_watch_goes_on_from_a_list(machine: Machine) -> None:
    client = LocalClient(machine.cluster, "x")
    maps = client.resource("configmaps")
    listed, version = client.list(maps, "default")
    client.create(maps, config_map("a", k="1"), "default")
    async with asyncio.timeout(30), client.watch(maps, version, "default") as changes:
        client.delete(maps, "a", "default")
        seen = [(await changes.next()).type for _ in range(2)]
    assert (listed, seen) == ((), ["ADDED", "DELETED"])
    assert machine.cluster.hub.count() == 0
