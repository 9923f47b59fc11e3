"""Processes come up, go down, come back and vanish as they were told, with everything that belongs to them."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from forge.embedded.process import follow, procfs
from forge.embedded.process.relay import open_listener
from forge.embedded.process.spec import Backoff, Bind, LogBounds, Phase, Publish, Restart, Status
from forge.embedded.process.supervisor import Supervisor
from forge.errors import OperationFailed
from tests.kit.processes import DEADLINE_S, STAY, is_gone, python, soon, spec

IGNORE = python(
    "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
)


@pytest.fixture
async def supervisor(tmp_path: Path) -> AsyncIterator[Supervisor]:
    it = Supervisor(tmp_path / "records", f"test-{os.getpid()}-{os.urandom(4).hex()}")
    yield it
    await it.close()


def status(supervisor: Supervisor, name: str = "web") -> Status:
    found = supervisor.status(name)
    assert found is not None
    return found


def texts(supervisor: Supervisor, name: str = "web") -> list[str]:
    folder = supervisor.log_folder(name)
    assert folder is not None
    return [line.text for line in follow.read(folder)]


async def reaches(supervisor: Supervisor, phase: Phase, name: str = "web") -> Status:
    return await soon(lambda: status(supervisor, name), lambda seen: seen.phase is phase)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_process_runs_with_its_mounts_and_environment(supervisor: Supervisor, tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "a").write_text("from a file\n")
    script = 'cat /etc/app/a; echo "$CONF"; pwd; echo "$PRAXIS_FORGE_ID"'
    made = supervisor.create(
        spec(
            tmp_path,
            ("sh", "-c", script),
            env={"PATH": os.environ["PATH"], "CONF": "/etc/app"},
            mounts=(Bind(str(conf), "/etc/app"),),
        )
    )
    await reaches(supervisor, Phase.COMPLETED)
    root = tmp_path / "web" / "root"
    said = texts(supervisor)
    assert said[:3] == ["from a file", f"{root}/etc/app", str(root)]
    assert said[3].endswith(f"/web/{made.id}")


async def test_a_working_folder_follows_the_mounts(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    binds = (Bind(str(tmp_path / "data"), "/data"),)
    supervisor.create(spec(tmp_path, ("sh", "-c", "pwd -P"), cwd="/data", mounts=binds))
    await reaches(supervisor, Phase.COMPLETED)
    assert texts(supervisor) == [str(tmp_path / "data")]


async def test_the_machines_own_part_of_the_environment_is_left_as_it_is(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    mounts = (Bind(str(tmp_path / "data"), "/data"),)
    told = {"PATH": os.environ["PATH"], "OWN": "/data/x", "BOTH": "base"}
    script = ("sh", "-c", 'echo "$OWN $TOLD $BOTH"')
    env = {"TOLD": "/data/x", "BOTH": "env"}
    supervisor.create(spec(tmp_path, script, env=env, base=told, mounts=mounts))
    await reaches(supervisor, Phase.COMPLETED)
    assert texts(supervisor) == [f"/data/x {tmp_path}/web/root/data/x env"]


async def test_another_start_takes_new_settings_but_never_beside_a_running_process(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.create(spec(tmp_path, STAY))
    other = spec(tmp_path, ("sh", "-c", "echo other"))
    assert supervisor.start("web", other).run == 1
    await supervisor.stop("web", 0.0)
    assert supervisor.start("web", other).run == 2
    await reaches(supervisor, Phase.COMPLETED)
    assert texts(supervisor)[-1] == "other"


async def test_watchers_see_each_change_until_they_leave(supervisor: Supervisor, tmp_path: Path) -> None:
    seen: list[tuple[Phase, int]] = []
    leave = supervisor.subscribe(lambda s: seen.append((s.phase, s.run)))
    supervisor.create(spec(tmp_path, python("raise SystemExit(1)"), restart=Restart.ON_FAILURE))
    await soon(lambda: len(seen) >= 4)
    assert seen[:4] == [(Phase.RUNNING, 1), (Phase.STARTING, 1), (Phase.RUNNING, 2), (Phase.STARTING, 2)]
    leave()
    await supervisor.stop("web", 1)
    assert Phase.STOPPED not in [phase for phase, _ in seen]


async def test_a_watcher_that_fails_harms_nobody(supervisor: Supervisor, tmp_path: Path) -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))

    def fail(_: Status) -> None:
        raise RuntimeError("watcher")

    seen: list[Phase] = []
    supervisor.subscribe(fail)
    supervisor.subscribe(lambda s: seen.append(s.phase))
    supervisor.create(spec(tmp_path, ("true",)))
    await soon(lambda: seen == [Phase.RUNNING, Phase.COMPLETED])
    assert [str(error) for error in told] == ["watcher", "watcher"]


async def test_a_disk_without_room_is_told_and_leaves_nothing(supervisor: Supervisor, tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.rmdir()
    records.write_text("in the way")
    with pytest.raises(OSError, match="Not a directory"):
        supervisor.create(spec(tmp_path))
    assert supervisor.statuses() == []


async def test_the_wait_before_a_restart_is_told_and_grows(supervisor: Supervisor, tmp_path: Path) -> None:
    details: list[str] = []
    supervisor.subscribe(lambda s: details.append(s.detail) if s.phase is Phase.STARTING else None)
    failing = python("raise SystemExit(2)")
    backoff = Backoff(first_s=0.01, cap_s=0.04)
    supervisor.create(spec(tmp_path, failing, restart=Restart.ALWAYS, backoff=backoff))
    await soon(lambda: len(details) >= 4)
    waits = ("0.01", "0.02", "0.04", "0.04")
    assert details[:4] == [f"exited with 2, starts again in {wait} s" for wait in waits]


async def test_a_failed_creation_leaves_nothing(supervisor: Supervisor, tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match="no-such"):
        supervisor.create(
            spec(tmp_path, ("no-such",), mounts=(Bind(str(tmp_path / "d"), "/d", create=True),))
        )
    assert supervisor.statuses() == []
    assert list((tmp_path / "records").iterdir()) == []
    assert not (tmp_path / "web").exists()


async def test_a_taken_port_stops_the_creation_before_the_program_runs(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    free, taken = free_port(), free_port()
    ports = (Publish(free, 80, ("127.0.0.1",)), Publish(taken, 81, ("127.0.0.1",)))
    with open_listener("127.0.0.1", taken), pytest.raises(OperationFailed) as failure:
        supervisor.create(spec(tmp_path, ("touch", str(tmp_path / "ran")), publish=ports))
    assert failure.value.code == "FG0504"
    assert failure.value.why == f"127.0.0.1:{taken}: Address already in use"
    open_listener("127.0.0.1", free).close()
    assert not (tmp_path / "ran").exists()


async def test_a_port_is_open_exactly_while_the_process_runs(supervisor: Supervisor, tmp_path: Path) -> None:
    port = free_port()
    it = spec(tmp_path, restart=Restart.ALWAYS, publish=(Publish(port, 80, ("127.0.0.1",)),))
    assert supervisor.create(it).ports == (("127.0.0.1", port),)
    await supervisor.stop("web", 1)
    assert status(supervisor).ports == ()
    open_listener("127.0.0.1", port).close()
    assert supervisor.start("web").ports == (("127.0.0.1", port),)


async def test_a_port_lost_during_the_back_off_is_told_and_taken_back(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    """The program itself is wanted all the same: its own address works."""
    port = free_port()
    slow = Backoff(first_s=0.3, cap_s=0.3)
    it = spec(tmp_path, restart=Restart.ALWAYS, backoff=slow, publish=(Publish(port, 80, ("127.0.0.1",)),))
    first = supervisor.create(it)
    assert first.pid
    os.kill(first.pid, 9)
    await reaches(supervisor, Phase.STARTING)
    with open_listener("127.0.0.1", port):
        seen = await reaches(supervisor, Phase.RUNNING)
        assert (seen.detail, seen.ports) == (f"not published: 127.0.0.1:{port}: Address already in use", ())
    seen = await soon(lambda: status(supervisor), lambda seen: bool(seen.ports))
    assert (seen.detail, seen.pid) == ("", status(supervisor).pid)


async def test_an_end_takes_the_whole_family_along(supervisor: Supervisor, tmp_path: Path) -> None:
    """Children in the group, and one in a session of its own, which only its marker gives away."""
    script = (
        "import os, signal, subprocess, sys; stay = [sys.executable, '-S', '-c', 'import signal; signal.pause()'];"
        "print(subprocess.Popen(stay).pid, subprocess.Popen(stay, start_new_session=True).pid, flush=True);"
        "signal.pause()"
    )
    made = supervisor.create(spec(tmp_path, python(script)))
    await soon(lambda: texts(supervisor))
    inner, outer = (int(word) for word in texts(supervisor)[0].split())
    assert made.pid
    assert not any(is_gone(pid) for pid in (made.pid, inner, outer))
    await supervisor.stop("web", 5)
    assert [is_gone(pid) for pid in (made.pid, inner, outer)] == [True, True, True]


async def test_what_ignores_sigterm_is_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.create(spec(tmp_path, IGNORE))
    await soon(lambda: texts(supervisor) == ["ready"])
    await supervisor.stop("web", 0.05)
    seen = status(supervisor)
    assert (seen.phase, seen.exit_code) == (Phase.STOPPED, 137)


async def test_a_frozen_process_is_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    made = supervisor.create(spec(tmp_path))
    assert made.pid
    os.kill(made.pid, 19)
    await supervisor.stop("web", 0.05)
    assert is_gone(made.pid)


async def test_two_may_stop_it_at_once(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.create(spec(tmp_path, IGNORE))
    await soon(lambda: texts(supervisor) == ["ready"])
    await asyncio.gather(supervisor.stop("web", 30), supervisor.stop("web", 0.05))
    assert status(supervisor).phase is Phase.STOPPED


async def test_stopping_what_has_ended_keeps_its_end(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.create(spec(tmp_path, python("raise SystemExit(4)")))
    failed = await reaches(supervisor, Phase.FAILED)
    await supervisor.stop("web", 1)
    assert status(supervisor) == failed


async def test_removal_takes_everything_but_what_is_not_ours(supervisor: Supervisor, tmp_path: Path) -> None:
    source = tmp_path / "conf"
    source.mkdir()
    made = supervisor.create(spec(tmp_path, mounts=(Bind(str(source), "/etc/app"),)))
    (tmp_path / "web" / "neighbour").write_text("somebody else's")
    await supervisor.remove("web", 1)
    assert supervisor.statuses() == []
    assert list((tmp_path / "records").iterdir()) == []
    assert [p.name for p in (tmp_path / "web").iterdir()] == ["neighbour"]
    assert source.is_dir()
    assert made.pid
    assert is_gone(made.pid)
    await supervisor.remove("web", 1)


async def test_a_name_in_use_is_refused(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.create(spec(tmp_path))
    with pytest.raises(ValueError, match="exists"):
        supervisor.create(spec(tmp_path))


async def test_the_unknown_is_refused(supervisor: Supervisor) -> None:
    for call in (lambda: supervisor.start("web"), lambda: supervisor.command("web", ["true"])):
        with pytest.raises(OperationFailed, match="FG0510"):
            call()
    with pytest.raises(OperationFailed, match="FG0510"):
        await supervisor.stop("web", 1)
    assert supervisor.status("web") is None
    assert supervisor.log_folder("web") is None


async def test_a_command_beside_it_has_its_place(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    supervisor.create(spec(tmp_path, mounts=(Bind(str(tmp_path / "conf"), "/etc/app"),)))
    beside = supervisor.command("web", ["cat", "/etc/app/a"])
    root = str(tmp_path / "web" / "root")
    assert (beside.argv, beside.cwd) == (("cat", f"{root}/etc/app/a"), root)
    assert procfs.MARKER not in beside.env


async def test_a_flood_of_output_is_bounded_and_disturbs_nobody(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    bounds = LogBounds(max_bytes=100_000, max_line=200)
    flood = python(
        "import sys\nwhile True: sys.stdout.write('x' * 150 + '\\n'); sys.stderr.write('y' * 99999)"
    )
    supervisor.create(spec(tmp_path, flood, name="flood", log=bounds))
    folder = supervisor.log_folder("flood")
    assert folder is not None
    await soon(lambda: (folder / "00000020.log").exists() or len(list(folder.glob("*.log"))) > 1)
    supervisor.create(spec(tmp_path, ("echo", "hello")))
    await reaches(supervisor, Phase.COMPLETED)
    assert texts(supervisor) == ["hello"]
    sizes = [file.stat().st_size for file in folder.glob("*.log")]
    assert len(sizes) <= 3
    assert max(sizes) < 300_000
    await supervisor.remove("flood", 0.1)


async def test_the_last_words_are_kept(supervisor: Supervisor, tmp_path: Path) -> None:
    """All that was in the pipes when it ended, as much as they hold, and a line without an end."""
    script = "import os; os.write(1, b'x\\n' * 30000); os.write(2, b'the end'); os._exit(1)"
    supervisor.create(spec(tmp_path, python(script)))
    await reaches(supervisor, Phase.FAILED)
    assert texts(supervisor).count("x") == 30_000
    assert texts(supervisor).count("the end") == 1


async def test_a_supervisor_that_comes_after_a_dead_one_knows_what_was(tmp_path: Path) -> None:
    scope = f"test-{os.getpid()}-{os.urandom(4).hex()}"
    first = Supervisor(tmp_path / "records", scope)
    ran = first.create(spec(tmp_path, python("import signal; print('old', flush=True); signal.pause()")))
    first.create(spec(tmp_path, ("true",), name="job"))
    await reaches(first, Phase.COMPLETED, "job")
    await soon(lambda: texts(first) == ["old"])

    second = Supervisor(tmp_path / "records", scope)  # the first one is as good as dead: nobody asks it again
    assert [(s.name, s.phase) for s in second.statuses()] == [
        ("job", Phase.COMPLETED),
        ("web", Phase.BROKEN),
    ]
    assert ran.pid
    assert is_gone(ran.pid)
    with pytest.raises(OperationFailed, match="FG0510"):
        second.start("web")
    again = second.start("web", spec(tmp_path, STAY))
    assert (again.id, again.phase, again.run) == (ran.id, Phase.RUNNING, 2)
    assert texts(second) == ["old"]
    await second.remove("job", 1)
    await second.remove("web", 1)
    assert list((tmp_path / "records").iterdir()) == []
    await soon(lambda: status(first).pid is None)
    await first.close()


async def test_closing_ends_all_at_the_same_time(tmp_path: Path) -> None:
    it = Supervisor(tmp_path / "records", f"test-{os.getpid()}-{os.urandom(4).hex()}")
    made = [it.create(spec(tmp_path, IGNORE, name=f"web{n}", grace_s=0.3)) for n in range(5)]
    for one in made:
        await soon(lambda name=one.name: texts(it, name) == ["ready"])  # type: ignore[misc]
    async with asyncio.timeout(DEADLINE_S):
        await it.close()
    assert all(is_gone(one.pid or 0) for one in made)
