"""The program: checks, shows, serves, reloads on a signal and drains on another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import httpx
import yaml

from edge.main import ids
from tests.kit.edges import write

TEXT = """
listeners:
  - {{name: main, address: "${{POD_IP:-127.0.0.1}}:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: access_log}}
      - {{filter: static_response, status: 200, body: "{body}"}}
shutdown_timeout_secs: 5
"""


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "edge", *argv], capture_output=True, text=True, timeout=60, check=False
    )


@contextmanager
def serving(file: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A gateway process and the port it says it listens on."""
    argv = [sys.executable, "-m", "edge", "-c", str(file)]
    environ = {**os.environ, "POD_IP": "127.0.0.1"}
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    ) as process:
        hung = Timer(60, process.kill)  # so that waiting for a line ends, whatever happens
        hung.start()
        try:
            yield process, next_line(process, "listening")["port"]
        finally:
            hung.cancel()
            process.kill()


def next_line(process: subprocess.Popen[str], message: str) -> dict[str, Any]:
    """The next log line that says *message*."""
    assert process.stdout is not None
    for text in process.stdout:
        line: dict[str, Any] = json.loads(text)
        if line["msg"] == message:
            return line
    raise AssertionError(f"ended without {message!r}")


def test_a_sound_file_is_checked_in_silence(tmp_path: Path) -> None:
    done = run("-c", str(write(tmp_path, TEXT.format(body="one"))), "-t")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_problem_is_said_with_its_place(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT.format(body="one") + "nonsense: 1\nshutdown_timeout: 5\n")
    done = run("-c", str(file), "-t")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"praxis-edge: {file}:10:1: nonsense: unknown key",
        f"praxis-edge: {file}:11:1: shutdown_timeout: unknown key (did you mean 'shutdown_timeout_secs'?)",
    ]


def test_the_dump_is_yaml_with_defaults_and_resolved_chains(tmp_path: Path) -> None:
    done = run("-c", str(write(tmp_path, TEXT.format(body="one"))), "-T")
    shown = yaml.safe_load(done.stdout)
    assert shown["configuration"]["body_limits"] == {"max_request_bytes": 10485760}
    assert [f["filter"] for f in shown["resolved_listeners"][0]["filters"]] == [
        "access_log",
        "static_response",
    ]


def test_checking_and_dumping_exclude_each_other(tmp_path: Path) -> None:
    assert run("-c", str(tmp_path / "x"), "-t", "-T").returncode == 2


def test_an_address_that_is_not_ours_is_said_in_one_line(tmp_path: Path) -> None:
    text = TEXT.format(body="one").replace("${POD_IP:-127.0.0.1}:0", "203.0.113.1:80")
    done = run("-c", str(write(tmp_path, text)))
    assert done.returncode == 1
    assert done.stderr.startswith("praxis-edge: cannot listen")
    assert "Traceback" not in done.stderr


def test_it_serves_reloads_and_drains(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT.format(body="one"))
    with serving(file) as (process, port):
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=20).text == "one"
        write(tmp_path, TEXT.format(body="two"))
        process.send_signal(signal.SIGHUP)
        next_line(process, "configuration applied")
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=20).text == "two"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert errors == ""
        # Lines that waited for their batch are written at the end.
        assert '"msg":"drained"' in output


def test_ids_are_distinct_and_of_one_length() -> None:
    new = ids("0123456789abcdef")
    assert len({new() for _ in range(3)}) == 3
    assert len(new()) == 32
