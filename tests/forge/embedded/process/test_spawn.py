"""A child runs in its own session with its own environment, and dies with whoever started it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from forge.embedded.process import spawn
from forge.errors import OperationFailed
from tests.kit.processes import DEADLINE_S, eventually, is_gone, python

PATH = os.environ["PATH"]


def run(argv: tuple[str, ...], env: dict[str, str] | None = None, cwd: str = "/") -> tuple[int, bytes, bytes]:
    """Exit code and output of a child."""
    child = spawn.start("web", argv, {"PATH": PATH, **(env or {})}, cwd)
    said = [b"", b""]
    readable, _, _ = select.select([child.exited], [], [], DEADLINE_S)
    assert readable
    for index, fd in enumerate((child.stdout, child.stderr)):
        said[index] = os.read(fd, 65536)
        os.close(fd)
    return child.collect(), said[0], said[1]


def test_output_and_exit_code_come_back() -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    assert run(python(script)) == (3, b"out\n", b"err\n")


def test_a_signal_is_128_and_its_number() -> None:
    assert run(python("import os; os.kill(os.getpid(), 15)"))[0] == 143


def test_it_has_its_own_session_no_input_and_its_own_environment(tmp_path: Path) -> None:
    script = (
        "import os, sys; "
        "print(os.getsid(0) == os.getpgid(0) == os.getpid(), sys.stdin.read(), os.getcwd(), sorted(os.environ))"
    )
    code, out, _ = run(python(script), {"COLOUR": "green"}, str(tmp_path))
    assert (code, out.decode()) == (0, f"True  {tmp_path} ['COLOUR', 'LC_CTYPE', 'PATH']\n")


def test_no_descriptor_of_the_supervisor_is_inherited() -> None:
    with Path("/dev/null").open("rb"):
        _, out, _ = run(python("import os; print(len(os.listdir('/proc/self/fd')))"))
    assert int(out) == 4  # the three, and the one that reads the folder


def test_signals_the_supervisor_ignores_are_back_to_normal() -> None:
    """Python ignores SIGPIPE; a shell's `yes | head` needs it."""
    _, out, _ = run(("sh", "-c", "grep SigIgn /proc/self/status"))
    assert int(out.split()[1], 16) & (1 << (13 - 1)) == 0


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        pytest.param(
            ("no-such-program",), "there is no program 'no-such-program' on its PATH", id="not on PATH"
        ),
        pytest.param(("/no/such/program",), "No such file", id="a path to nothing"),
        pytest.param(("/etc/passwd",), "Permission denied", id="a file that is no program"),
        pytest.param((), "its argv is empty", id="nothing"),
        pytest.param(("sh", "-c", "a\0b"), "null byte", id="a word no program can get"),
    ],
)
def test_what_cannot_start_is_refused(argv: tuple[str, ...], why: str) -> None:
    with pytest.raises(OperationFailed) as failure:
        spawn.start("web", argv, {"PATH": PATH}, "/")
    assert failure.value.code == "FG0503"
    assert why in failure.value.why


def test_a_relative_path_is_taken_from_its_folder(tmp_path: Path) -> None:
    program = tmp_path / "run.sh"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o755)
    assert run(("./run.sh",), cwd=str(tmp_path)) == (0, b"here\n", b"")


def test_a_child_dies_with_its_parent() -> None:
    script = (
        "import os, signal, sys\n"
        "from forge.embedded.process import spawn\n"
        "child = spawn.start('web', [sys.executable, '-c', 'import signal; signal.pause()'], dict(os.environ), '/')\n"
        "print(child.pid, flush=True)\n"
        "signal.pause()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout as said:
        pid = int(said.readline())
    assert not is_gone(pid)
    parent.kill()
    parent.wait(DEADLINE_S)
    eventually(lambda: is_gone(pid))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may add a group")
def test_groups_are_added_to_the_supervisors_own() -> None:
    child = spawn.start("web", ("id", "-G"), {"PATH": PATH}, "/", groups=(54321,))
    readable, _, _ = select.select([child.exited], [], [], DEADLINE_S)
    assert readable
    groups = {int(word) for word in os.read(child.stdout, 65536).split()}
    assert groups == {*os.getgroups(), os.getegid(), 54321}
    assert child.collect() == 0
    os.close(child.stdout)
    os.close(child.stderr)


def test_without_a_descriptor_to_watch_it_nothing_runs(tmp_path: Path) -> None:
    """The pipes still fit, the handle on the process does not: it must not run unwatched."""
    script = (
        "import os, resource, sys\n"
        "from forge.embedded.process import spawn\n"
        "from forge.errors import OperationFailed\n"
        "before = len(os.listdir('/proc/self/fd'))\n"
        "for limit in range(4, 40):\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, 40))\n"
        "    try:\n"
        "        child = spawn.start('web', ['sleep', '600'], dict(os.environ), '/')\n"
        "    except OperationFailed as failure:\n"
        "        assert 'Too many open files' in failure.why, failure.why\n"
        "        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "        assert len(os.listdir('/proc/self/fd')) == before\n"
        "    else:\n"
        "        child.kill_group()\n"
        "        print('started at last', child.collect())\n"
        "        break\n"
        "try:\n"
        "    os.waitpid(-1, os.WNOHANG)\n"
        "except ChildProcessError:\n"
        "    print('no child is left')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "started at last 137\nno child is left\n"
