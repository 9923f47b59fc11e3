"""A watch replayed over a list is the current list, whatever happens in between."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.embedded.api.cluster import SYSTEM
from forge.embedded.api.exchange import Ask, Stream
from forge.embedded.api.paths import parse
from forge.embedded.api.values import Json
from forge.embedded.api.watch import QUEUE_BYTES, QUEUE_LIMIT, Sink
from tests.kit.embedded_machine import MAPS, Machine

NAMES = ["a", "b", "c"]


class Follower:
    """A client that lists once and then follows, reconnecting from the last version it saw."""

    def __init__(self, machine: Machine, **query: str) -> None:
        self._machine = machine
        self._query = query
        self.state, self.version = machine.objects(**query)
        self.connect()

    def connect(self) -> None:
        query = {"watch": "true", "resourceVersion": self.version, **self._query}
        stream = self._machine.ask("GET", MAPS, query=query)
        assert isinstance(stream, Stream)
        self._stream = stream

    async def catch_up(self) -> None:
        self._stream.watcher.close()
        while lines := (await self._stream.watcher.take()).splitlines():
            for event in map(json.loads, lines):
                self._take(event)
        self._machine.cluster.hub.remove("configmaps", "default", self._stream.watcher)

    def _take(self, event: Json) -> None:
        document = event["object"]
        name = document["metadata"]["name"]
        assert int(document["metadata"]["resourceVersion"]) > int(self.version)
        self.version = document["metadata"]["resourceVersion"]
        if event["type"] == "DELETED":
            del self.state[name]
        else:
            assert (event["type"] == "ADDED") == (name not in self.state)
            document.pop("kind")
            document.pop("apiVersion")
            self.state[name] = document


_STEP = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(NAMES), st.sampled_from(["x", "y"])),
    st.tuples(st.just("label"), st.sampled_from(NAMES), st.sampled_from(["x", "y"])),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("reconnect"), st.just(""), st.just("")),
    st.tuples(st.just("restart"), st.just(""), st.just("")),
)


async def _follow(path: Path, steps: list[tuple[str, str, str]]) -> None:
    machine = Machine(path)
    queries: tuple[dict[str, str], ...] = ({}, {"labelSelector": "app=x"})
    followers = [Follower(machine, **query) for query in queries]
    for step, name, value in steps:
        labels = {"metadata": {"name": name, "labels": {"app": value}}}
        if step == "create":
            machine.ask("POST", MAPS, labels)
        elif step == "label":
            machine.ask("PATCH", f"{MAPS}/{name}", labels)
        elif step == "delete":
            machine.ask("DELETE", f"{MAPS}/{name}")
        else:
            for follower in followers:
                await follower.catch_up()
            if step == "restart":
                machine.restart()
            for follower in followers:
                follower.connect()
    for follower, query in zip(followers, queries, strict=True):
        await follower.catch_up()
        assert follower.state == machine.objects(**query)[0]
    machine.journal.close()


def test_a_followed_list_is_the_list(tmp_path: Path) -> None:
    numbers = itertools.count()

    @settings(deadline=None, max_examples=50)
    @given(st.lists(_STEP, max_size=25))
    def law(steps: list[tuple[str, str, str]]) -> None:
        asyncio.run(_follow(tmp_path / str(next(numbers)), steps))

    law()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "store", retained=64)
    yield made
    made.journal.close()


async def test_a_watcher_that_does_not_read_is_dropped(machine: Machine) -> None:
    follower = Follower(machine)
    for number in range(QUEUE_LIMIT + 2):
        machine.ask("PATCH", f"{MAPS}/a", {"data": {"k": str(number)}})
        if number == 0:
            machine.ask("POST", MAPS, {"metadata": {"name": "a"}})
    assert follower._stream.watcher.dropped
    assert await follower._stream.watcher.take() == b""


async def test_a_watcher_that_does_not_read_large_objects_is_dropped_sooner(machine: Machine) -> None:
    machine.ask("POST", MAPS, {"metadata": {"name": "a"}})
    watcher = Follower(machine)._stream.watcher
    large, fit = "x" * 1_000_000, QUEUE_BYTES // 1_000_000
    for number in range(fit + 2):
        assert watcher.dropped == (number > fit)
        machine.ask("PATCH", f"{MAPS}/a", {"data": {"k": f"{number}{large}"}})
    assert await watcher.take() == b""


async def test_a_trimmed_version_is_told_as_an_event(machine: Machine) -> None:
    machine.ask("POST", MAPS, {"metadata": {"name": "a"}})
    for number in range(200):
        machine.ask("PATCH", f"{MAPS}/a", {"data": {"k": str(number)}})
    stream = machine.ask("GET", MAPS, query={"watch": "true", "resourceVersion": "2"})
    assert isinstance(stream, Stream)
    event = json.loads(await stream.watcher.take())
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_a_watch_list_ends_its_beginning_with_a_bookmark(machine: Machine) -> None:
    machine.ask("POST", MAPS, {"metadata": {"name": "a"}})
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    stream = machine.ask("GET", MAPS, query={"watch": "true"} | query)
    assert isinstance(stream, Stream)
    events = [json.loads(line) for line in (await stream.watcher.take()).splitlines()]
    assert [e["type"] for e in events] == ["ADDED", "BOOKMARK"]
    assert events[-1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"


async def test_a_connection_is_written_to_until_it_takes_no_more(machine: Machine) -> None:
    machine.ask("POST", MAPS, {"metadata": {"name": "a"}})
    watcher = Follower(machine)._stream.watcher
    written: list[bytes] = []
    takes = [True, False, True, True]

    def sink(frame: bytes) -> bool:
        if takes.pop(0):
            written.append(frame)
            return True
        return False

    watcher.sink = sink
    for value in ("0", "1", "2"):
        machine.ask("PATCH", f"{MAPS}/a", {"data": {"k": value}})
    queued = await watcher.take()
    machine.ask("PATCH", f"{MAPS}/a", {"data": {"k": "3"}})
    # What comes after a frame that waits, waits too; so that the order stays.
    told = b"".join([*written[:1], queued, *written[1:]]).splitlines()
    assert [json.loads(line)["object"]["data"]["k"] for line in told] == ["0", "1", "2", "3"]
    assert [json.loads(line)["object"]["data"]["k"] for line in queued.splitlines()] == ["1", "2"]


async def test_tables_are_made_once_for_all_who_watch_them(machine: Machine) -> None:
    machine.ask("POST", MAPS, {"metadata": {"name": "a"}})
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1", "User-Agent": "t/1"}
    version = machine.objects()[1]
    query = {"watch": "true", "resourceVersion": version}
    seen: list[list[bytes]] = [[], []]

    def keep(frames: list[bytes]) -> Sink:
        def sink(frame: bytes) -> bool:
            frames.append(frame)
            return True

        return sink

    for frames in seen:
        stream = machine.service.answer(Ask("GET", parse("GET", MAPS), query, accept, SYSTEM))
        assert isinstance(stream, Stream)
        stream.watcher.sink = keep(frames)
    for value in ("1", "2"):
        machine.ask("PATCH", f"{MAPS}/a", {"data": {"k": value}})
    for frames in seen:
        told = [json.loads(frame)["object"] for frame in frames]
        assert [t["columnDefinitions"] is not None for t in told] == [True, False]
        assert [t["rows"][0]["cells"][1] for t in told] == [1, 1]
    assert seen[0][1] is seen[1][1]
