"""The follower over a fake API and a real file: writes, restores, survives storms, and writes nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from grid.contract.overlay import Scope
from grid.kube.port import CONFIG_MAP, KubeFault
from grid.sync import metrics
from grid.sync.follow import Outcome
from grid.sync.shell import Source, Syncer
from tests.kit.eventually import eventually
from tests.kit.fake_kube import FakeKube
from tests.kit.overlays import GENERATED_AT_S, candidate, document, encoded

NAME, NAMESPACE, KEY = "grid-overlay-production-edge", "grid-system", "grid-config.json"


def numbered(revision: int, **changes: object) -> dict[str, Any]:
    return document([candidate(fresh=revision % 2 == 0)], revision=revision, **changes)


async def put(kube: FakeKube, text: str | dict[str, Any] | None) -> None:
    text = encoded(text).decode() if isinstance(text, dict) else text
    data = {} if text is None else {KEY: text}
    await kube.apply(CONFIG_MAP, {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data})


def syncer(kube: FakeKube, output: Path, **changes: Any) -> Syncer:
    holder: list[Syncer] = []
    counted = metrics.SyncMetrics(lambda: holder[0].following, lambda: GENERATED_AT_S)
    source = Source(NAMESPACE, NAME, KEY, Scope(network="production"))
    made = Syncer(kube, source, output, counted, lambda: GENERATED_AT_S, lambda: 0.0, **changes)
    holder.append(made)
    return made


@contextlib.asynccontextmanager
async def running(made: Syncer) -> AsyncIterator[Syncer]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.run())
        try:
            yield made
        finally:
            task.cancel()


def revision(path: Path) -> int | None:
    """The revision in the file; None if there is no file."""
    return int(json.loads(path.read_bytes())["revision"]) if path.exists() else None


def spoil(path: Path, data: bytes | None) -> None:
    path.unlink() if data is None else path.write_bytes(data)


def inode(path: Path) -> int:
    return path.stat().st_ino


def block(path: Path) -> None:
    """A folder where the file was: it cannot be replaced, nor read."""
    path.unlink()
    path.mkdir()


async def holds(path: Path, expected: int) -> None:
    await eventually(lambda: revision(path) == expected, f"revision {expected} in the file")


async def counts(made: Syncer, writes: int) -> None:
    await eventually(lambda: made.metrics.writes.value("success") == writes, f"{writes} writes counted")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "overlay" / "grid-config.json"


async def test_what_changes_comes_to_the_file(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    async with running(syncer(kube, output)) as made:
        await holds(output, 42)
        await put(kube, numbered(43))
        await holds(output, 43)
        await counts(made, 2)


async def test_a_bad_document_leaves_the_file_and_is_counted(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    async with running(syncer(kube, output)) as made:
        await holds(output, 42)
        await put(kube, "{")
        await eventually(lambda: made.following.problem == "malformed_json", "the problem is said")
        assert revision(output) == 42
        await put(kube, numbered(44))
        await holds(output, 44)
    assert made.metrics.rejections.value("malformed_json") == 1
    assert list(metrics.not_ready(made.following, write_failed=made.write_failed)) == []


async def test_a_file_somebody_changed_is_put_back_without_any_event(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    async with running(syncer(kube, output, look_again_s=0.01)) as made:
        await holds(output, 42)
        await counts(made, 1)
        spoil(output, b'{"revision": 7}')
        await holds(output, 42)
        await counts(made, 2)
        spoil(output, None)
        await holds(output, 42)
        await counts(made, 3)
    assert made.metrics.events.value(Outcome.RESTORED) == 2


async def test_a_deleted_configmap_leaves_the_file_until_it_is_back(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    async with running(syncer(kube, output)) as made:
        await holds(output, 42)
        await kube.delete(CONFIG_MAP, NAME, NAMESPACE)
        await eventually(lambda: made.following.problem == "deleted", "its deletion is said")
        assert revision(output) == 42
        await put(kube, numbered(43))
        await holds(output, 43)


async def test_a_deletion_missed_while_away_is_noticed(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    async with running(syncer(kube, output)) as made:
        await holds(output, 42)
        await kube.delete(CONFIG_MAP, NAME, NAMESPACE)
        kube.compact()
        await kube.end_streams()
        await eventually(lambda: made.following.problem == "deleted", "its deletion is said")
        await put(kube, numbered(43))
        await holds(output, 43)


async def test_storms_pass_and_nothing_is_lost(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    async with running(syncer(kube, output)) as made:
        await holds(output, 42)
        kube.faults += [
            KubeFault(429, "TooManyRequests", 0.0),
            KubeFault(500, "InternalError"),
            KubeFault(0, "ClientError"),
        ]
        kube.faults += [KubeFault(410, "Expired"), KubeFault(503, "ServiceUnavailable")]
        await kube.end_streams()
        await eventually(lambda: not kube.faults, "every fault was met")
        await put(kube, numbered(43))
        await holds(output, 43)
        await counts(made, 2)
    assert made.metrics.reconnects.value("fault") == 4
    assert made.metrics.reconnects.value("gone") == 1


async def test_a_restart_rewrites_nothing(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    async with running(syncer(kube, output)):
        await holds(output, 42)
    before = inode(output)
    again = syncer(kube, output)
    again.begin()
    assert (await again.first()).outcome is Outcome.UNCHANGED
    assert inode(output) == before


async def test_what_cannot_be_written_is_not_followed(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    made = syncer(kube, output)
    await made.first()
    block(output)
    await put(kube, numbered(43))
    with pytest.raises(IsADirectoryError):
        await made.first()
    assert made.write_failed
    assert made.following.overlay is not None
    assert made.following.overlay.revision == 42
    assert list(metrics.not_ready(made.following, write_failed=True)) == ["the last write failed"]


async def test_status_and_metrics_say_what_is_in_the_file(output: Path) -> None:
    kube = FakeKube()
    await put(kube, numbered(42))
    made = syncer(kube, output)
    assert list(metrics.not_ready(made.following, write_failed=False)) == [
        "no valid overlay has been written"
    ]
    assert metrics.status(made.following, GENERATED_AT_S)["revision"] is None
    await made.first()
    said = metrics.status(made.following, GENERATED_AT_S + 2)
    assert (said["revision"], said["candidates"], said["update_age_s"], said["problem"]) == (
        "42",
        1,
        2.0,
        None,
    )
    exposition = made.metrics.metrics.scrape().decode()
    assert "grid_overlay_sync_revision 42.0" in exposition
    assert 'grid_overlay_sync_events_total{outcome="accepted"} 1.0' in exposition
