"""A process is ours by its marker, or by id, start time and boot together; nothing else is ended."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.embedded.process import procfs
from forge.embedded.process.procfs import Identity
from tests.kit.processes import STAY, eventually, is_gone, python


@pytest.fixture
def scope() -> str:
    return f"test-{os.getpid()}-{os.urandom(4).hex()}"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of a test, ended with it."""
    found: list[subprocess.Popen[bytes]] = []
    yield found
    for process in found:
        process.kill()
        process.wait()


def run(started: list[subprocess.Popen[bytes]], marker: str | None) -> int:
    env = dict(os.environ) if marker is None else {**os.environ, procfs.MARKER: marker}
    process = subprocess.Popen(STAY, env=env)
    started.append(process)
    eventually(lambda: python_runs(process.pid))
    return process.pid


def python_runs(pid: int) -> bool:
    """Whether it has come as far as its own program: before the exec it still looks like its parent."""
    return b"signal.pause" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_marked_processes_of_a_scope_are_ended_and_no_others(
    scope: str, started: list[subprocess.Popen[bytes]]
) -> None:
    one, two = run(started, f"{scope}/web/1"), run(started, f"{scope}/job/2")
    other, none = run(started, f"{scope}x/web/1"), run(started, None)
    assert set(procfs.marked(f"{scope}/")) == {one, two}
    assert procfs.kill_all(f"{scope}/") == 2
    assert [is_gone(pid) for pid in (one, two, other, none)] == [True, True, False, False]
    assert procfs.kill_all(f"{scope}/") == 0


def test_one_instance_is_ended_alone(scope: str, started: list[subprocess.Popen[bytes]]) -> None:
    one, two = run(started, f"{scope}/web/1"), run(started, f"{scope}/web/2")
    assert procfs.kill_once(f"{scope}/web/1") == {one}
    eventually(lambda: is_gone(one))
    assert not is_gone(two)


def test_a_known_process_is_ended_without_its_marker(
    scope: str, started: list[subprocess.Popen[bytes]]
) -> None:
    pid = run(started, None)
    ticks = procfs.start_ticks(pid)
    assert ticks is not None
    assert procfs.kill_all(f"{scope}/", [Identity(pid, ticks, procfs.boot_id())]) == 1
    assert is_gone(pid)


@pytest.mark.parametrize(
    ("later", "boot"),
    [
        pytest.param(1, None, id="its id was given to another process"),
        pytest.param(0, "another-boot", id="the machine was started anew"),
    ],
)
def test_a_process_that_only_has_the_id_is_left_alone(
    scope: str, started: list[subprocess.Popen[bytes]], later: int, boot: str | None
) -> None:
    pid = run(started, None)
    ticks = procfs.start_ticks(pid)
    assert ticks is not None
    assert procfs.kill_all(f"{scope}/", [Identity(pid, ticks - later, boot or procfs.boot_id())]) == 0
    assert not is_gone(pid)


def test_a_process_that_has_ended_is_not_alive(started: list[subprocess.Popen[bytes]]) -> None:
    process = subprocess.Popen(python(""))
    started.append(process)
    eventually(lambda: procfs.is_zombie(process.pid))
    assert not procfs.is_alive(Identity(process.pid, procfs.start_ticks(process.pid) or 0, procfs.boot_id()))


def test_an_unknown_process_has_no_start() -> None:
    assert procfs.start_ticks(2**22 + 1) is None


def test_a_name_with_brackets_and_spaces_is_read_right(started: list[subprocess.Popen[bytes]]) -> None:
    """The command's name stands unquoted in /proc/<pid>/stat, and may hold `) R 1`."""
    script = "import signal; open('/proc/self/comm','w').write('x) Z 1 (y'); print('ok', flush=True); signal.pause()"
    process = subprocess.Popen(python(script), stdout=subprocess.PIPE)
    started.append(process)
    assert process.stdout is not None
    with process.stdout as said:
        assert said.readline() == b"ok\n"
    mine, its = procfs.start_ticks(os.getpid()), procfs.start_ticks(process.pid)
    assert mine is not None
    assert its is not None
    assert its >= mine
    assert not procfs.is_zombie(process.pid)
