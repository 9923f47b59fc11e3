"""The program starts, says where it listens, and leaves on a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path


def test_it_serves_until_it_is_told_to_stop() -> None:
    argv = [sys.executable, "-m", "edge.simulator", "--port", "0", "--admin-port", "0"]
    environ = {**os.environ, "POD_IP": "127.0.0.1"}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert (line["msg"], line["address"]) == ("listening", "127.0.0.1")


def test_a_port_in_use_is_said_in_one_line() -> None:
    argv = [sys.executable, "-m", "edge.simulator", "--host", "203.0.113.1", "--admin-port", "0"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("praxis-sim: cannot listen")
    assert len(done.stderr.splitlines()) == 1


def test_a_bearer_file_that_is_not_there_is_said_before_a_port_opens(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "edge.simulator", "--bearer-file", str(tmp_path / "none"), "--port", "0"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "none cannot be read: No such file" in done.stderr


def test_an_empty_bearer_file_is_no_open_door(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    argv = [sys.executable, "-m", "edge.simulator", "--bearer-file", str(tmp_path / "empty"), "--port", "0"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "empty is empty" in done.stderr
