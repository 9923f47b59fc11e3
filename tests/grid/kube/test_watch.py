"""A mirror holds what the API holds, through ends, old versions, storms and answers that overtake events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from grid.kube import watch
from grid.kube.port import CONFIG_MAP, KubeFault
from grid.kube.watch import Mirror
from tests.kit.eventually import eventually
from tests.kit.fake_kube import FakeKube

SYSTEM = "grid-system"


async def put(kube: FakeKube, name: str, value: str = "1") -> dict[str, Any]:
    return await kube.apply(
        CONFIG_MAP, {"metadata": {"name": name, "namespace": SYSTEM}, "data": {"k": value}}
    )


@contextlib.asynccontextmanager
async def mirrored(kube: FakeKube) -> AsyncIterator[Mirror]:
    mirror = Mirror(kube, CONFIG_MAP, lambda: None, lambda: 0.0, namespace=SYSTEM)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(mirror.run())
        await eventually(lambda: mirror.synced, "a first list")
        try:
            yield mirror
        finally:
            task.cancel()


def held(mirror: Mirror) -> dict[str, str]:
    return {name: document["data"]["k"] for (_, name), document in mirror.objects.items()}


async def test_it_holds_what_was_there_and_what_comes() -> None:
    kube = FakeKube()
    await put(kube, "a")
    async with mirrored(kube) as mirror:
        assert held(mirror) == {"a": "1"}
        await put(kube, "b")
        await put(kube, "a", "2")
        await eventually(lambda: held(mirror) == {"a": "2", "b": "1"}, "both changes")
        await kube.delete(CONFIG_MAP, "a", SYSTEM)
        await eventually(lambda: held(mirror) == {"b": "1"}, "the deletion")


async def test_a_stream_that_ends_is_resumed_and_nothing_is_missed() -> None:
    kube = FakeKube()
    await put(kube, "a")
    async with mirrored(kube) as mirror:
        for number in range(5):
            await kube.end_streams()
            await put(kube, "a", str(number))
        await eventually(lambda: held(mirror) == {"a": "4"}, "the last value")
    assert [verb for verb, _, _ in kube.calls].count("list") == 1


async def test_a_version_too_old_is_listed_again() -> None:
    kube = FakeKube()
    await put(kube, "a")
    await put(kube, "gone")
    async with mirrored(kube) as mirror:
        kube.faults += [KubeFault(410, "Expired")]
        await kube.end_streams()
        await eventually(lambda: not kube.faults, "the watch was refused")
        await kube.delete(CONFIG_MAP, "gone", SYSTEM)
        await eventually(lambda: held(mirror) == {"a": "1"}, "what was deleted is gone")
    assert [verb for verb, _, _ in kube.calls].count("list") == 2


async def test_storms_pass() -> None:
    kube = FakeKube()
    kube.faults += [
        KubeFault(500, "InternalError"),
        KubeFault(429, "TooManyRequests"),
        KubeFault(0, "ClientError"),
    ]
    await_put = put(kube, "a")
    with contextlib.suppress(KubeFault):
        await await_put
    kube.faults += [KubeFault(503, "ServiceUnavailable")]
    async with mirrored(kube) as mirror:
        await put(kube, "a")
        await eventually(lambda: held(mirror) == {"a": "1"}, "it holds in the end")


@pytest.mark.parametrize(
    ("short_s", "waits"),
    [
        pytest.param(0.0, False, id="one whose time is over is asked for again at once"),
        pytest.param(3600.0, True, id="one that ends at once is left alone for a while"),
    ],
)
async def test_how_a_stream_ends_says_when_to_ask_again(
    monkeypatch: pytest.MonkeyPatch, short_s: float, *, waits: bool
) -> None:
    monkeypatch.setattr(watch, "SHORT_STREAM_S", short_s)
    kube, draws = FakeKube(), list[float]()

    def random() -> float:
        draws.append(0.0)
        return 0.0

    mirror = Mirror(kube, CONFIG_MAP, lambda: None, random, namespace=SYSTEM)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(mirror.run())
        for times in range(1, 4):
            await eventually(lambda times=times: watches(kube) >= times, "it watches")  # type: ignore[misc]
            await kube.end_streams()
        await eventually(lambda: watches(kube) >= 4, "it watches again")
        task.cancel()
    assert bool(draws) is waits


def watches(kube: FakeKube) -> int:
    return [verb for verb, _, _ in kube.calls].count("watch")


async def test_what_keeps_it_from_hearing_is_known() -> None:
    kube = FakeKube()
    kube.closed.add(SYSTEM)
    mirror = Mirror(kube, CONFIG_MAP, lambda: None, lambda: 0.0, namespace=SYSTEM)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(mirror.run())
        await eventually(lambda: mirror.refused, "it is not let in")
        assert (mirror.lost, mirror.synced) == ("Forbidden", False)
        kube.closed.clear()
        await eventually(lambda: mirror.synced, "it is let in")
        assert (mirror.lost, mirror.refused) == ("", False)
        task.cancel()


async def test_an_answer_to_our_own_write_is_held_at_once() -> None:
    kube = FakeKube()
    mirror = Mirror(kube, CONFIG_MAP, lambda: None, lambda: 0.0, namespace=SYSTEM)
    old = await put(kube, "a", "1")
    new = await put(kube, "a", "2")
    mirror.wrote(new)
    mirror.wrote(old)
    assert held(mirror) == {"a": "2"}
    before = mirror.count
    mirror.removed(SYSTEM, "a")
    mirror.removed(SYSTEM, "a")
    assert (held(mirror), mirror.count) == ({}, before + 1)


async def test_an_object_made_again_is_another_one() -> None:
    kube = FakeKube()
    mirror = Mirror(kube, CONFIG_MAP, lambda: None, lambda: 0.0, namespace=SYSTEM)
    first = await put(kube, "a", "1")
    mirror.wrote({**first, "metadata": {**first["metadata"], "resourceVersion": "999"}})
    mirror.wrote(
        {
            **first,
            "metadata": {**first["metadata"], "uid": "another", "resourceVersion": "5"},
            "data": {"k": "x"},
        }
    )
    assert held(mirror) == {"a": "x"}


async def test_versions_that_are_no_numbers_are_only_told_apart() -> None:
    mirror = Mirror(FakeKube(), CONFIG_MAP, lambda: None, lambda: 0.0)
    for version in ("a", "b"):
        mirror.wrote({"metadata": {"name": "n", "resourceVersion": version}, "data": {"k": version}})
    assert held(mirror) == {"n": "b"}
