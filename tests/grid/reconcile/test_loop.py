"""The loop over an API that storms, ends its watches and holds broken objects: it converges, and then is quiet."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grid.contract.names import LABEL_GATEWAY, LABEL_MANAGED_BY, LABEL_NETWORK
from grid.contract.parse import parse
from grid.kube.lease import Candidacy, Terms
from grid.kube.port import CONFIG_MAP, EVENT, GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER, Kind, KubeFault
from grid.reconcile.act import configmap, event
from grid.reconcile.actions import Emit, WriteOverlay
from grid.reconcile.loop import Loop
from grid.reconcile.main import assemble
from grid.reconcile.mesh import Alone
from grid.reconcile.scrape import session
from grid.reconcile.settings import Settings
from tests.kit.eventually import eventually
from tests.kit.fake_kube import FakeKube
from tests.kit.resources import gateway, network, provider, site

SYSTEM = "grid-system"
NAME = "grid-overlay-production-edge-us-east"


@dataclass
class Running:
    """A loop on a fake API, with its lease in the test's hands."""

    kube: FakeKube
    loop: Loop
    candidacy: Candidacy

    def stored(self) -> str | None:
        document = self.kube.shown(CONFIG_MAP, NAME, SYSTEM)
        return document["data"]["grid-config.json"] if document else None

    def clusters(self) -> list[str]:
        text = self.stored()
        return [c.cluster for c in parse(text.encode()).candidates] if text else []

    def status(self, kind: Kind, name: str) -> dict[str, Any]:
        document = self.kube.shown(kind, name)
        found: dict[str, Any] = (document or {}).get("status", {})
        return found

    def condition(self, kind: str) -> str:
        conditions = self.status(GRID_NETWORK, "production").get("conditions", [])
        return next((each["message"] for each in conditions if each["type"] == kind), "")


async def put(kube: FakeKube, kind: Kind, made: dict[str, Any]) -> None:
    metadata = {"name": made["metadata"]["name"], "labels": made["metadata"].get("labels", {})}
    await kube.apply(kind, {"metadata": metadata, "spec": made["spec"]})


@contextlib.asynccontextmanager
async def running(
    tmp_path: Path, kube: FakeKube | None = None, instance: str = "one"
) -> AsyncIterator[Running]:
    """An operator at `here`, whose identity cannot be checked: it has no certificate."""
    if kube is None:
        kube = FakeKube()
        await put(kube, GRID_NETWORK, network("production", gateway("edge-us-east")))
        await put(kube, GRID_SITE, site("edge-us-east", role="edge"))
        await put(kube, GRID_SITE, site("here"))
        await put(kube, INFERENCE_PROVIDER, provider("sim"))
    woken = asyncio.Event()
    settings = Settings("here", SYSTEM, instance, "127.0.0.1", 1, tmp_path, Terms(), 0.05)
    candidacy = Candidacy(
        kube, SYSTEM, "grid-operator", instance, time.monotonic, time.time, Terms(30, 20, 0.01), woken.set
    )
    async with session() as http, asyncio.TaskGroup() as group:
        loop = assemble(settings, kube, http, candidacy, woken, Alone())
        loop.tick_s = 0.05
        tasks = [group.create_task(candidacy.run()), group.create_task(loop.run())]
        try:
            yield Running(kube, loop, candidacy)
        finally:
            for task in tasks:
                task.cancel()


async def test_it_writes_what_should_be_and_then_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as operator:
        await eventually(
            lambda: operator.status(GRID_SITE, "here").get("phase") == "Connecting", "our own phase"
        )
        await eventually(lambda: operator.stored() is not None, "an overlay")
        await eventually(
            lambda: operator.status(GRID_NETWORK, "production").get("phase") == "Initializing", "a phase"
        )
        writes = await quiet(operator)
        turned = operator.loop.turned_at
        await eventually(lambda: operator.loop.turned_at > turned + 0.5, "more turns")
        assert writes_of(operator) == writes
        assert list(operator.loop.not_ready()) == []
        assert operator.clusters() == [], "no site is verified"


async def quiet(operator: Running) -> int:
    """The number of writes, once it does not grow for ten turns."""
    count, since = -1, 0.0
    while count != writes_of(operator) or operator.loop.turned_at < since + 0.5:
        if count != writes_of(operator):
            count, since = writes_of(operator), operator.loop.turned_at
        await asyncio.sleep(0.01)
    return count


def writes_of(operator: Running) -> int:
    return sum(
        kind != "Lease" and verb not in {"get", "list", "watch"} for verb, kind, _ in operator.kube.calls
    )


@pytest.mark.parametrize("status", [409, 410, 429, 500, 503, 0])
async def test_storms_pass_and_it_converges(tmp_path: Path, status: int) -> None:
    async with running(tmp_path) as operator:
        await eventually(lambda: operator.stored() is not None, "an overlay")
        operator.kube.faults += [KubeFault(status, "Storm", 0.0)] * 12
        await operator.kube.end_streams()
        await eventually(lambda: not operator.kube.faults, "the storm is over")
        await put(
            operator.kube, GRID_NETWORK, network("production", gateway("edge-us-east"), gateway("second"))
        )
        await eventually(
            lambda: operator.kube.shown(CONFIG_MAP, "grid-overlay-production-second", SYSTEM) is not None,
            "the second gateway's overlay",
            60,
        )
        await put(operator.kube, GRID_NETWORK, network("production", gateway("second")))
        await eventually(lambda: operator.stored() is None, "the first one's is gone", 60)


async def test_an_object_that_cannot_be_read_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path) as operator:
        await eventually(lambda: operator.stored() is not None, "an overlay")
        await put(operator.kube, GRID_SITE, site("broken", role="hub"))
        await eventually(
            lambda: "GridSite broken: spec.role" in operator.condition("SpecHonoured"), "it is named"
        )
        await operator.kube.delete(GRID_SITE, "broken")
        await eventually(lambda: operator.condition("SpecHonoured") == "", "it is forgotten")


async def test_an_overlay_edited_or_deleted_is_restored(tmp_path: Path) -> None:
    async with running(tmp_path) as operator:
        await eventually(lambda: operator.stored() is not None, "an overlay")
        await quiet(operator)
        good = operator.stored()
        metadata = {"name": NAME, "namespace": SYSTEM}
        await operator.kube.apply(CONFIG_MAP, {"metadata": metadata, "data": {"grid-config.json": "x"}})
        await eventually(lambda: operator.stored() == good, "it is as it was")
        await quiet(operator)
        await operator.kube.delete(CONFIG_MAP, NAME, SYSTEM)
        await eventually(lambda: operator.stored() == good, "it is there again")
        await eventually(lambda: operator.loop.metrics.restored.value() == 2, "both were counted")
        assert "OverlayRestored" in {each["reason"] for each in operator.kube.all(EVENT)}


async def test_configmaps_of_others_are_left_alone(tmp_path: Path) -> None:
    """Whoever else calls itself by our name, and whatever else we keep."""
    labels = {LABEL_MANAGED_BY: "grid-operator"}
    async with running(tmp_path) as operator:
        await eventually(lambda: operator.stored() is not None, "an overlay")
        for name, more in (
            ("grid-mesh-production", {LABEL_NETWORK: "production"}),
            ("grid-overlay-mine", {}),
            ("theirs", {LABEL_NETWORK: "production", LABEL_GATEWAY: "gone"}),
        ):
            metadata = {"name": name, "namespace": SYSTEM, "labels": {**labels, **more}}
            await operator.kube.apply(CONFIG_MAP, {"metadata": metadata, "data": {}})
        await put(operator.kube, GRID_NETWORK, network("production", gateway("second")))
        await eventually(lambda: operator.stored() is None, "what is ours and left over is gone", 60)
        await quiet(operator)
        left = {document["metadata"]["name"] for document in operator.kube.all(CONFIG_MAP)}
        assert left == {
            "grid-mesh-production",
            "grid-overlay-mine",
            "theirs",
            "grid-overlay-production-second",
        }


async def test_a_namespace_nobody_lets_us_into_stops_only_its_own_gateways(tmp_path: Path) -> None:
    async with running(tmp_path) as operator:
        operator.kube.closed.add("closed")
        there = gateway("other", namespace="closed")
        await put(operator.kube, GRID_NETWORK, network("production", gateway("edge-us-east"), there))
        await eventually(lambda: "Forbidden" in operator.condition("GatewaysServed"), "it is said")
        assert operator.stored() is not None
        operator.kube.closed.clear()
        name = "grid-overlay-production-other"
        await eventually(lambda: operator.kube.shown(CONFIG_MAP, name, "closed") is not None, "let in", 60)
        await eventually(lambda: operator.condition("GatewaysServed") == "", "all are served")


async def test_it_is_not_ready_while_it_hears_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as operator:
        await eventually(lambda: operator.stored() is not None, "an overlay")
        assert list(operator.loop.not_ready()) == []
        # A lost watch is asked for again after a second at most, and then listed.
        operator.kube.faults += [KubeFault(0, "ClientConnectorError")] * 40
        await operator.kube.end_streams()
        await eventually(lambda: bool(list(operator.loop.not_ready())), "it says so")
        await eventually(lambda: list(operator.loop.not_ready()) == [], "it is ready again", 60)


async def test_who_does_not_lead_writes_nothing_and_is_ready(tmp_path: Path) -> None:
    async with running(tmp_path) as leader:
        await eventually(lambda: leader.loop.last is not None, "it leads")
        async with running(tmp_path, leader.kube, "two") as follower:
            await eventually(lambda: follower.loop.observer.reads, "it reads")
            looks = leases(leader)
            await eventually(lambda: leases(leader) > looks + 10, "both have looked at the lease")
            assert not follower.candidacy.leads
            assert follower.loop.last is None
            assert list(follower.loop.not_ready()) == []
            assert list(follower.loop.explained("production", "edge-us-east")) == []


def leases(operator: Running) -> int:
    return sum(kind == "Lease" for _, kind, _ in operator.kube.calls)


async def test_what_a_turn_found_can_be_explained(tmp_path: Path) -> None:
    async with running(tmp_path) as operator:
        await eventually(lambda: operator.stored() is not None, "an overlay")
        lines = list(operator.loop.explained("production", "edge-us-east"))
        phase = operator.loop.last and operator.loop.last.outcomes["production"][0].phase
        assert lines == [
            f"edge-us-east of production: revision 1, 0 candidates, {phase}",
            "inference_model shared-model",
            "  -  here by gateway-here: refused, site_not_active",
        ]
        assert len(list(operator.loop.explained("production", "edge-us-east", "other-model"))) == 1
        assert list(operator.loop.explained("production", "nobody")) == []
        said = json.loads(json.dumps(operator.loop.status()))["overlays"][0]
        assert (said["gateway"], said["revision"], said["candidates"]) == ("edge-us-east", "1", 0)
        assert (
            'grid_actions_total{outcome="done",verb="WriteOverlay"}'
            in operator.loop.metrics.metrics.scrape().decode()
        )


async def test_phases_are_events(tmp_path: Path) -> None:
    async with running(tmp_path) as operator:
        await eventually(lambda: bool(operator.kube.all(EVENT)), "an event")
        await quiet(operator)
        said = {(e["regarding"]["name"], e["reason"]) for e in operator.kube.all(EVENT)}
    assert ("here", "TrustMaterialMissing") in said


def test_an_overlays_configmap_is_owned_and_labelled() -> None:
    made = configmap(WriteOverlay(SYSTEM, "n", "net" * 30, "gw", ("net", "uid-1"), 7, "sha256:00", "text"))
    assert made["data"] == {"grid-config.json": "text"}
    assert made["metadata"]["labels"][LABEL_MANAGED_BY] == "grid-operator"
    assert len(made["metadata"]["labels"][LABEL_NETWORK]) <= 63
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-1"


def test_the_same_event_has_the_same_name() -> None:
    emit = Emit("GridSite", "a" * 300, "uid", "Left", "it left", warning=True)
    assert event(emit, "one", 1.2) == event(emit, "one", 1.9)
    assert event(emit, "one", 2.0)["metadata"]["name"] != event(emit, "one", 1.0)["metadata"]["name"]
    assert len(event(emit, "one", 1.0)["metadata"]["name"]) <= 63
