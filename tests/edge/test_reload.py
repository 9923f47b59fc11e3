"""Every way a file is replaced in life is noticed."""

from __future__ import annotations

import errno
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from watchfiles import awatch
from watchfiles.main import FileChange

from edge import reload
from edge.built import Built
from edge.reload import watched
from tests.kit import backends
from tests.kit.edges import edge, write
from tests.kit.eventually import eventually

SECRET = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: router, routes: [{{path_prefix: /, cluster: sim}}]}}
      - filter: credential_inject
        credentials: [{{name: sim, file: secret/token}}]
        default: default/sim/token
      - filter: load_balancer
        clusters: [{{name: sim, endpoints: ["127.0.0.1:{port}"]}}]
"""
PLAIN = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters: [{{filter: static_response, status: 200, body: "{body}"}}]
"""


async def test_a_replaced_file(tmp_path: Path) -> None:
    async with edge(tmp_path, PLAIN.format(body="one"), follow=True) as made:
        write(tmp_path, PLAIN.format(body="two"))
        await eventually(lambda: made.outside.metrics.reloads.value("applied") == 1, "applied")


async def test_a_projected_volume(tmp_path: Path) -> None:
    """As a kubelet does it: the file is a link into `..data`, itself a link that is replaced."""
    for version in ("one", "two"):
        (tmp_path / f"..{version}").mkdir()
        write(tmp_path / f"..{version}", PLAIN.format(body=version))
    (tmp_path / "..data").symlink_to("..one")
    (tmp_path / "praxis.yaml").symlink_to("..data/praxis.yaml")
    async with edge(tmp_path, None, follow=True) as made:
        (tmp_path / "..data_tmp").symlink_to("..two")
        (tmp_path / "..data_tmp").replace(tmp_path / "..data")
        await eventually(lambda: made.outside.metrics.reloads.value("applied") == 1, "applied")


async def test_a_secret_that_was_renewed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    token = tmp_path / "secret" / "token"
    token.write_text("old")
    async with (
        backends.backend() as backend,
        edge(tmp_path, SECRET.format(port=backend.port), follow=True) as made,
    ):
        (tmp_path / "secret" / "new").write_text("new")
        (tmp_path / "secret" / "new").replace(token)
        await eventually(lambda: made.outside.metrics.reloads.value("applied") == 1, "applied")
        async with httpx.AsyncClient(timeout=20) as client:
            await client.get(made.url())
    assert backend.received[0].fields[b"authorization"] == b"Bearer new"


async def test_asked_for_by_signal_with_nothing_new(tmp_path: Path) -> None:
    async with edge(tmp_path, PLAIN.format(body="one"), follow=True) as made:
        made.reloader.asked.set()
        await eventually(lambda: made.outside.metrics.reloads.value("unchanged") > 0, "unchanged")
        assert made.outside.metrics.reloads.value("applied") == 0


async def test_a_change_without_an_event_is_found_by_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch on a folder that was moved away says nothing any more."""
    monkeypatch.setattr(reload, "_LOOK_AGAIN_MS", 50)
    async with edge(tmp_path / "a", PLAIN.format(body="one"), follow=True) as made:
        (tmp_path / "a").rename(tmp_path / "gone")
        (tmp_path / "a").mkdir()
        write(tmp_path / "a", PLAIN.format(body="two"))
        await eventually(lambda: made.outside.metrics.reloads.value("applied") == 1, "applied")


async def test_a_file_replaced_while_it_is_built_is_built_again(tmp_path: Path) -> None:
    async with edge(tmp_path, PLAIN.format(body="one")) as made:
        build = made.reloader.build

        def overtaken(before: Built) -> Built:
            found = build(before)
            made.reloader.build = build
            write(tmp_path, PLAIN.format(body="three"))
            return found

        made.reloader.build = overtaken
        write(tmp_path, PLAIN.format(body="two"))
        assert await made.reloader.reload()
        assert made.reloader.asked.is_set()
        assert await made.reloader.reload()
        async with httpx.AsyncClient(timeout=20) as client:
            assert (await client.get(made.url())).text == "three"


async def test_a_bug_of_ours_on_the_way_does_not_end_what_serves(tmp_path: Path) -> None:
    async with edge(tmp_path, PLAIN.format(body="one")) as made:

        def trip(_: Built) -> Built:
            raise KeyError("ours")

        made.reloader.build = trip
        write(tmp_path, PLAIN.format(body="two"))
        assert not await made.reloader.reload()
        assert made.reloader.last_rejection == "cannot be built: KeyError"
        async with httpx.AsyncClient(timeout=20) as client:
            assert (await client.get(made.url())).text == "one"


async def test_a_system_without_watches_to_give_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = []

    def stingy(*folders: Path, force_polling: bool, **options: Any) -> AsyncGenerator[set[FileChange], None]:
        if not force_polling:
            refused.append(folders)
            raise OSError(errno.ENOSPC, "no watches left")
        return awatch(*folders, force_polling=True, **options)

    monkeypatch.setattr(reload, "awatch", stingy)
    monkeypatch.setattr(reload, "_LOOK_AGAIN_MS", 200)
    async with edge(tmp_path, PLAIN.format(body="one"), follow=True) as made:
        write(tmp_path, PLAIN.format(body="two"))
        await eventually(lambda: made.outside.metrics.reloads.value("applied") == 1, "applied")
    assert len(refused) == 1


async def test_what_was_refused_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "_LOOK_AGAIN_MS", 20)
    async with edge(tmp_path, PLAIN.format(body="one"), follow=True) as made:
        write(tmp_path, "nonsense: 1")
        await eventually(lambda: made.reloader.rejections == 1, "refused")
        write(tmp_path, PLAIN.format(body="two"))
        await eventually(lambda: made.outside.metrics.reloads.value("applied") == 1, "applied")
    assert made.reloader.rejections == 1


def test_folders_are_watched_each_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    files = frozenset({tmp_path / "a" / "x", tmp_path / "a" / "y", tmp_path / "gone" / "z"})
    assert watched(files) == (tmp_path / "a",)
