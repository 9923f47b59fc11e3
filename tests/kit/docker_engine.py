"""A container engine of the tests' own: dockerd with its own data, socket and bridge, gone afterwards.

    one a worker     pytest-xdist's workers do not see each other's containers
    nobody else's    no iptables rule, no default bridge, no forwarding is touched; a user's engine
                     beside it notices nothing
    self-healing     what a killed run left (its engine, bridges, mounts) the next run takes away
    by name          without root or dockerd the tests are skipped, saying why; with
                     PRAXIS_TEST_DOCKER=require they fail instead

Use the fixture `docker` (an Engine); tests that need it are marked `docker`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from forge.errors import ForgeError
from forge.host.engine import Engine, EngineRefused

PREFIX = "praxis-engine-"
_SHIM = Path(__file__).parents[1] / "kind" / "runc-without-sys-resource"
_START_S = 60.0
_CAP_SYS_RESOURCE = 24
_SUBNETS = tuple(f"10.{second}.{third}.1/24" for second in (231, 233) for third in range(256))


@dataclass(frozen=True, slots=True)
class Home:
    """An engine's directory, short since a socket's path has 107 characters at most. The file `user`
    in it says which pytest process uses it: its pid, and when that was born."""

    path: Path

    @property
    def socket(self) -> str:
        return str(self.path / "docker.sock")

    @property
    def bridge(self) -> str:
        return "pe" + self.path.name.removeprefix(PREFIX)[:8]

    @property
    def engine(self) -> Engine:
        return Engine(self.socket)

    def is_abandoned(self) -> bool:
        """Whether the process that uses it is dead."""
        try:
            pid, born = (self.path / "user").read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return False  # it is being made
        return _born(pid) != born

    def pid(self) -> int | None:
        """dockerd's, None when it does not run."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.path / "pid").read_text(encoding="ascii"))
            if b"dockerd" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        return None


def _born(pid: str) -> str:
    """When a process was started, in ticks since the machine was; empty for one that is dead."""
    try:
        state, *fields = Path("/proc", pid, "stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]


class DidNotStart(Exception):
    """This machine does not let an engine run, a container without rights of its own for one."""


@pytest.fixture(scope="session")
def docker() -> Iterator[Engine]:
    """The worker's own engine, started when the first test asks for it."""
    why_not = missing()
    if why_not is not None:
        _give_up(why_not)
    sweep()
    try:
        home = start()
    except DidNotStart as reason:
        _give_up(f"no Docker engine of our own: {reason}")
    yield home.engine
    end(home)


def missing() -> str | None:
    """What keeps this machine from running an engine for the tests; None for nothing."""
    if os.geteuid() != 0:
        return "no Docker engine of our own: that needs root"
    for program in ("dockerd", "docker", "ip"):
        if shutil.which(program, path=_path()) is None:
            return f"no Docker engine of our own: {program} is not installed"
    return None


def _give_up(why: str) -> NoReturn:
    if os.environ.get("PRAXIS_TEST_DOCKER") == "require":
        pytest.fail(f"{why} (PRAXIS_TEST_DOCKER=require)", pytrace=False)
    pytest.skip(why)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One process of this machine at a time."""
    with (Path(tempfile.gettempdir()) / f"{PREFIX}lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def sweep() -> None:
    """Ends the engines that nobody uses any more."""
    with _alone():
        for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/"):
            if Home(path).is_abandoned():
                end(Home(path))


def start() -> Home:
    """An engine in a new home, which this process uses."""
    home = Home(Path(tempfile.mkdtemp(prefix=PREFIX)))
    pid = str(os.getpid())
    (home.path / "user").write_text(f"{pid} {_born(pid)}", encoding="ascii")
    try:
        with _alone():
            _make_bridge(home.bridge)
        launch(home)
    except BaseException:
        end(home)
        raise
    version = home.engine.get("/version")
    client = subprocess.run(["docker", "--version"], capture_output=True, text=True, check=True).stdout
    engine = f"{version['Version']} (API {version['ApiVersion']})"
    print(f"engine of the tests: {engine}; client: {client.strip()}")  # noqa: T201 - shown with -s and on failure
    return home


def launch(home: Home) -> None:
    """Starts dockerd in its home and waits until it answers. It is nobody's child, so that whoever
    sweeps it can see it end."""
    for file in ("pid", "exec/containerd/containerd.pid"):  # of one that died: it would be taken for alive
        (home.path / file).unlink(missing_ok=True)
    _make_bridge(home.bridge)
    log = home.path / "log"
    argv = ["sh", "-c", '"$@" </dev/null >>"$0" 2>&1 & echo $!', str(log), *_command(home)]
    started = subprocess.run(
        argv, check=True, stdout=subprocess.PIPE, start_new_session=True, env=os.environ | {"PATH": _path()}
    )
    until = time.monotonic() + _START_S
    while True:
        with contextlib.suppress(ForgeError):
            home.engine.ping(1.0)
            return
        if time.monotonic() > until or not Path("/proc", started.stdout.decode().strip()).exists():
            tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise DidNotStart(f"dockerd ended, and said:\n{tail}")
        time.sleep(0.05)


def _command(home: Home) -> list[str]:
    """Its own everything; `--iptables=false`, since two engines fight over one table's chains."""
    (home.path / "daemon.json").write_text(json.dumps(_settings()), encoding="utf-8")
    own = {"data-root": "data", "exec-root": "exec", "pidfile": "pid", "config-file": "daemon.json"}
    return [
        "dockerd",
        f"--host=unix://{home.socket}",
        f"--bridge={home.bridge}",
        *(f"--{name}={home.path / file}" for name, file in own.items()),
        *("--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
    ]


def _settings() -> dict[str, object]:
    if _may_have_sys_resource():
        return {}
    return {"runtimes": {"lab": {"path": str(_SHIM)}}, "default-runtime": "lab"}


def _may_have_sys_resource() -> bool:
    """Whether this machine lets a privileged container have all it asks for."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapBnd:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_RESOURCE & 1)
    return True


def _make_bridge(name: str) -> None:
    """A default bridge beside docker0, with the first subnet that nobody has a route to."""
    if Path("/sys/class/net", name).exists():
        return
    routes = subprocess.run(["ip", "-4", "route"], capture_output=True, text=True, check=True).stdout
    address = next(a for a in _SUBNETS if a.rpartition(".")[0] + "." not in routes)
    _ip("link", "add", name, "type", "bridge")
    _ip("address", "add", address, "dev", name)
    _ip("link", "set", name, "up")


def end(home: Home) -> None:
    """Removes what the engine runs, ends it and takes its traces away, also of one that was killed."""
    if home.pid() is not None:
        with contextlib.suppress(EngineRefused, ForgeError):  # the rest goes in any case
            empty(home.engine)
    halt(home)
    _kill_leftovers(home)
    bridges = {home.bridge, *_bridges(home)}
    for mount in reversed(_mounts(home.path)):
        subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
    for bridge in bridges:
        if Path("/sys/class/net", bridge).exists():
            _ip("link", "delete", bridge)
    shutil.rmtree(home.path, ignore_errors=True)


def _kill_leftovers(home: Home) -> None:
    """Kills what runs without its engine: containers and their shims outlive one that is killed."""
    name = f"{home.path}/".encode()
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if name in (process / "cmdline").read_bytes():
                found += [*_children(process), int(process.name)]
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children(process: Path) -> list[int]:
    with contextlib.suppress(OSError):
        text = (process / "task" / process.name / "children").read_text(encoding="ascii")
        return [int(pid) for pid in text.split()]
    return []


def _bridges(home: Home) -> set[str]:
    """The bridges of all the networks that its books name; an engine that was killed leaves them."""
    with contextlib.suppress(OSError):
        books = (home.path / "data" / "network" / "files" / "local-kv.db").read_bytes()
        return {name.decode() for name in re.findall(rb"br-[0-9a-f]{12}", books)}
    return set()


def halt(home: Home) -> None:
    """Ends dockerd as an administrator would; kills it when it does not end."""
    pid = home.pid()
    if pid is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + 30.0
    while home.pid() is not None:
        if time.monotonic() > until:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def empty(engine: Engine) -> None:
    """Removes all containers and networks: an engine leaves its networks' bridges behind when it ends."""
    containers = [f"/containers/{c['Id']}" for c in engine.get("/containers/json", {"all": True})]
    networks = [n for n in engine.get("/networks") if n["Name"] not in ("bridge", "host", "none")]
    for thing in (*containers, *(f"/networks/{n['Id']}" for n in networks)):
        with contextlib.suppress(EngineRefused, ForgeError):  # the rest goes in any case
            engine.delete(thing, {"force": True, "v": True})


def new_name() -> str:
    """A name that no other test of the run has."""
    return f"t{secrets.token_hex(4)}"


def _mounts(path: Path) -> list[str]:
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return [target for line in lines if (target := line.split()[1]).startswith(f"{path}/")]


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise DidNotStart(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _path() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"))
