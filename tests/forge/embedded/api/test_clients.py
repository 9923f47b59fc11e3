"""The official Python client, in every way it is used: typed, dynamic with apply, asynchronous, as a leader."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.embedded_cluster import EmbeddedCluster, config_map


def _module(name: str) -> Any:
    """The client is half typed: its modules are taken as they are."""
    return importlib.import_module(f"kubernetes.{name}")


client, config, watch, dynamic = (_module(n) for n in ("client", "config", "watch", "dynamic"))
aio_client, aio_config, aio_watch = (_module(f"aio.{n}") for n in ("client", "config", "watch"))
aio_dynamic, election = _module("aio.dynamic"), _module("aio.leaderelection.leaderelection")
LeaseLock = _module("aio.leaderelection.resourcelock.leaselock").LeaseLock
Election = _module("aio.leaderelection.electionconfig").Config
ApiException = _module("client.exceptions").ApiException


@pytest.fixture
def api(cluster: EmbeddedCluster) -> Iterator[Any]:
    made = config.new_client_from_config(str(cluster.kubeconfig))
    yield made
    made.close()


def test_typed_objects_live_and_die(api: Any) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map("default", config_map("typed", k="1"))
    core.patch_namespaced_config_map("typed", "default", {"data": {"k": "2"}})
    assert core.read_namespaced_config_map("typed", "default").data == {"k": "2"}
    assert "typed" in [o.metadata.name for o in core.list_namespaced_config_map("default").items]
    core.delete_namespaced_config_map("typed", "default")
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_config_map("typed", "default")
    assert refused.value.status == 404


def test_a_watch_tells_what_happens(api: Any) -> None:
    core = client.CoreV1Api(api)
    start = core.list_namespaced_config_map("default").metadata.resource_version
    core.create_namespaced_config_map("default", config_map("watched", k="1"))
    core.patch_namespaced_config_map("watched", "default", {"data": {"k": "2"}})
    core.delete_namespaced_config_map("watched", "default")
    stream = watch.Watch().stream(
        core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=1
    )
    seen = [event["type"] for event in stream]
    assert seen == ["ADDED", "MODIFIED", "DELETED"]


def test_a_trimmed_version_is_gone(api: Any) -> None:
    core = client.CoreV1Api(api)
    stream = watch.Watch().stream(
        core.list_namespaced_config_map, "default", resource_version="1", timeout_seconds=1
    )
    with pytest.raises(ApiException) as refused:
        list(stream)
    assert refused.value.status == 410


def test_the_dynamic_client_applies(api: Any) -> None:
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    applied = maps.server_side_apply(
        config_map("applied", a="1", b="2"), field_manager="one", namespace="default"
    )
    assert applied.metadata.managedFields[0].operation == "Apply"
    with pytest.raises(dynamic.exceptions.ConflictError):
        maps.server_side_apply(config_map("applied", a="9"), field_manager="two", namespace="default")
    forced = maps.server_side_apply(
        config_map("applied", a="9"), field_manager="two", namespace="default", force_conflicts=True
    )
    assert forced.data.to_dict() == {"a": "9", "b": "2"}
    dropped = maps.server_side_apply(config_map("applied"), field_manager="one", namespace="default")
    assert dropped.data.to_dict() == {"a": "9"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_the_asynchronous_client_watches(cluster: EmbeddedCluster) -> None:
    made = await aio_config.new_client_from_config(str(cluster.kubeconfig))
    seen: list[str] = []
    async with made:
        core = aio_client.CoreV1Api(made)
        start = (await core.list_namespaced_config_map("default")).metadata.resource_version
        await core.create_namespaced_config_map("default", config_map("followed", k="1"))
        await core.delete_namespaced_config_map("followed", "default")
        async with aio_watch.Watch() as watcher:
            stream = watcher.stream(
                core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=1
            )
            async for event in stream:
                seen.append(event["type"])  # noqa: PERF401 - reads as what a client does
    # The client does not wait for its TLS transports to close; they are found here, not by a later test.
    del made, core, watcher, stream
    gc.collect()
    assert seen == ["ADDED", "DELETED"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_the_asynchronous_dynamic_client_finds_kinds_and_applies(cluster: EmbeddedCluster) -> None:
    made = await aio_config.new_client_from_config(str(cluster.kubeconfig))
    async with made:
        kinds = await aio_dynamic.DynamicClient(made)
        maps = await kinds.resources.get(api_version="v1", kind="ConfigMap")
        await maps.create(body=config_map("aio", k="1"), namespace="default")
        applied = await maps.server_side_apply(
            config_map("aio", k="2"), namespace="default", field_manager="me", force_conflicts=True
        )
        assert applied.to_dict()["data"] == {"k": "2"}
        found = await maps.get(namespace="default", label_selector="app=none")
        assert found.to_dict()["items"] == []
        await maps.delete(name="aio", namespace="default")
    del made, kinds, maps
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_one_of_two_leads_and_the_other_follows_when_it_is_gone(cluster: EmbeddedCluster) -> None:
    leads: asyncio.Queue[str] = asyncio.Queue()
    api = await aio_config.new_client_from_config(str(cluster.kubeconfig))
    async with api:
        leases = aio_client.CoordinationV1Api(api)
        # This client's own way to make the Lease fails its own validation (pretty=True is no text).
        await leases.create_namespaced_lease("default", {"metadata": {"name": "leader"}, "spec": {}})
        tasks = {n: asyncio.create_task(_run(api, n, leads)) for n in ("one", "other")}  # noqa: TID251 - ended below
        first = await asyncio.wait_for(leads.get(), 30)
        assert leads.empty()
        tasks[first].cancel()
        second = await asyncio.wait_for(leads.get(), 60)
        for task in tasks.values():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        lease = await leases.read_namespaced_lease("leader", "default")
    assert {first, second} == {"one", "other"}
    assert lease.spec.holder_identity == second
    del api, leases, tasks, task
    gc.collect()


async def _run(api: Any, name: str, leads: asyncio.Queue[str]) -> None:
    """A candidate that tells when it leads, until it is cancelled."""

    async def started() -> None:
        leads.put_nowait(name)

    async def stopped() -> None:
        """It hands nothing over."""

    lock = LeaseLock("leader", "default", name, api)
    await election.LeaderElection(Election(lock, 4, 3, 1, started, stopped)).run()
