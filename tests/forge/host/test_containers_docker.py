"""What only a container engine can show: labels, strangers' things, networks, users, and secrets."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge.errors import Interrupted, NotOurs, OperationFailed
from forge.host import docker_service
from forge.host.containers import DockerHost, engine_reachable
from forge.host.docker_body import Caller
from forge.host.docker_labels import labels
from forge.host.docker_read import POLICY
from forge.host.engine import Engine, EngineRefused
from forge.plan.resources import (
    HealthCheck,
    ImageResource,
    Mount,
    NetworkResource,
    PortBinding,
    ProbeType,
    PullPolicy,
    RestartPolicy,
    Secret,
    ServiceResource,
)
from forge.plan.values import Key, Owner, Phase
from tests.kit.docker_lab import BASE_NEXT, IMAGE, attached, host, image, make_service, network, owner
from tests.kit.host_contract import (
    FINGERPRINT,
    NETWORK,
    WEB,
    Lab,
    MakeService,
    Programs,
    eventually,
    following,
    free_port,
    lab,
    other_owner,
    program,
)
from tests.kit.images import import_tree, python_tree

__all__ = ["free_port", "host", "image", "lab", "make_service", "network", "other_owner", "owner", "program"]

pytestmark = pytest.mark.docker

USER_IMAGE = "praxis.test/user:dev"


@pytest.fixture
def lab_network(lab: Lab, network: NetworkResource) -> NetworkResource:
    """The lab network, made."""
    lab.host.create_network(NETWORK, network, lab.owner, FINGERPRINT)
    return network


@contextlib.contextmanager
def by_hand(docker: Engine, name: str, **body: Any) -> Iterator[str]:
    """A container that somebody made without Forge; gives its id."""
    plain = {"Image": IMAGE, "Cmd": ["sleep", "600"]}
    made = str(docker.post("/containers/create", {"name": name}, plain | body)["Id"])
    try:
        yield made
    finally:
        docker.delete(f"/containers/{made}", {"force": True})


def test_an_engine_is_reachable_or_not(docker: Engine, tmp_path: Path) -> None:
    assert engine_reachable(docker.socket_path)
    assert not engine_reachable(str(tmp_path / "nowhere"))


def test_a_look_needs_neither_the_docker_command_nor_python_on_whales(docker: Engine, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom forge.host.containers import DockerHost\n"
        "from forge.plan.values import Key, Owner\n"
        "host = DockerHost(Path(sys.argv[1]), sys.argv[2])\n"
        "host.observe(Owner('a', 'b'), {Key('network', 'lab'): 'x', Key('image', 'y'): 'y'})\n"
        "host.inspect_service(Key('service', 'web'), 'x')\nhost.survey([('127.0.0.1', 1)])\n"
        "print(sorted({'python_on_whales', 'http.client', 'pydantic', 'subprocess'} & set(sys.modules)))\n"
    )
    argv = [sys.executable, "-c", script, str(tmp_path), docker.socket_path]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, env={"PATH": "", "PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stdout == "[]\n"


def test_everything_is_labelled(
    lab: Lab, docker: Engine, lab_network: NetworkResource, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay())
    lab.create(web)
    found = docker.get(f"/containers/{web.container}/json")["Config"]["Labels"]
    assert found == {**labels(WEB, lab.owner, FINGERPRINT), POLICY: "no"}
    found = docker.get(f"/networks/{lab_network.name}")["Labels"]
    assert found == labels(NETWORK, lab.owner, FINGERPRINT)


def test_a_service_has_its_fixed_address_and_knows_it(
    lab: Lab, lab_network: NetworkResource, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.serve(8080), **attached(lab_network, 7))
    seen = lab.create(web)
    assert seen.address == web.address
    check = HealthCheck(ProbeType.HTTP, 8080, timeout_s=5)
    eventually(lambda: lab.host.probe(lab.look(web), web, check).ok)
    with urllib.request.urlopen(f"http://{web.address}:8080/", timeout=30) as answer:
        assert answer.read() == b"hello"
    lab.host.stop_service(seen)
    assert lab.look(web).address == web.address


def test_a_network_has_its_subnet_and_the_engine_only_its_part(
    docker: Engine, lab_network: NetworkResource
) -> None:
    (config,) = docker.get(f"/networks/{lab_network.name}")["IPAM"]["Config"]
    gateway = lab_network.subnet.replace(".0/23", ".1")
    assert config == {"Subnet": lab_network.subnet, "IPRange": lab_network.dynamic, "Gateway": gateway}


def test_making_a_network_again_gives_the_one_that_is_there(lab: Lab, lab_network: NetworkResource) -> None:
    there = lab.host.observe(lab.owner, {})[NETWORK].id
    assert lab.host.create_network(NETWORK, lab_network, lab.owner, FINGERPRINT) == there
    other = lab.host.create_network(NETWORK, lab_network, lab.owner, "f" * 32)
    assert other != there
    assert lab.host.observe(lab.owner, {})[NETWORK].id == other


def test_twins_of_a_network_are_removed_together(lab: Lab, docker: Engine, network: NetworkResource) -> None:
    body = {"Name": network.name, "CheckDuplicate": False, "Labels": labels(NETWORK, lab.owner, "f")}
    docker.post("/networks/create", body=body)
    try:
        docker.post("/networks/create", body=body)
    except EngineRefused:
        pytest.skip("this engine (API 1.44 or newer) lets no two networks have one name")
    lab.host.remove_network(lab.host.observe(lab.owner, {})[NETWORK])
    assert lab.host.observe(lab.owner, {NETWORK: network.name}) == {}


def test_a_network_of_nobodys_is_refused_and_not_touched(
    lab: Lab, docker: Engine, network: NetworkResource
) -> None:
    made = docker.post("/networks/create", body={"Name": network.name})["Id"]
    try:
        seen = lab.host.observe(lab.owner, {NETWORK: network.name})[NETWORK]
        assert (seen.id, seen.owner) == (made, None)
        with pytest.raises(NotOurs, match="belongs to no environment"):
            lab.host.create_network(NETWORK, network, lab.owner, FINGERPRINT)
        assert docker.get(f"/networks/{network.name}")["Id"] == made
    finally:
        docker.delete(f"/networks/{made}")


def test_a_taken_subnet_names_its_holder(lab: Lab, lab_network: NetworkResource, other_owner: Owner) -> None:
    with pytest.raises(OperationFailed) as failed:
        lab.host.create_network(NETWORK, replace(lab_network, name="x-net"), other_owner, FINGERPRINT)
    assert failed.value.code == "FG0305"
    assert f"network '{lab_network.name}' of environment '{lab.owner.environment}'" in failed.value.why


def test_a_subnet_that_shadows_a_route_is_refused(lab: Lab, network: NetworkResource) -> None:
    link = f"d{lab.owner.environment[:10]}"
    subprocess.run(["ip", "link", "add", link, "type", "bridge"], check=True)
    try:
        address = network.subnet.replace(".0/23", ".1/24")
        subprocess.run(["ip", "address", "add", address, "dev", link], check=True)
        subprocess.run(["ip", "link", "set", link, "up"], check=True)
        with pytest.raises(OperationFailed, match=f"a route of this host, {link}"):
            lab.host.create_network(NETWORK, network, lab.owner, FINGERPRINT)
    finally:
        subprocess.run(["ip", "link", "delete", link], check=True)
    assert lab.host.observe(lab.owner, {NETWORK: network.name}) == {}


def test_two_who_make_a_network_of_one_name_at_once_never_share_it(
    lab: Lab, network: NetworkResource, other_owner: Owner
) -> None:
    """Engines take two networks of one name; whoever finds a second one takes its own back."""
    both = {lab.owner: network, other_owner: replace(network, subnet=f"{BASE_NEXT}.0/25", dynamic=None)}
    for _ in range(5):
        made: list[Owner] = []
        threads = [threading.Thread(target=make_network, args=(lab, *item, made)) for item in both.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(made) <= 1
        for who in both:
            assert bool(lab.host.observe(who, {})) is (who in made)
            lab.clean(who)


def make_network(lab: Lab, whose: Owner, wanted: NetworkResource, made: list[Owner]) -> None:
    """Adds whose to made unless it is refused, as somebody else's or in the moment of a change."""
    try:
        lab.host.create_network(NETWORK, wanted, whose, FINGERPRINT)
    except NotOurs:
        return
    except OperationFailed as failed:
        if failed.may_pass:
            return
        raise
    made.append(whose)


def test_a_network_with_a_strangers_endpoint_is_kept_and_the_stranger_named(
    lab: Lab, docker: Engine, lab_network: NetworkResource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forge.host.docker_network._REMOVE_S", 0.3)
    seen = lab.host.observe(lab.owner, {})[NETWORK]
    config = {"NetworkMode": lab_network.name}
    with by_hand(docker, f"{lab.owner.environment}-guest", HostConfig=config) as guest:
        docker.post(f"/containers/{guest}/start")
        with pytest.raises(OperationFailed, match="guest") as failed:
            lab.host.remove_network(seen)
        assert (failed.value.code, failed.value.may_pass) == ("FG0306", False)
        assert docker.get(f"/containers/{guest}/json")["State"]["Running"]
        assert lab_network.name in docker.get(f"/containers/{guest}/json")["NetworkSettings"]["Networks"]
    lab.host.remove_network(seen)


def test_a_network_with_endpoints_of_ours_is_removed(
    lab: Lab, lab_network: NetworkResource, make_service: MakeService, program: Programs
) -> None:
    lab.create(make_service("web", program.stay(), **attached(lab_network, 7)))
    lab.host.remove_network(lab.host.observe(lab.owner, {})[NETWORK])
    assert list(lab.host.observe(lab.owner, {})) == [WEB]


def test_a_stopped_service_whose_network_is_gone_is_broken(
    lab: Lab, lab_network: NetworkResource, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay(), **attached(lab_network, 7))
    seen = lab.create(web)
    lab.says(seen, "ready")
    lab.host.stop_service(seen)
    lab.host.remove_network(lab.host.observe(lab.owner, {})[NETWORK])
    seen = lab.host.observe(lab.owner, {})[WEB]
    assert (seen.phase, seen.detail) == (Phase.BROKEN, "its network is gone")


def test_a_container_made_by_hand_under_our_name_is_refused_and_not_touched(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay())
    with by_hand(docker, web.container) as made:
        docker.post(f"/containers/{made}/start")
        assert lab.host.observe(lab.owner, {WEB: web.container})[WEB].owner is None
        with pytest.raises(NotOurs, match="belongs to no environment"):
            lab.create(web)
        assert docker.get(f"/containers/{made}/json")["State"]["Running"]


def test_the_beginning_of_an_id_is_no_name(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    with by_hand(docker, f"{lab.owner.environment}-other") as made:
        assert lab.host.inspect_service(WEB, made[:12]) is None
        web = make_service("web", program.stay(), container=made[:12])
        assert lab.create(web).id != made
        assert docker.get(f"/containers/{made}/json")["State"]["Status"] == "created"


def test_another_checkout_of_the_same_lab_is_seen_as_somebody_else(
    lab: Lab, make_service: MakeService, program: Programs
) -> None:
    twin = Owner(lab.owner.environment, "another-id")
    web = make_service("web", program.stay(), container=f"{lab.owner.environment}-old-web")
    seen = lab.create(web, owner=twin)
    try:
        assert lab.host.observe(lab.owner, {}) == {WEB: replace(seen, owner=twin)}
    finally:
        lab.clean(twin)


def test_a_leftover_that_was_never_started_is_seen_and_made_anew(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay())
    body = {"Image": IMAGE, "Cmd": ["cat"], "Labels": labels(WEB, lab.owner, FINGERPRINT)}
    made = docker.post("/containers/create", {"name": web.container}, body)["Id"]
    seen = lab.host.observe(lab.owner, {})[WEB]
    assert (seen.id, seen.phase) == (made, Phase.BROKEN)
    assert lab.create(web).phase is Phase.RUNNING
    assert docker.find(f"/containers/{made}/json") is None


def test_a_container_killed_from_outside_is_seen_as_failed_and_can_be_started(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay())
    first = lab.create(web)
    docker.post(f"/containers/{first.id}/kill")
    assert lab.reaches(web, Phase.FAILED).exit_code == 137
    lab.host.start_service(lab.look(web), web)
    assert lab.look(web).phase is Phase.RUNNING


def test_a_container_removed_from_outside_is_gone(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay())
    seen = lab.create(web)
    docker.delete(f"/containers/{seen.id}", {"force": True})
    lab.host.stop_service(seen)
    lab.host.remove_service(seen)
    assert lab.host.inspect_service(WEB, web.container) is None
    assert list(lab.host.logs(seen)) == []
    with pytest.raises(OperationFailed, match="it is gone"):
        lab.host.exec(seen, program.true(), tty=False)


def test_a_paused_service_counts_as_stopped_and_goes_on(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay())
    first = lab.create(web)
    docker.post(f"/containers/{first.id}/pause")
    assert (lab.look(web).phase, lab.look(web).detail) == (Phase.STOPPED, "paused")
    lab.host.start_service(lab.look(web), web)
    assert (lab.look(web).phase, lab.look(web).pid) == (Phase.RUNNING, first.pid)
    docker.post(f"/containers/{first.id}/pause")
    lab.host.remove_service(lab.look(web), 1)
    assert lab.host.observe(lab.owner, {}) == {}


def test_what_was_stopped_has_its_policy_back_once_it_is_started(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.stay())
    seen = lab.create(web)
    lab.says(seen, "ready")
    lab.host.stop_service(seen)
    lab.host.start_service(lab.look(web), web)
    lab.says(seen, "ready", times=2)
    found = docker.get(f"/containers/{seen.id}/json")
    assert found["HostConfig"]["RestartPolicy"]["Name"] == "no"
    docker.post(f"/containers/{seen.id}/kill", {"signal": "SIGTERM"})
    assert lab.reaches(web, Phase.COMPLETED).exit_code == 0


def test_a_cancelled_start_leaves_nothing(lab: Lab, make_service: MakeService, program: Programs) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Interrupted):
        lab.host.create_service(WEB, make_service("web", program.stay()), lab.owner, "f", cancel)
    assert lab.host.observe(lab.owner, {}) == {}


def test_a_port_is_published_on_ipv6(lab: Lab, make_service: MakeService, program: Programs) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            port = probe.getsockname()[1]
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    web = make_service("web", program.serve(8080), ports=(PortBinding("::1", port, 8080),))
    lab.create(web)
    check = HealthCheck(ProbeType.HTTP, 8080, timeout_s=5)
    eventually(lambda: lab.host.probe(lab.look(web), web, check).ok)
    with urllib.request.urlopen(f"http://[::1]:{port}/", timeout=30) as answer:
        assert answer.read() == b"hello"


def test_a_port_held_by_a_container_names_it(
    lab: Lab, make_service: MakeService, program: Programs, free_port: int
) -> None:
    ports = (PortBinding("127.0.0.1", free_port, 8080),)
    lab.create(make_service("one", program.stay(), ports=ports))
    with pytest.raises(OperationFailed) as failed:
        lab.create(make_service("two", program.stay(), ports=ports))
    assert failed.value.code == "FG0312"
    assert failed.value.why == (
        f"port {free_port} of 127.0.0.1 is held by container {lab.owner.environment}-one"
    )
    assert list(lab.host.observe(lab.owner, {})) == [Key("service", "one")]


def test_an_address_that_is_taken_names_its_holder(
    lab: Lab, lab_network: NetworkResource, make_service: MakeService, program: Programs
) -> None:
    place = attached(lab_network, 7)
    lab.create(make_service("one", program.stay(), **place))
    with pytest.raises(OperationFailed, match=f"taken by container {lab.owner.environment}-one"):
        lab.create(make_service("two", program.stay(), **place))
    assert list(lab.host.observe(lab.owner, {NETWORK: "no-such"})) == [NETWORK, Key("service", "one")]


def test_a_missing_mount_is_refused_before_anything_is_made(
    lab: Lab, make_service: MakeService, program: Programs, tmp_path: Path
) -> None:
    mounts = (Mount(str(tmp_path / "nowhere"), "/data"),)
    with pytest.raises(OperationFailed, match=r"nowhere does not exist"):
        lab.create(make_service("web", program.stay(), mounts=mounts))
    assert not (tmp_path / "nowhere").exists()


WRITE = ("sh", "-c", "echo hello > /data/word && cat /data/word; sleep 600")


@pytest.mark.parametrize(("inherits", "user"), [(True, 1234), (False, 0)])
def test_the_lab_s_own_files_are_written_by_the_hosts_group_or_by_who_runs_forge(
    inherits: bool, user: int, lab: Lab, docker: Engine, make_service: MakeService, tmp_path: Path
) -> None:
    """The image says 1234; the tests are root."""
    if docker.find(f"/images/{USER_IMAGE}/json") is None:
        import_tree(docker, USER_IMAGE, python_tree(), "USER 1234:1234")
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, -1, 4242)
    source = state / "runtime" / "data"
    mounts = (Mount(str(source), "/data", create=True),)
    web = make_service("web", WRITE, mounts=mounts, image=USER_IMAGE, inherit_host_group=inherits)
    seen = lab.create(web)
    eventually(lambda: lab.texts(seen), lambda texts: texts == ["hello"])
    assert (source / "word").stat().st_uid == user
    for folder in (source, source.parent):
        assert (stat.S_IMODE(folder.stat().st_mode), folder.stat().st_gid) == (0o770, 4242)
    lab.host.remove_service(seen, 0.2)


def test_a_caller_who_is_not_root_gives_its_own_user(
    lab: Lab, docker: Engine, make_service: MakeService, tmp_path: Path
) -> None:
    who = "import os; print(os.getuid(), os.getgid(), os.getgroups(), flush=True)"
    web = make_service("web", ("python3", "-c", who), inherit_host_group=True)
    caller = Caller("1234:1235", 4242)
    docker_service.create(docker, WEB, web, lab.owner, "f", caller, threading.Event())
    eventually(lambda: lab.texts(lab.look(web)), lambda texts: texts == ["1234 1235 [1235, 4242]"])


def test_anonymous_volumes_go_with_their_container(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs
) -> None:
    tag = "praxis.test/volume:dev"
    if docker.find(f"/images/{tag}/json") is None:
        import_tree(docker, tag, python_tree(), "VOLUME /data")
    seen = lab.create(make_service("web", program.stay(), image=tag))
    (mount,) = docker.get(f"/containers/{seen.id}/json")["Mounts"]
    lab.says(seen, "ready")
    lab.host.remove_service(seen)
    assert docker.find(f"/volumes/{mount['Name']}") is None


CANARY = "canary-b1c2d3e4f5a6"


@contextlib.contextmanager
def watching_argv() -> Iterator[set[bytes]]:
    """All command lines of this machine while the block runs."""
    seen: set[bytes] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            for entry in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    seen.add((entry / "cmdline").read_bytes())

    thread = threading.Thread(target=look)
    thread.start()
    yield seen
    done.set()
    thread.join(30)


def test_a_secret_is_in_no_argv_no_label_no_file_and_no_error(
    lab: Lab, docker: Engine, make_service: MakeService, program: Programs, tmp_path: Path
) -> None:
    web = make_service("web", program.say("one"), env={"TOKEN": Secret(CANARY)})
    with watching_argv() as lines:
        seen = lab.create(web)
        lab.says(seen, "ready")
        lab.host.stop_service(seen)
        lab.host.start_service(lab.look(web), web)
    assert any(b"dockerd" in line for line in lines)
    assert not any(CANARY.encode() in line for line in lines)
    found = docker.get(f"/containers/{seen.id}/json")
    assert f"TOKEN={CANARY}" in found["Config"].pop("Env")
    assert CANARY not in str(found)
    assert CANARY not in str(lab.look(web))
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and CANARY in p.read_text(errors="replace")]
    with pytest.raises(OperationFailed) as failed:
        lab.create(replace(web, args=(f"/no/{CANARY}",)))
    assert CANARY not in f"{failed.value} {failed.value.why} {failed.value.detail}"


def test_an_image_that_is_never_pulled_says_how_to_get_it(lab: Lab) -> None:
    wanted = ImageResource("praxis.test/no-such:1", PullPolicy.NEVER)
    with pytest.raises(OperationFailed) as failed:
        lab.host.ensure_image(Key("image", "x"), wanted, print, threading.Event())
    assert failed.value.code == "FG0307"
    assert "docker load" in failed.value.hint
    assert "spec.images[].build" in failed.value.hint


def test_a_service_without_its_image_is_refused(
    lab: Lab, make_service: MakeService, program: Programs
) -> None:
    with pytest.raises(OperationFailed, match=r"image 'praxis.test/no-such:1' is missing"):
        lab.create(make_service("web", program.stay(), image="praxis.test/no-such:1"))


def test_a_survey_names_networks_by_their_environment(lab: Lab, lab_network: NetworkResource) -> None:
    whose = lab.host.survey(()).subnets[lab_network.subnet]
    assert whose == f"network '{lab_network.name}' of environment '{lab.owner.environment}'"


def test_a_long_line_is_one_line(lab: Lab, make_service: MakeService) -> None:
    script = "print('x' * 50_000, flush=True); import time; time.sleep(600)"
    seen = lab.create(make_service("web", ("python3", "-c", script)))
    eventually(lambda: [len(text) for text in lab.texts(seen)], lambda sizes: sizes == [50_000])
    lab.host.remove_service(seen, 0.2)


COUNT = """
import itertools, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
for n in range(200):
    print(os.getpid(), n, flush=True, file=sys.stderr if n % 2 else sys.stdout)
os._exit(1)
"""


def test_following_a_service_that_keeps_failing_loses_and_repeats_nothing(
    lab: Lab, make_service: MakeService
) -> None:
    web = make_service("web", ("python3", "-c", COUNT), restart=RestartPolicy.ON_FAILURE)
    seen = lab.create(web)
    with following(lab.host, seen) as lines:
        eventually(lambda: len(lines), lambda count: count >= 800)
        lab.host.stop_service(seen)
        whole = list(lab.host.logs(seen))
        eventually(lambda: len(lines), lambda count: count >= len(whole))
    assert sorted((line.at, line.text) for line in lines) == sorted((line.at, line.text) for line in whole)
    runs = [[line.text for line in whole if line.run == run] for run in dict.fromkeys(x.run for x in whole)]
    assert {len(texts) for texts in runs[:4]} == {200}


def test_a_follower_with_a_tail_begins_at_the_tail(
    lab: Lab, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.say("one", "two"))
    seen = lab.create(web)
    lab.says(seen, "ready")
    lines: list[str] = []
    cancel = threading.Event()
    follower = threading.Thread(
        target=lambda: lines.extend(
            line.text for line in lab.host.logs(seen, tail=1, follow=True, cancel=cancel)
        )
    )
    follower.start()
    eventually(lambda: lines == ["ready"])
    lab.host.stop_service(seen)
    lab.host.start_service(lab.look(web), web)
    eventually(lambda: len(lines), lambda count: count >= 4)
    cancel.set()
    follower.join(30)
    assert lines == ["ready", "one", "two", "ready"]


TERMINAL = """
import sys
from pathlib import Path
from forge.host.containers import DockerHost
from forge.plan.values import Key
host = DockerHost(Path(sys.argv[1]), sys.argv[2])
seen = host.inspect_service(Key("service", "web"), sys.argv[3])
command = ("python3", "-c", "import sys; print('tty', sys.stdout.isatty()); sys.exit(int(input()))")
sys.exit(host.exec(seen, command, tty=sys.argv[4] == "tty"))
"""


def exec_script(
    host: DockerHost, docker: Engine, web: ServiceResource, tmp_path: Path, tty: str
) -> list[str]:
    return [sys.executable, "-c", TERMINAL, str(tmp_path), docker.socket_path, web.container, tty]


def test_exec_gives_the_command_its_input_and_passes_its_exit_code_on(
    lab: Lab, docker: Engine, host: DockerHost, make_service: MakeService, program: Programs, tmp_path: Path
) -> None:
    web = make_service("web", program.stay())
    lab.create(web)
    argv = exec_script(host, docker, web, tmp_path, "plain")
    done = subprocess.run(argv, input="7\n", capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("tty False\n", 7)


def test_exec_opens_a_terminal(
    lab: Lab, docker: Engine, host: DockerHost, make_service: MakeService, program: Programs, tmp_path: Path
) -> None:
    web = make_service("web", program.stay())
    lab.create(web)
    ours, theirs = os.openpty()
    argv = exec_script(host, docker, web, tmp_path, "tty")
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b"5\n")
        text = b""
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                text += piece
        assert process.wait(60) == 5
    os.close(ours)
    assert b"tty True" in text
