"""Commands are read while they run, end with their children, and keep their last words."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from forge.embedded.process import procfs
from forge.errors import OperationFailed
from forge.host import command
from tests.kit.host_contract import eventually


def run(code: str, folder: Path, cancel: threading.Event | None = None) -> tuple[command.Ended, list[str]]:
    told: list[str] = []
    argv = [sys.executable, "-c", code]
    return command.run(argv, os.environ, folder, told.append, cancel or threading.Event()), told


def test_lines_of_both_streams_are_told_and_kept(tmp_path: Path) -> None:
    ended, told = run("import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (ended.code, sorted(told), sorted(ended.lines)) == (3, ["one", "two"], ["one", "two"])
    assert ended.pasteable.startswith(f"$ {sys.executable} -c 'import sys;")


def test_a_last_line_without_an_end_is_a_line(tmp_path: Path) -> None:
    assert run("import os; os.write(1, b'no end')", tmp_path)[0].last_line == "no end"


def test_a_great_deal_is_read_and_its_end_is_kept(tmp_path: Path) -> None:
    ended, told = run("for i in range(20000): print('x' * 50, i)", tmp_path)
    assert (len(told), len(ended.lines), ended.last_line[-5:]) == (20000, 200, "19999")


def test_a_child_that_keeps_the_pipe_does_not_keep_us_and_goes_too(tmp_path: Path) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid)"
    ended, told = run(code, tmp_path)
    assert ended.code == 0
    eventually(lambda: is_gone(int(told[0])))


def test_cancelled_it_is_killed_with_its_children(tmp_path: Path) -> None:
    cancel = threading.Event()
    pids: list[int] = []

    def tell(line: str) -> None:
        pids.extend(map(int, line.split()))
        cancel.set()

    code = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    ended = command.run([sys.executable, "-c", code], os.environ, tmp_path, tell, cancel)
    assert ended.code is None
    assert len(pids) == 2
    eventually(lambda: all(map(is_gone, pids)))


def test_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match="no-such"):
        command.run(["/no-such"], os.environ, tmp_path, print, threading.Event())


def is_gone(pid: int) -> bool:
    return procfs.start_ticks(pid) is None or procfs.is_zombie(pid)
