"""The embedded runtime keeps the Host contract."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge.embedded.process import procfs
from forge.errors import ForgeError, OperationFailed, ToolMissing
from forge.host import embedded
from forge.host.embedded import EmbeddedHost
from forge.plan.resources import (
    HealthCheck,
    ImageResource,
    Mount,
    NetworkMode,
    NetworkResource,
    PortBinding,
    ProbeType,
    RestartPolicy,
    ServiceResource,
)
from forge.plan.values import Key, Owner, Phase
from tests.kit.host_contract import (
    DEADLINE_S,
    FINGERPRINT,
    IMAGE,
    NETWORK,
    WEB,
    Lab,
    Programs,
    RealHostContract,
    eventually,
    free_port,
    lab,
    listens,
    other_owner,
    program,
)

__all__ = ["free_port", "lab", "other_owner", "program"]

OWNER = Owner("lab", "0011223344556677")


@pytest.fixture
def owner() -> Owner:
    return OWNER


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


@pytest.fixture
def host(state_dir: Path, tmp_path: Path) -> EmbeddedHost:
    return EmbeddedHost(state_dir, tmp_path / "registry")


@pytest.fixture
def network() -> NetworkResource:
    return NetworkResource("praxis-forge-lab", "127.77.0.0/16")


@pytest.fixture
def image() -> ImageResource:
    return ImageResource("lab/app:dev", process=())


def service(name: str, args: tuple[str, ...], **fields: Any) -> ServiceResource:
    number = sum(name.encode()) % 200 + 1
    plain = ServiceResource(
        name,
        f"praxis-forge-lab-{name}",
        "lab/app:dev",
        process=(),
        args=args,
        network=NetworkMode.ENVIRONMENT,
        network_name="praxis-forge-lab",
        address=f"127.77.1.{number}",
    )
    return replace(plain, **fields)


@pytest.fixture
def make_service() -> Callable[..., ServiceResource]:
    return service


class TestContract(RealHostContract):
    pass


def test_a_machine_without_a_loopback_block_is_told(
    host: EmbeddedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_TRIAL_ADDRESS", "192.0.2.1")  # as 127.200.200.1 is elsewhere
    with pytest.raises(ToolMissing, match="FG0502"):
        host.describe()


class TestImages:
    """An image is present once its mapping was seen."""

    def test_one_without_a_mapping_is_refused(self, host: EmbeddedHost) -> None:
        with pytest.raises(OperationFailed, match="FG0501"):
            host.ensure_image(IMAGE, ImageResource("app:dev"), lambda _: None, threading.Event())
        assert host.observe(OWNER, {IMAGE: "app:dev"}) == {}

    def test_no_process_at_all_is_a_mapping_too(self, host: EmbeddedHost, image: ImageResource) -> None:
        assert host.ensure_image(IMAGE, image, lambda _: None, threading.Event()) == "lab/app:dev"
        other = Key("image", "other")
        host.ensure_image(other, ImageResource("b:1", process=("x",)), lambda _: None, threading.Event())
        assert set(host.observe(OWNER, {IMAGE: "lab/app:dev", other: "b:1"})) == {IMAGE, other}
        host.close(OWNER)
        assert host.observe(OWNER, {IMAGE: "lab/app:dev"}) == {}


class TestNeighbours:
    """Two environments on one machine keep out of each other's way, and say who is in it."""

    @pytest.fixture
    def other(self, tmp_path: Path) -> Iterator[Lab]:
        folder = tmp_path / "other" / ".forge"
        folder.mkdir(parents=True)
        it = Lab(EmbeddedHost(folder, tmp_path / "registry"), Owner("elsewhere", "8899aabbccddeeff"))
        yield it
        it.clean(it.owner)

    def test_another_environments_block_is_taken_and_the_own_is_not(
        self, lab: Lab, other: Lab, network: NetworkResource, tmp_path: Path
    ) -> None:
        lab.host.create_network(NETWORK, network, lab.owner, "f")
        other.host.create_network(NETWORK, NetworkResource("else", "127.78.0.0/16"), other.owner, "f")
        subnets = lab.host.survey([]).subnets
        assert subnets["127.78.0.0/16"] == f"environment elsewhere ({tmp_path}/other/.forge)"
        assert "127.77.0.0/16" not in subnets
        assert list(lab.host.observe(lab.owner, {})) == [NETWORK]

    def test_a_block_somebody_listens_in_is_taken(self, lab: Lab) -> None:
        with socket.socket() as server:
            server.bind(("127.79.3.3", 0))
            server.listen()
            assert lab.host.survey([]).subnets["127.79.0.0/16"] == "a program that listens on 127.79.3.3"

    @pytest.mark.parametrize("bind", ["127.0.0.1", "0.0.0.0"])
    def test_a_port_another_environment_publishes_is_named(
        self, lab: Lab, other: Lab, program: Programs, free_port: int, network: NetworkResource, bind: str
    ) -> None:
        other.host.create_network(NETWORK, NetworkResource("else", "127.78.0.0/16"), other.owner, "f")
        ports = (PortBinding(bind, free_port, 8080),)
        theirs = service("web", program.stay(), ports=ports, address="127.78.1.1")
        other.create(theirs)
        (held,) = lab.host.survey([(bind, free_port)]).ports
        assert (held.bind, held.owner, held.key) == (bind, other.owner, WEB)
        assert held.holder == "service/web of environment elsewhere"
        with pytest.raises(OperationFailed) as failure:
            lab.create(service("web", program.stay(), ports=ports))
        assert failure.value.why == f"{bind}:{free_port} is held by service/web of environment elsewhere"
        assert lab.host.observe(lab.owner, {}) == {}

    def test_a_published_wildcard_leaves_the_number_to_every_lab_address(
        self, lab: Lab, program: Programs, free_port: int
    ) -> None:
        """The usual case: the same number inside and out. A real wildcard would shut the program out."""
        ports = (PortBinding("0.0.0.0", free_port, free_port),)
        web = service("web", program.serve(free_port), ports=ports)
        lab.create(web)
        check = HealthCheck(ProbeType.HTTP, free_port, timeout_s=5)
        eventually(lambda: lab.host.probe(lab.look(web), web, check).ok)
        with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/", timeout=DEADLINE_S) as answer:
            assert answer.read() == b"hello"


class TestAfterACrash:
    """Whatever is killed, looking tells, `up` repairs and `down` leaves nothing."""

    def test_a_killed_supervisor_is_told_repaired_and_cleaned(
        self, lab: Lab, program: Programs, state_dir: Path, free_port: int
    ) -> None:
        web = service("web", program.stay(), ports=(PortBinding("127.0.0.1", free_port, 80),))
        first = lab.create(web)
        done = service("job", program.exit_with(0))
        lab.create(done)
        lab.reaches(done, Phase.COMPLETED)
        kill_supervisor(state_dir)
        eventually(lambda: not listens(free_port))
        found = lab.host.observe(lab.owner, {})
        assert {key.name: seen.phase for key, seen in found.items()} == {
            "web": Phase.BROKEN,
            "job": Phase.COMPLETED,
        }
        assert found[WEB].fingerprint == FINGERPRINT
        again = lab.create(web)
        assert (again.phase, again.id != first.id) == (Phase.RUNNING, True)
        assert lab.look(done).phase is Phase.COMPLETED
        kill_supervisor(state_dir)
        lab.clean(lab.owner)
        assert list(state_dir.iterdir()) == []

    def test_a_killed_supervisors_service_can_be_started_again(
        self, lab: Lab, program: Programs, state_dir: Path
    ) -> None:
        web = service("web", program.say("one"))
        first = lab.create(web)
        lab.says(first, "ready")
        kill_supervisor(state_dir)
        lab.host.start_service(lab.look(web), web)
        seen = lab.look(web)
        assert (seen.id, seen.phase, seen.fingerprint) == (first.id, Phase.RUNNING, FINGERPRINT)
        lab.says(seen, "one", times=2)

    @pytest.mark.parametrize("seed", [1, 2])
    def test_kills_at_any_point_leave_nothing_after_down(
        self, lab: Lab, state_dir: Path, free_port: int, seed: int
    ) -> None:
        """The supervisor is killed while three services come and go, each with a child that left its
        session. A call that met a kill may fail; what is there afterwards may not."""
        chance = random.Random(seed)
        ports = (PortBinding("127.0.0.1", free_port, 80),)
        wanted = [service("one", _FAMILY, ports=ports), service("two", _FAMILY), service("three", _FAMILY)]
        for _ in range(12):
            threads = [threading.Thread(target=meddle, args=(lab, one, chance.random())) for one in wanted]
            for thread in threads:
                thread.start()
            threads[0].join(chance.random() * 0.15)
            kill_supervisor(state_dir, missing_ok=True)
            for thread in threads:
                thread.join(DEADLINE_S)
        lab.clean(lab.owner)
        assert list(state_dir.iterdir()) == []
        assert list(procfs.marked(lab.owner.environment_id)) == []
        assert not listens(free_port)

    def test_a_killed_service_comes_back_by_its_policy(self, lab: Lab, program: Programs) -> None:
        web = service("web", program.stay(), restart=RestartPolicy.ALWAYS)
        first = lab.create(web)
        assert first.pid
        os.kill(first.pid, signal.SIGKILL)
        seen = eventually(lambda: lab.look(web), lambda seen: seen.restarts == 1 and seen.pid is not None)
        assert (seen.exit_code, seen.id) == (137, first.id)

    def test_everything_is_gone_after_down(
        self, lab: Lab, program: Programs, network: NetworkResource, state_dir: Path, tmp_path: Path
    ) -> None:
        lab.host.create_network(NETWORK, network, lab.owner, "f")
        lab.create(service("web", program.stay(), mounts=(Mount(str(tmp_path), "/etc/app"),)))
        lab.clean(lab.owner)
        assert list(state_dir.iterdir()) == []
        assert list((tmp_path / "registry").glob("*.json")) == []

    def test_files_of_others_below_runtime_stay(self, lab: Lab, program: Programs, state_dir: Path) -> None:
        (state_dir / "runtime" / "web" / "config").mkdir(parents=True)
        lab.create(service("web", program.stay()))
        lab.clean(lab.owner)
        assert [str(p.relative_to(state_dir)) for p in sorted(state_dir.rglob("*"))] == [
            "runtime",
            "runtime/web",
            "runtime/web/config",
        ]


_FAMILY_SCRIPT = """
import signal, subprocess, sys
subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"], start_new_session=True)
signal.pause()
"""
_FAMILY = ("python3", "-S", "-c", _FAMILY_SCRIPT)


def meddle(lab: Lab, wanted: ServiceResource, draw: float) -> None:
    """One change to a service, which may fail when the supervisor is killed under it."""
    key = Key("service", wanted.name)
    with contextlib.suppress(ForgeError):
        seen = lab.host.inspect_service(key, wanted.container)
        if seen is None or draw < 0.4:
            lab.host.create_service(key, wanted, lab.owner, FINGERPRINT, threading.Event())
        elif draw < 0.6:
            lab.host.stop_service(seen, 0.2)
        elif draw < 0.8:
            lab.host.start_service(seen, wanted)
        else:
            lab.host.remove_service(seen, 0.2)


def kill_supervisor(state_dir: Path, *, missing_ok: bool = False) -> None:
    """SIGKILL to the daemon of a state folder; returns when it is gone."""
    folder = str(state_dir / "runtime" / ".supervisor").encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and folder in _words(entry):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)
            eventually(lambda gone=entry: not _words(gone))  # type: ignore[misc]
            return
    assert missing_ok, "there is no supervisor to kill"


def _words(process: Path) -> list[bytes]:
    try:
        return [word for word in (process / "cmdline").read_bytes().split(b"\0") if word]
    except OSError:
        return []
