"""The daemon outlives its starter, answers one line with one line, and leaves nothing when it or its folder goes."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forge.embedded.process import client as client_module
from forge.embedded.process import procfs, wire
from forge.embedded.process.client import Client
from forge.embedded.process.spec import Phase, ProcessSpec, Status
from forge.errors import NotOurs, OperationFailed
from tests.kit.processes import DEADLINE_S, STAY, eventually, is_gone, python, spec

SCOPE = "0011223344556677"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A daemon's folder; whatever daemon is there at the end is ended."""
    place = tmp_path / ".supervisor"
    yield place
    if (pid := daemon_pid(place)) is not None:
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: is_gone(pid))


@pytest.fixture
def client(folder: Path) -> Client:
    return Client(folder)


def daemon_pid(folder: Path) -> int | None:
    """Of the daemon of a folder, by its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"forge.embedded.process" in words and str(folder).encode() in words:
                return int(entry.name)
    return None


def pid_of(folder: Path) -> int:
    pid = daemon_pid(folder)
    assert pid is not None
    return pid


def web(tmp_path: Path, argv: tuple[str, ...] = STAY, **fields: Any) -> ProcessSpec:
    return spec(tmp_path, argv, labels={"owner": SCOPE}, **fields)


def look(client: Client) -> Status:
    found = client.status("web")
    assert found is not None
    return found


def raw(folder: Path, *lines: bytes) -> list[dict[str, Any]]:
    """What the daemon answers to these lines on one connection, until it closes or all are answered."""
    peer = wire.connect(wire.Files(folder), DEADLINE_S)
    assert peer is not None
    with peer, peer.makefile("rb") as answers:
        for line in lines:
            peer.sendall(line)
        peer.shutdown(socket.SHUT_WR)
        return [json.loads(line) for line in answers]


def test_looking_starts_nothing(client: Client, folder: Path) -> None:
    assert client.statuses() == []
    assert client.status("web") is None
    assert client.command("web", ["true"]) is None
    client.remove("web", "web.1", SCOPE, 1)
    assert client.end()
    assert not folder.exists()


def test_a_daemon_is_nobodys_child_and_in_no_terminals_session(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    client.create(web(tmp_path), SCOPE, 1)
    pid = pid_of(folder)
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert int(stat[1]) != os.getpid()
    assert int(stat[3]) == pid
    assert int(stat[4]) == 0  # no terminal
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    for number in (0, 1, 2):
        assert str(Path(f"/proc/{pid}/fd/{number}").readlink()) in ("/dev/null", str(folder / "log"))


def test_everything_is_the_users_alone_and_no_value_is_on_disk(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    env = {"PATH": os.environ["PATH"], "TOKEN": "hunter2-hunter2"}
    client.create(web(tmp_path, env=env), SCOPE, 1)
    assert folder.stat().st_mode & 0o077 == 0
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert files
    assert all(b"hunter2" not in p.read_bytes() for p in files)
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"hunter2" not in command.read_bytes()
        except OSError:
            continue


def test_a_long_path_is_no_trouble(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100) / ".supervisor"
    client = Client(deep)
    client.create(web(tmp_path), SCOPE, 1)
    assert look(client).phase is Phase.RUNNING
    client.remove("web", look(client).id, SCOPE, 1)
    assert client.end()
    assert not deep.exists()


def test_ending_needs_an_empty_daemon(client: Client, folder: Path, tmp_path: Path) -> None:
    made = client.create(web(tmp_path), SCOPE, 1)
    assert not client.end()
    assert look(client).pid == made.pid
    client.remove("web", made.id, SCOPE, 1)
    pid = pid_of(folder)
    assert client.end()
    eventually(lambda: is_gone(pid))
    assert not folder.exists()


def test_an_older_instance_is_not_mistaken_for_the_present_one(client: Client, tmp_path: Path) -> None:
    old = client.create(web(tmp_path), SCOPE, 1)
    new = client.create(web(tmp_path), SCOPE, 1)
    client.remove("web", old.id, SCOPE, 1)
    assert look(client).id == new.id


def test_an_error_comes_back_as_it_was_raised(client: Client, tmp_path: Path) -> None:
    with pytest.raises(OperationFailed) as failure:
        client.create(web(tmp_path, ("no-such",)), SCOPE, 1)
    assert (failure.value.code, failure.value.changed) == ("FG0503", False)
    client.create(web(tmp_path), SCOPE, 1)
    with pytest.raises(NotOurs):
        client.create(spec(tmp_path, labels={"owner": "else"}), SCOPE, 1)


def test_a_daemon_has_room_for_connections(client: Client, folder: Path, tmp_path: Path) -> None:
    client.create(web(tmp_path), SCOPE, 1)
    soft, hard = resource.prlimit(pid_of(folder), resource.RLIMIT_NOFILE)
    assert soft >= (min(hard, 65_536) if hard != resource.RLIM_INFINITY else 65_536)


def test_a_daemon_that_hangs_is_named(
    client: Client, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create(web(tmp_path), SCOPE, 1)
    monkeypatch.setattr(client_module, "_ANSWER_S", 0.2)
    pid = pid_of(folder)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(OperationFailed) as failure:
            client.statuses()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert failure.value.code == "FG0505"
    assert failure.value.why == f"process {pid} gave no answer within 0.2 s"


def test_many_clients_at_once_share_one_daemon(client: Client, folder: Path, tmp_path: Path) -> None:
    failures: list[Exception] = []

    def create(n: int) -> None:
        try:
            Client(folder).create(web(tmp_path, name=f"web{n}"), SCOPE, 1)
        except Exception as error:  # noqa: BLE001 - told by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=create, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert failures == []
    assert [s.name for s in client.statuses()] == [f"web{n}" for n in range(6)]


def test_a_killed_daemon_takes_its_processes_along_and_the_next_one_repairs(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    """Its children die with it. A grandchild in a session of its own goes when the next daemon comes."""
    script = (
        "import signal, subprocess, sys;"
        "stay = [sys.executable, '-S', '-c', 'import signal; signal.pause()'];"
        "print(subprocess.Popen(stay, start_new_session=True).pid, flush=True); signal.pause()"
    )
    made = client.create(web(tmp_path, python(script)), SCOPE, 1)
    log = client.log_folder(made.id) / "00000001.log"
    grandchild = int(eventually(log.read_bytes).split()[3])
    os.kill(pid_of(folder), signal.SIGKILL)
    eventually(lambda: is_gone(made.pid or 0))

    seen = look(client)
    assert (seen.phase, seen.id, seen.pid) == (Phase.BROKEN, made.id, None)
    assert daemon_pid(folder) is None  # looking started none
    again = client.create(web(tmp_path), SCOPE, 1)
    assert again.id != made.id
    assert is_gone(grandchild)
    assert [p.name for p in (folder / "services").iterdir()] == [again.id]


def test_a_killed_daemons_things_can_be_removed(client: Client, folder: Path, tmp_path: Path) -> None:
    made = client.create(web(tmp_path), SCOPE, 1)
    os.kill(pid_of(folder), signal.SIGKILL)
    client.remove("web", made.id, SCOPE, 1)
    assert client.statuses() == []
    assert client.end()
    assert not folder.exists()
    assert not (tmp_path / "web").exists()


def test_a_daemon_that_is_asked_to_end_ends_its_processes_first(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    made = client.create(web(tmp_path), SCOPE, 1)
    pid = pid_of(folder)
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: is_gone(pid))
    assert is_gone(made.pid or 0)
    assert look(client).phase is Phase.STOPPED


def test_a_call_is_made_again_when_its_daemon_dies_under_it(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    """The stop waits for a process that ignores it; the daemon is killed meanwhile; the next one finds the
    process gone, and the caller never knew."""
    script = (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {15}); print('ready', flush=True);"
        "signal.sigwait({15}); print('told', flush=True); signal.pause()"
    )
    made = client.create(web(tmp_path, python(script)), SCOPE, 1)
    log = client.log_folder(made.id) / "00000001.log"
    eventually(log.read_bytes)
    stopping = threading.Thread(target=client.stop, args=("web", SCOPE, 500.0))
    stopping.start()
    killed = pid_of(folder)
    eventually(lambda: b"told" in log.read_bytes())
    os.kill(killed, signal.SIGKILL)
    stopping.join(DEADLINE_S)
    assert not stopping.is_alive()
    assert look(client).phase is Phase.STOPPED


def test_a_client_that_dies_in_mid_request_harms_nothing(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    client.create(web(tmp_path), SCOPE, 1)
    for part in (b"", b'{"protocol": 1, "op": "li', b'{"protocol": 1, "op": "list"}\n'):
        peer = wire.connect(wire.Files(folder), DEADLINE_S)
        assert peer is not None
        peer.sendall(part)
        peer.close()
    assert look(client).phase is Phase.RUNNING


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"\n", id="an empty line"),
        pytest.param(b"not json\n", id="no JSON"),
        pytest.param(b"[]\n", id="no object"),
        pytest.param(b'{"op": "list"}\n', id="no protocol"),
        pytest.param(b'{"protocol": 99, "op": "list"}\n', id="another protocol"),
        pytest.param(b'{"protocol": 1, "op": "dance", "name": "web"}\n', id="an unknown operation"),
        pytest.param(b'{"protocol": 1, "op": "stop", "name": "web"}\n', id="a missing argument"),
        pytest.param(
            b'{"protocol": 1, "op": "create", "spec": {"name": "x"}, "grace_s": 1}\n', id="half a spec"
        ),
    ],
)
def test_what_is_not_understood_is_answered_with_an_error(
    client: Client, folder: Path, tmp_path: Path, line: bytes
) -> None:
    client.create(web(tmp_path), SCOPE, 1)
    bad, good = raw(folder, line, b'{"protocol": 1, "op": "list"}\n')
    assert bad["error"]["code"] == "FG0506"
    assert len(good["ok"]) == 1


def test_a_stale_socket_and_a_foreign_lock_file_are_no_obstacle(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    folder.mkdir()
    wire.listen(wire.Files(folder)).close()
    (folder / "lock").write_text("4711")
    assert client.statuses() == []
    assert client.create(web(tmp_path), SCOPE, 1).phase is Phase.RUNNING


def test_a_daemon_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OperationFailed) as failure:
        Client(tmp_path / "file").create(web(tmp_path), SCOPE, 1)
    assert failure.value.code == "FG0505"
    assert "exists" in f"{failure.value.why}{failure.value.detail}".lower()


def test_a_second_daemon_leaves_the_first_alone(client: Client, folder: Path, tmp_path: Path) -> None:
    made = client.create(web(tmp_path), SCOPE, 1)
    argv = [sys.executable, "-m", "forge.embedded.process", "--dir", str(folder), "--scope", SCOPE]
    assert subprocess.run(argv, timeout=DEADLINE_S, check=False).returncode == 0
    assert look(client).pid == made.pid


def test_the_marker_of_a_surrounding_lab_does_not_reach_the_daemon(
    client: Client, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(procfs.MARKER, "other/web/1")
    client.create(web(tmp_path), SCOPE, 1)
    assert pid_of(folder) not in set(procfs.marked("other/"))


def test_a_daemon_whose_folder_was_deleted_ends_its_processes(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    made = client.create(web(tmp_path), SCOPE, 1)
    pid = pid_of(folder)
    folder.rename(tmp_path / "elsewhere")
    eventually(lambda: is_gone(pid))
    assert is_gone(made.pid or 0)
