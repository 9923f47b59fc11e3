"""A round of writes: objects beside each other, one object's in order, and never longer than its time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from grid.kube.port import GRID_SITE, Document, Kind, KubeFault
from grid.reconcile.act import Actor
from grid.reconcile.actions import Action, Emit, WriteOverlay, WriteStatus
from grid.reconcile.observe import Observer
from tests.kit.eventually import eventually
from tests.kit.fake_kube import FakeKube


@dataclass
class SlowKube(FakeKube):
    """Answers an apply when it is let. broken: names that are refused. at_once: the most that waited together."""

    let: asyncio.Event = field(default_factory=asyncio.Event)
    broken: frozenset[str] = frozenset()
    waiting: int = 0
    at_once: int = 0

    async def apply(self, kind: Kind, document: Document, subresource: str = "") -> Document:
        self.waiting += 1
        self.at_once = max(self.at_once, self.waiting)
        await self.let.wait()
        self.waiting -= 1
        if document["metadata"]["name"] in self.broken:
            raise KubeFault(500, "InternalError")
        return await super().apply(kind, document, subresource)


class Nobody:
    """An observer without mirrors."""

    def mirror_of(self, kind: str, namespace: str = "") -> None:
        return None


async def sites(kube: FakeKube, *names: str) -> None:
    for name in names:
        await FakeKube.apply(kube, GRID_SITE, {"metadata": {"name": name}, "spec": {}})
    kube.calls.clear()


def actor(kube: FakeKube, **changes: Any) -> Actor:
    observer = cast("Observer", Nobody())  # an actor asks it for mirrors only
    return Actor(kube, observer, "one", lambda: 0.0, lambda: 1.0, **changes)


def status(name: str) -> list[Action]:
    """What a site whose phase moves gets: its status, then an event."""
    return [WriteStatus("GridSite", name, {"phase": "Active"}), Emit("GridSite", name, name, "Moved", "")]


def done(kube: FakeKube, name: str) -> list[str]:
    return [
        verb
        for verb, kind, who in kube.calls
        if who == name or (kind == "Event" and who.startswith(f"{name}."))
    ]


async def test_objects_are_written_beside_each_other() -> None:
    kube = SlowKube()
    names = [f"s{number}" for number in range(20)]
    await sites(kube, *names)
    async with asyncio.TaskGroup() as group:
        acting = group.create_task(actor(kube).act([action for name in names for action in status(name)]))
        await eventually(lambda: kube.at_once == 3, "three wait together")
        kube.let.set()
    assert acting.result()
    assert kube.at_once == 3, "and no more than that"
    assert {name: done(kube, name) for name in names} == {name: ["apply status", "create"] for name in names}


async def test_what_failed_ends_its_own_object_only() -> None:
    kube = SlowKube(broken=frozenset({"b"}))
    kube.let.set()
    await sites(kube, "a", "b")
    failing = actor(kube)
    assert await failing.act([*status("b"), *status("a")])
    assert (done(kube, "a"), done(kube, "b")) == (["apply status", "create"], [])
    kube.broken = frozenset()
    assert await failing.act(status("b"))
    assert done(kube, "b") == [], "it is left alone for a while"


async def test_what_is_not_begun_in_time_is_left() -> None:
    kube = SlowKube()
    kube.let.set()
    await sites(kube, "a", "b")
    assert not await actor(kube, round_s=-1.0).act([*status("a"), *status("b")])
    assert kube.calls == []


async def test_an_overlay_that_was_refused_is_remembered_until_it_is_taken() -> None:
    kube = SlowKube(broken=frozenset({"overlay"}))
    kube.let.set()
    writing = actor(kube)
    write = WriteOverlay("ns", "overlay", "n", "g", ("n", "uid"), 1, "sha256:00", "{}")
    await writing.act([write])
    assert writing.unwritten == {("ns", "overlay"): "500 InternalError"}
    kube.broken = frozenset()
    writing.now = lambda: 60.0
    await writing.act([write])
    assert writing.unwritten == {}


@pytest.mark.parametrize("round_s", [-1.0, 5.0])
async def test_nothing_to_do_is_done(round_s: float) -> None:
    assert await actor(FakeKube(), round_s=round_s).act([])
