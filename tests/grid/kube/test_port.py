"""The Kube port's contract: the real client against a real API, and the fake that tests use, alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from grid.kube.client import connect
from grid.kube.port import CONFIG_MAP, EVENT, GRID_SITE, LEASE, Change, Kind, Kube, KubeFault
from tests.kit.embedded_api import SYSTEM, embedded_api, prepare
from tests.kit.fake_kube import FakeKube
from tests.kit.resources import site

DEADLINE_S = 30.0


@pytest.fixture(params=["fake", "embedded API"])
async def kube(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kube]:
    if request.param == "fake":
        yield FakeKube()
        return
    async with embedded_api(tmp_path / "cluster") as api:
        await prepare(api.client)
        yield api.client


def config_map(name: str = "a", value: str = "1", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": SYSTEM, "labels": labels}, "data": {"key": value}}


async def take(kube: Kube, count: int, version: str, **options: Any) -> list[Change]:
    """The next *count* changes after *version*, bookmarks aside."""
    found: list[Change] = []
    async with asyncio.timeout(DEADLINE_S):
        async for change in kube.watch(CONFIG_MAP, version, SYSTEM, **options):
            found += [change] if change.verb != "BOOKMARK" else []
            if len(found) == count:
                return found
    return found


@pytest.mark.parametrize(
    ("kind", "arguments", "path"),
    [
        (GRID_SITE, ("", "a"), "/apis/grid.praxis-proxy.io/v1alpha1/gridsites/a"),
        (GRID_SITE, ("", "a", "status"), "/apis/grid.praxis-proxy.io/v1alpha1/gridsites/a/status"),
        (CONFIG_MAP, ("ns",), "/api/v1/namespaces/ns/configmaps"),
        (CONFIG_MAP, (), "/api/v1/configmaps"),
        (LEASE, ("ns", "a"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a"),
        (EVENT, ("ns",), "/apis/events.k8s.io/v1/namespaces/ns/events"),
    ],
)
def test_paths(kind: Kind, arguments: tuple[str, ...], path: str) -> None:
    assert kind.path(*arguments) == path


async def test_what_is_applied_is_there(kube: Kube) -> None:
    await kube.apply(CONFIG_MAP, config_map())
    found = await kube.get(CONFIG_MAP, "a", SYSTEM)
    assert found["data"] == {"key": "1"}
    assert found["metadata"]["resourceVersion"]


async def test_applied_again_as_it_is_it_keeps_its_version(kube: Kube) -> None:
    first = await kube.apply(CONFIG_MAP, config_map())
    again = await kube.apply(CONFIG_MAP, config_map())
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_what_is_not_there_is_missing(kube: Kube) -> None:
    with pytest.raises(KubeFault) as fault:
        await kube.get(CONFIG_MAP, "a", SYSTEM)
    assert fault.value.is_missing
    await kube.delete(CONFIG_MAP, "a", SYSTEM)


async def test_a_list_is_by_namespace_and_label(kube: Kube) -> None:
    await kube.apply(CONFIG_MAP, config_map("a", team="x"))
    await kube.apply(CONFIG_MAP, config_map("b", team="y"))
    found = await kube.list(CONFIG_MAP, SYSTEM, {"team": "x"})
    assert [item["metadata"]["name"] for item in found.items] == ["a"]
    assert found.resource_version


async def test_what_exists_is_not_created_again(kube: Kube) -> None:
    await kube.create(CONFIG_MAP, config_map())
    with pytest.raises(KubeFault) as fault:
        await kube.create(CONFIG_MAP, config_map())
    assert fault.value.is_conflict


async def test_a_replacement_needs_the_version_it_replaces(kube: Kube) -> None:
    first = await kube.create(CONFIG_MAP, config_map())
    await kube.replace(CONFIG_MAP, {**first, "data": {"key": "2"}})
    with pytest.raises(KubeFault) as fault:
        await kube.replace(CONFIG_MAP, {**first, "data": {"key": "3"}})
    assert fault.value.is_conflict
    assert (await kube.get(CONFIG_MAP, "a", SYSTEM))["data"] == {"key": "2"}


async def test_a_status_is_applied_beside_the_spec(kube: Kube) -> None:
    await kube.apply(GRID_SITE, {"metadata": {"name": "east"}, "spec": site("east")["spec"]})
    await kube.apply(GRID_SITE, {"metadata": {"name": "east"}, "status": {"phase": "Active"}}, "status")
    found = await kube.get(GRID_SITE, "east")
    assert found["status"]["phase"] == "Active"
    assert found["spec"]["region"] == "us-east"
    assert found["metadata"]["generation"] == 1


async def test_changes_come_in_their_order_from_where_a_list_ended(kube: Kube) -> None:
    await kube.apply(CONFIG_MAP, config_map("before"))
    version = (await kube.list(CONFIG_MAP, SYSTEM)).resource_version
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(take(kube, 3, version))
        await kube.apply(CONFIG_MAP, config_map())
        await kube.apply(CONFIG_MAP, config_map(value="2"))
        await kube.delete(CONFIG_MAP, "a", SYSTEM)
    changes = [(change.verb, change.document["metadata"]["name"]) for change in watching.result()]
    assert changes == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_one_object_can_be_watched_alone(kube: Kube) -> None:
    version = (await kube.list(CONFIG_MAP, SYSTEM)).resource_version
    await kube.apply(CONFIG_MAP, config_map("other"))
    await kube.apply(CONFIG_MAP, config_map("mine"))
    (change,) = await take(kube, 1, version, name="mine")
    assert change.document["metadata"]["name"] == "mine"
    assert int(change.resource_version) > int(version)


async def test_nobody_answering_is_a_fault_without_status(tmp_path: Path) -> None:
    async with embedded_api(tmp_path / "cluster") as api:
        kubeconfig = api.kubeconfig
    client = await connect("", str(kubeconfig))
    try:
        with pytest.raises(KubeFault) as fault:
            await client.get(CONFIG_MAP, "a", SYSTEM)
    finally:
        await client.close()
    assert fault.value.status == 0


async def test_a_kubeconfig_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(KubeFault):
        await connect("nowhere", str(tmp_path / "none"))
