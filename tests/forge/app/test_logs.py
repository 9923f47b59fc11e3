"""A follower gives every line once, over restarts, recreation and an engine that stumbles."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forge.app.logs import LogRequest, logs
from forge.errors import OperationFailed, UsageError
from forge.plan.ports import Host, LogLine
from tests.kit.fake_host import FakeHost
from tests.kit.labs import FakeLab, file

TWO = file("name: web, args: [say, up]", "name: db, args: [say, up]")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    lab = FakeLab(tmp_path / "lab")
    lab.write(TWO)
    lab.up()
    return lab


class Follower:
    """logs --follow in a thread. lines: what came so far."""

    def __init__(self, lab: FakeLab, open_host: Callable[[str, Path], Host], *names: str) -> None:
        self.lines: list[LogLine] = []
        self.cancel = threading.Event()
        request = LogRequest(names=names, follow=True)
        self.thread = threading.Thread()
        self._each = lab, request, open_host

    def __enter__(self) -> Follower:
        lab, request, open_host = self._each

        def follow() -> None:
            for line in logs(lab.lab, request, self.cancel, open_host):
                self.lines.append(line)

        self.thread = threading.Thread(target=follow, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel.set()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def comes(self, *texts: str) -> None:
        deadline = time.monotonic() + 10
        while [line.text for line in self.lines] != list(texts):
            assert time.monotonic() < deadline, [line.text for line in self.lines]
            time.sleep(0.01)


def test_lines_of_all_services_merged_by_time(lab: FakeLab) -> None:
    lab.machine.containers["lab-web"].lines.clear()
    for name, text in (("web", "1"), ("db", "2"), ("web", "3")):
        FakeHost(lab.machine).write(f"lab-{name}", text)
    found = list(logs(lab.lab, LogRequest(), threading.Event(), lab.open_host))
    assert [(line.service, line.text) for line in found][-3:] == [("web", "1"), ("db", "2"), ("web", "3")]


def test_over_a_restart_and_a_recreation(lab: FakeLab) -> None:
    with Follower(lab, lab.open_host, "web") as follower:
        follower.comes("up", "ready")
        lab.write(TWO.replace("name: web, args: [say, up]", "name: web, args: [say, again]"))
        lab.up()
        follower.comes("up", "ready", "again", "ready")


def test_it_ends_when_the_service_leaves_the_lab(lab: FakeLab) -> None:
    with Follower(lab, lab.open_host, "web") as follower:
        follower.comes("up", "ready")
        lab.write(file("name: db, args: [say, up]"))
        lab.up()
        follower.thread.join(10)
        assert not follower.thread.is_alive()


class Stumbling(FakeHost):
    """Its logs break off with an error after every line, a few times."""

    breaks = 3

    def logs(self, observed, **how):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN201
        return self._broken(super().logs(observed, **how))

    def _broken(self, lines: Iterator[LogLine]) -> Iterator[LogLine]:
        for line in lines:
            yield line
            if Stumbling.breaks:
                Stumbling.breaks -= 1
                raise OperationFailed("FG0302", "the engine stumbled")


def test_an_engine_that_stumbles_loses_and_repeats_nothing(lab: FakeLab) -> None:
    Stumbling.breaks = 3
    with Follower(lab, lambda runtime, _: Stumbling(lab.machine, runtime), "web") as follower:
        follower.comes("up", "ready")
        FakeHost(lab.machine).write("lab-web", "more")
        follower.comes("up", "ready", "more")


def test_a_service_that_is_not_here_is_told(lab: FakeLab) -> None:
    with pytest.raises(UsageError, match="no service called 'wbe'"):
        list(logs(lab.lab, LogRequest(names=("wbe",)), threading.Event(), lab.open_host))
