"""Records are whole or absent, and what a dead supervisor left is ended, told apart, and never anybody else's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from forge.embedded.process import procfs, record
from forge.embedded.process.record import Record
from forge.embedded.process.spec import Phase, Status
from tests.kit.processes import STAY, eventually, is_gone

SCOPE = f"test-{os.getpid()}"


def kept(folder: Path, name: str, phase: Phase, *, scope: str = SCOPE, **fields: object) -> Record:
    """A record on disk."""
    status = Status(f"{name}.1", name, phase, **fields)  # type: ignore[arg-type]
    (folder / status.id).mkdir(parents=True)
    it = Record(status, f"/lab/{name}/root", scope, procfs.boot_id())
    record.write(folder, it)
    return it


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    it = kept(tmp_path, "web", Phase.RUNNING, pid=5, ticks=7, ports=(("127.0.0.1", 8443),), labels={"a": "b"})
    assert list(record.load(tmp_path)) == [it]
    assert (tmp_path / "web.1" / "record.json").stat().st_mode & 0o077 == 0


def test_a_missing_folder_has_no_records(tmp_path: Path) -> None:
    assert list(record.load(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("phase", "after"),
    [
        pytest.param(Phase.RUNNING, Phase.BROKEN, id="what ran is broken"),
        pytest.param(Phase.STARTING, Phase.BROKEN, id="what was to start again is broken"),
        pytest.param(Phase.COMPLETED, Phase.COMPLETED, id="what was done is done"),
        pytest.param(Phase.FAILED, Phase.FAILED, id="what failed has failed"),
        pytest.param(Phase.STOPPED, Phase.STOPPED, id="what was stopped is stopped"),
        pytest.param(Phase.BROKEN, Phase.BROKEN, id="what never started never did"),
    ],
)
def test_how_things_stand_without_their_supervisor(tmp_path: Path, phase: Phase, after: Phase) -> None:
    kept(tmp_path, "web", phase, pid=2**22, ticks=7, ports=(("127.0.0.1", 1),))
    (found,) = record.recover(tmp_path, SCOPE)
    assert (found.status.phase, found.status.pid, found.status.ports) == (after, None, ())
    assert list(record.load(tmp_path)) == [found]


def test_a_creation_that_never_began_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "web.1").mkdir()
    (tmp_path / "job.1").mkdir()
    (tmp_path / "job.1" / "record.json").write_text('{"status": {"id": "job')
    assert record.recover(tmp_path, SCOPE) == []
    assert list(tmp_path.iterdir()) == []


def test_what_the_dead_one_left_running_is_ended(tmp_path: Path) -> None:
    marked = subprocess.Popen(STAY, env={**os.environ, procfs.MARKER: f"{SCOPE}/web/web.1"})
    renamed = subprocess.Popen(STAY)  # it overwrote its environment
    try:
        eventually(lambda: marked.pid in set(procfs.marked(f"{SCOPE}/")))
        kept(tmp_path, "web", Phase.RUNNING, pid=renamed.pid, ticks=procfs.start_ticks(renamed.pid))
        record.recover(tmp_path, SCOPE)
        assert is_gone(marked.pid)
        assert is_gone(renamed.pid)
    finally:
        for process in (marked, renamed):
            process.kill()
            process.wait()


def test_a_copied_folder_ends_nothing_of_the_original(tmp_path: Path) -> None:
    original = subprocess.Popen(STAY, env={**os.environ, procfs.MARKER: f"{SCOPE}-original/web/web.1"})
    try:
        ticks = procfs.start_ticks(original.pid)
        kept(tmp_path, "web", Phase.RUNNING, scope=f"{SCOPE}-original", pid=original.pid, ticks=ticks)
        (found,) = record.recover(tmp_path, f"{SCOPE}-copy")
        assert found.status.phase is Phase.BROKEN
        assert not is_gone(original.pid)
    finally:
        original.kill()
        original.wait()
