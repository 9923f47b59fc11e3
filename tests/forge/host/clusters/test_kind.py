"""KIND clusters keep the Clusters contract, with the real kind, the real engine and a stand-in node."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge.errors import Interrupted, NotOurs, OperationFailed, ToolMissing
from forge.host import docker_labels
from forge.host.clusters import kubeconfig, nodes
from forge.host.clusters.drivers import open_clusters
from forge.host.engine import Engine
from forge.plan.lab_ports import Access, Clusters
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Key, Owner, Phase
from tests.kit import docker_engine
from tests.kit.clusters_contract import EAST, FINGERPRINT, ClustersContract, Make, silent
from tests.kit.host_contract import eventually

pytestmark = pytest.mark.docker


def nobody(_: Access) -> str:
    raise AssertionError("a KIND cluster is not reached through the client for stacks")


class TestKindClusters(ClustersContract):
    @pytest.fixture
    def owner(self, lab_owner: Owner) -> Owner:
        return lab_owner

    @pytest.fixture(autouse=True)
    def command(self, kind_binary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("FORGE_KIND", str(kind_binary))
        monkeypatch.setenv("HOME", str(tmp_path / "home"))

    @pytest.fixture
    def clusters(self, docker: Engine, tmp_path: Path) -> Clusters:
        return open_clusters("docker", tmp_path / "state", nobody, docker.socket_path)

    @pytest.fixture
    def make(self, node_image: str, network: str, owner: Owner) -> Make:
        def make(name: str, **fields: Any) -> ClusterResource:
            settled = {"node_image": node_image, "network": network, **fields}
            return ClusterResource(name, f"{owner.environment}-{name}", Driver.KIND, **settled)

        return make

    def test_one_that_is_cancelled_half_way_leaves_nothing(
        self, create: Any, look: Any, make: Make, docker: Engine, tmp_path: Path
    ) -> None:
        cancel = threading.Event()

        def stop_at_the_second_step(_: str) -> None:
            if nodes.find(docker, make("east").full_name):
                cancel.set()

        with pytest.raises(Interrupted):
            create(make("east"), cancel=cancel, progress=stop_at_the_second_step)
        assert look(make("east")) == {}
        assert docker.get("/containers/json", {"all": True}) == []
        assert not (tmp_path / "state" / "clusters" / "east").exists()

    def test_one_that_fails_half_way_shows_how_and_leaves_nothing(
        self,
        create: Any,
        look: Any,
        make: Make,
        kind_binary: Path,
        docker: Engine,
        tmp_path: Path,
        monkeypatch: Any,
    ) -> None:
        failing = tmp_path / "kind"
        failing.write_text(
            f'#!/bin/sh\n{kind_binary} "$@" --retain\necho "ERROR: failed to join node" >&2\nexit 1\n'
        )
        failing.chmod(0o755)
        monkeypatch.setenv("FORGE_KIND", str(failing))
        with pytest.raises(OperationFailed) as failed:
            create(make("east"))
        assert (failed.value.code, failed.value.why) == ("FG0702", "failed to join node")
        assert failed.value.detail[0].startswith(
            f"$ {failing} create cluster --name {make('east').full_name}"
        )
        assert look(make("east")) == {}
        assert docker.get("/containers/json", {"all": True}) == []

    @pytest.mark.parametrize(
        ("script", "why"),
        [
            pytest.param("exit 0", "No such file", id="it made nothing"),
            pytest.param("echo words >$KUBECONFIG; exit 0", "is no kubeconfig", id="it wrote no kubeconfig"),
            pytest.param("kill -9 $$", "it ended with 137", id="it was killed"),
        ],
    )
    def test_a_kind_that_is_none_is_told(
        self, create: Any, look: Any, make: Make, tmp_path: Path, monkeypatch: Any, script: str, why: str
    ) -> None:
        (tmp_path / "kind").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "kind").chmod(0o755)
        monkeypatch.setenv("FORGE_KIND", str(tmp_path / "kind"))
        with pytest.raises(OperationFailed, match=why) as failed:
            create(make("east"))
        assert failed.value.code == "FG0702"
        assert look(make("east")) == {}

    def test_a_command_that_is_killed_half_way_leaves_what_the_next_one_knows(
        self, create: Any, look: Any, make: Make, docker: Engine, tmp_path: Path, owner: Owner
    ) -> None:
        wanted = make("east")
        with subprocess.Popen(_creating(tmp_path / "state", docker, wanted, owner)) as command:
            eventually(lambda: nodes.find(docker, wanted.full_name))
            command.kill()
        eventually(lambda: not _runs_kind(wanted.full_name))
        found = look(wanted)[EAST]
        assert (found.owner, found.phase) == (owner, Phase.BROKEN)
        assert found.fingerprint == FINGERPRINT
        assert found.detail == "its creation was cut off"
        identity = create(wanted)
        assert look(wanted)[EAST].id == identity

    def test_the_users_kubeconfig_is_neither_read_nor_locked_nor_written(
        self, create: Any, look: Any, make: Make, clusters: Clusters, tmp_path: Path, monkeypatch: Any
    ) -> None:
        kube = tmp_path / "home" / ".kube"
        kube.mkdir(parents=True)
        (kube / "config.lock").touch()
        (kube / "config").write_text("this is no kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(kube / "config"))
        create(make("east"))
        clusters.remove(look(make("east"))[EAST], make("east").full_name, threading.Event())
        assert {p.name: p.read_text() for p in kube.iterdir()} == {
            "config": "this is no kubeconfig",
            "config.lock": "",
        }

    def test_it_comes_back_after_its_engine_was_restarted_at_whatever_address(
        self, create: Any, look: Any, make: Make, clusters: Clusters, docker: Engine
    ) -> None:
        wanted = make("east", workers=1)
        identity = create(wanted)
        server = clusters.access("east").server
        home = docker_engine.Home(Path(docker.socket_path).parent)
        docker_engine.halt(home)
        docker_engine.launch(home)
        found = look(wanted)[EAST]
        assert (found.phase, found.id) == (Phase.STOPPED, identity)
        file = clusters.access("east").kubeconfig
        file.write_bytes(kubeconfig.read(file).at("https://127.0.0.1:1").text())
        clusters.start(found, wanted, silent, threading.Event())
        assert look(wanted)[EAST].id == identity
        assert clusters.access("east").server == server

    def test_a_node_that_stands_still_is_named_and_started(
        self, create: Any, look: Any, make: Make, clusters: Clusters, docker: Engine
    ) -> None:
        wanted = make("east", workers=1)
        create(wanted)
        worker = f"{wanted.full_name}-worker"
        for verb, state in (("pause", "paused"), ("kill", "exited")):
            docker.post(f"/containers/{worker}/{verb}")
            found = look(wanted)[EAST]
            assert (found.phase, found.detail) == (Phase.STOPPED, f"node {worker} is {state}")
            clusters.start(found, wanted, silent, threading.Event())
            assert look(wanted)[EAST].phase is Phase.RUNNING

    def test_a_lost_or_outdated_access_file_is_made_again(
        self, create: Any, look: Any, make: Make, clusters: Clusters
    ) -> None:
        wanted = make("east")
        identity = create(wanted)
        before = clusters.access("east")
        file = before.kubeconfig
        good = kubeconfig.read(file)
        for spoil, detail in (
            (file.unlink, "its access file is gone"),
            (
                lambda: file.write_bytes(good.at("https://127.0.0.1:1").text()),
                f"its API is at {good.server} now",
            ),
        ):
            spoil()
            found = look(wanted)[EAST]
            assert (found.phase, found.detail) == (Phase.STOPPED, detail)
            told: list[str] = []
            clusters.start(found, wanted, told.append, threading.Event())
            assert told == []  # nothing was restarted for it
            assert look(wanted)[EAST].id == identity
            assert (clusters.access("east").server, clusters.access("east").context) == (
                before.server,
                before.context,
            )

    def test_one_that_has_lost_its_marker_is_known_by_its_identity(
        self, create: Any, look: Any, make: Make, docker: Engine, owner: Owner
    ) -> None:
        identity = create(make("east"))
        argv = ["docker", "--host", f"unix://{docker.socket_path}", "exec"]
        argv += [f"{make('east').full_name}-control-plane"]
        argv += ["kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "-n", "kube-system"]
        subprocess.run([*argv, "delete", "configmap", "forge-owner"], check=True, capture_output=True)
        found = look(make("east"))[EAST]
        assert (found.owner, found.phase, found.id) == (owner, Phase.RUNNING, identity)

    @pytest.mark.parametrize("on_a_network_of", ["nobody", "another environment"])
    def test_what_kind_made_for_somebody_else_is_left_alone(
        self,
        create: Any,
        look: Any,
        clusters: Clusters,
        make: Make,
        docker: Engine,
        other_owner: Owner,
        on_a_network_of: str,
    ) -> None:
        """A container with kind's labels is all that there is to see of it."""
        wanted = make("east")
        owner = None if on_a_network_of == "nobody" else other_owner
        with _network_of(docker, owner) as name:
            body = {
                "Image": wanted.node_image,
                "Labels": {nodes.CLUSTER: wanted.full_name, nodes.ROLE: "control-plane"},
                "HostConfig": {"NetworkMode": name},
            }
            made = docker.post("/containers/create", {"name": f"{wanted.full_name}-control-plane"}, body)
            docker.post(f"/containers/{made['Id']}/start")
            found = look(wanted)[EAST]
            assert found.owner == owner
            with pytest.raises(NotOurs):
                create(wanted)
            with pytest.raises(NotOurs):
                clusters.remove(replace(found, owner=OURS), wanted.full_name, threading.Event())
            assert docker.get(f"/containers/{made['Id']}/json")["State"]["Running"]
            docker.delete(f"/containers/{made['Id']}", {"force": True, "v": True})

    def test_it_is_removed_without_the_kind_command(
        self, create: Any, look: Any, make: Make, clusters: Clusters, docker: Engine, monkeypatch: Any
    ) -> None:
        create(make("east"))
        monkeypatch.setenv("FORGE_KIND", "/nowhere/kind")
        with pytest.raises(ToolMissing):
            create(make("west"))
        clusters.remove(look(make("east"))[EAST], make("east").full_name, threading.Event())
        assert docker.get("/containers/json", {"all": True}) == []
        assert docker.get("/volumes")["Volumes"] in (None, [])


OURS = Owner("lab", "0" * 32)


def _creating(state_dir: Path, docker: Engine, wanted: ClusterResource, owner: Owner) -> list[str]:
    """A command that makes the cluster, to be killed."""
    code = (
        "import sys, threading; from pathlib import Path\n"
        "from forge.host.clusters.drivers import open_clusters\n"
        "from forge.plan.lab_resources import ClusterResource, Driver\n"
        "from forge.plan.values import Key, Owner\n"
        "folder, socket, full, image, network, name, identity, mark = sys.argv[1:]\n"
        "wanted = ClusterResource('east', full, Driver.KIND, node_image=image, network=network)\n"
        "open_clusters('docker', Path(folder), None, socket).create(Key('cluster', 'east'), wanted,\n"
        "    Owner(name, identity), mark, print, threading.Event())\n"
    )
    words = (wanted.full_name, str(wanted.node_image), str(wanted.network))
    own = (owner.environment, owner.environment_id, FINGERPRINT)
    return [sys.executable, "-c", code, str(state_dir), docker.socket_path, *words, *own]


def _runs_kind(full_name: str) -> bool:
    argvs = (file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists())
    wanted = f"create\0cluster\0--name\0{full_name}".encode()
    with contextlib.suppress(OSError):
        return any(wanted in argv for argv in argvs)
    return True


@contextlib.contextmanager
def _network_of(docker: Engine, owner: Owner | None) -> Iterator[str]:
    """A network of that owner, or one without labels."""
    name = docker_engine.new_name()
    labels = {} if owner is None else docker_labels.labels(Key("network", "lab"), owner, "f")
    made = docker.post("/networks/create", body={"Name": name, "CheckDuplicate": True, "Labels": labels})
    try:
        yield name
    finally:
        docker.delete(f"/networks/{made['Id']}")
