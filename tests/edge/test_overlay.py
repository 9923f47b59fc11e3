"""Every way a file may be replaced is noticed, and whatever it holds, the last good overlay stays."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from edge.overlay import OverlayFile, follow, follow_all, read
from edge.routing.accept import Accepted, Outcome
from tests.kit.eventually import eventually
from tests.kit.overlays import GENERATED_AT_S, candidate, document, encoded
from tests.kit.routing import Everywhere


def overlay(site: str, revision: int) -> bytes:
    return encoded(document([candidate(site)], revision=revision))


class Followed:
    """An overlay file, its follower's outcomes and what requests would see."""

    def __init__(self, path: Path) -> None:
        self.file = OverlayFile(path, Accepted())
        self.view = self.file.view(Everywhere())
        self.told: Counter[Outcome] = Counter()

    def hear(self, _: OverlayFile, outcome: Outcome) -> None:
        self.told[outcome] += 1

    async def serves(self, site: str) -> None:
        await eventually(lambda: self.site() == site, f"routes to {site}, not {self.site()}")

    def site(self) -> str | None:
        found = self.view.snapshot
        return found.overlay.candidates[0].site if found else None


@asynccontextmanager
async def following(path: Path) -> AsyncIterator[Followed]:
    made = Followed(path)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow(made.file, lambda: GENERATED_AT_S + 1, made.hear))
        yield made
        task.cancel()


def replace(path: Path, content: bytes) -> None:
    new = path.with_name(".new")
    new.write_bytes(content)
    new.replace(path)


def project(folder: Path, generation: str, content: bytes) -> None:
    """As a kubelet does: a new directory, and one rename of the `..data` link to it."""
    (folder / generation).mkdir()
    (folder / generation / "grid-config.json").write_bytes(content)
    (folder / "..new").symlink_to(generation)
    (folder / "..new").replace(folder / "..data")
    if not (folder / "grid-config.json").is_symlink():
        (folder / "grid-config.json").symlink_to("..data/grid-config.json")


async def test_a_file_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "grid-config.json"
    path.write_bytes(overlay("a", 1))
    async with following(path) as edge:
        await edge.serves("a")
        path.write_bytes(overlay("b", 2))
        await edge.serves("b")


async def test_a_file_replaced_by_a_rename(tmp_path: Path) -> None:
    path = tmp_path / "grid-config.json"
    replace(path, overlay("a", 1))
    async with following(path) as edge:
        await edge.serves("a")
        for revision in range(2, 12):
            replace(path, overlay(f"s{revision}", revision))
        await edge.serves("s11")


async def test_a_projected_volume_that_swaps_its_link(tmp_path: Path) -> None:
    project(tmp_path, "..1", overlay("a", 1))
    async with following(tmp_path / "grid-config.json") as edge:
        await edge.serves("a")
        project(tmp_path, "..2", overlay("b", 2))
        await edge.serves("b")


async def test_a_file_that_is_absent_and_then_there(tmp_path: Path) -> None:
    async with following(tmp_path / "grid-config.json") as edge:
        await eventually(lambda: edge.told[Outcome.REJECTED] == 1, "its absence is noticed")
        replace(tmp_path / "grid-config.json", overlay("a", 1))
        await edge.serves("a")


async def test_a_folder_that_is_absent_and_then_there(tmp_path: Path) -> None:
    path = tmp_path / "later" / "grid-config.json"
    async with following(path) as edge:
        await eventually(lambda: edge.told.total() >= 1, "it has looked")
        path.parent.mkdir()
        replace(path, overlay("a", 1))
        await edge.serves("a")
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        replace(path, overlay("b", 2))
        await edge.serves("b")


@pytest.mark.parametrize("bad", [b"", b"{", b'{"version":"invalid","load_balancer":null}'], ids=["empty", "torn", "foreign"])  # fmt: skip
async def test_a_bad_file_changes_nothing_and_the_next_good_one_does(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "grid-config.json"
    replace(path, overlay("a", 1))
    async with following(path) as edge:
        await edge.serves("a")
        replace(path, bad)
        await eventually(lambda: edge.told[Outcome.REJECTED] == 1, "it is refused")
        assert edge.site() == "a"
        replace(path, overlay("b", 2))
        await edge.serves("b")


async def test_a_document_that_trips_over_a_bug_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "grid-config.json"
    replace(path, overlay("a", 1))
    async with asyncio.TaskGroup() as group:
        made = Followed(path)

        def hear(file: OverlayFile, outcome: Outcome) -> None:
            if outcome is Outcome.REJECTED:
                raise RuntimeError("a bug")
            made.hear(file, outcome)

        task = group.create_task(follow(made.file, lambda: GENERATED_AT_S + 1, hear))
        await made.serves("a")
        replace(path, b"{")
        await eventually(lambda: "looking at the overlay failed" in caplog.text, "the bug is logged")
        replace(path, overlay("b", 2))
        await made.serves("b")
        task.cancel()


async def test_a_longer_silence_is_waited_for_and_a_writer_that_never_pauses_is_not(tmp_path: Path) -> None:
    path = tmp_path / "grid-config.json"
    replace(path, overlay("a", 1))
    file, accepted = OverlayFile(path, Accepted()), list[int | None]()

    def hear(heard: OverlayFile, outcome: Outcome) -> None:
        if outcome is Outcome.ACCEPTED and heard.accepted.overlay is not None:
            accepted.append(heard.accepted.overlay.revision)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow(file, lambda: GENERATED_AT_S + 1, hear, 2_000))
        await eventually(lambda: accepted == [1], "the first is taken at once")
        for revision in range(2, 7):
            replace(path, overlay("b", revision))
            await asyncio.sleep(0.05)
        await eventually(lambda: 6 in accepted, "the last one is taken")
        assert len(accepted) < 4, "each was taken as it came"
        task.cancel()


async def test_the_files_of_the_configuration_in_use_are_followed(tmp_path: Path) -> None:
    one, other = (Followed(tmp_path / name) for name in ("one", "other"))
    current = {one.file: 25}
    replace(one.file.path, overlay("a", 1))
    async with asyncio.TaskGroup() as group:
        told: Counter[Outcome] = Counter()
        task = group.create_task(
            follow_all(lambda: current, lambda: GENERATED_AT_S + 1, lambda _, outcome: told.update([outcome]))
        )
        await one.serves("a")
        del current[one.file]
        current[other.file] = 25
        replace(other.file.path, overlay("b", 1))
        await other.serves("b")
        replace(one.file.path, overlay("c", 2))
        replace(other.file.path, overlay("d", 2))
        await other.serves("d")
        await eventually(lambda: told[Outcome.ACCEPTED] == 3, "all three are told")
        task.cancel()
    assert one.site() == "a"


def test_reading_stops_past_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as opened:
        os.truncate(opened.fileno(), 1 << 30)
    found = read(path)
    assert found is not None
    assert len(found) == 2 * 1024 * 1024 + 1
    assert read(tmp_path / "absent") is None
    assert read(tmp_path) is None
