"""The first signal is told wherever it comes; the second takes along what any thread started."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, subprocess, threading
from forge.cli.signals import stopping
started, done = threading.Event(), threading.Event()
def work():
    global child
    child = subprocess.Popen(["sleep", "600"], start_new_session=%s)
    started.set()
    done.wait()
with stopping(lambda _: None):
    threading.Thread(target=work, daemon=True).start()
    started.wait()
    print(child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    done.wait()
"""


@pytest.mark.parametrize("session", [True, False], ids=["a session of its own", "the same session"])
def test_the_second_signal_kills_the_children_of_every_thread(session: bool) -> None:
    """The child holds the pipe, so reading to its end is waiting for the child's."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT % session], stdout=subprocess.PIPE, timeout=30, check=False
    )
    assert done.stdout.strip().isdigit()
    assert done.returncode == 130


IN_A_LINE = """
import os, signal, sys
from forge.cli.console import Console
from forge.cli.options import Common
from forge.cli.signals import stopping
class Interrupted:
    def __init__(self, stream):
        self.stream = stream
    def __getattr__(self, name):
        return getattr(self.stream, name)
    def write(self, text):
        if "a line" in text:
            os.kill(os.getpid(), signal.SIGINT)
        return self.stream.write(text)
sys.stderr = Interrupted(sys.stderr)
console = Console(Common())
with stopping(console.note_from_signal) as stop:
    console.note("a line")
    sys.exit(stop.signal_number)
"""


def test_a_signal_in_the_middle_of_a_line_is_told_and_does_not_hang() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_LINE], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert "stopping" in done.stderr
    assert "a line" in done.stderr
