"""Embedded clusters keep the Clusters contract, and come back from whatever befalls their daemons."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest

from forge.embedded.process import procfs, wire
from forge.embedded.process.client import Client
from forge.errors import OperationFailed
from forge.host.clusters import kubeconfig
from forge.host.clusters.api import Api
from forge.host.clusters.drivers import open_clusters
from forge.host.embedded import EmbeddedHost
from forge.plan.allocate import places
from forge.plan.lab_ports import Access, Clusters
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Observed, Owner, Phase
from tests.kit.clusters_contract import EAST, ClustersContract, Make, silent
from tests.kit.host_contract import eventually

MAPS = "/api/v1/namespaces/default/configmaps"


def nobody(_: Access) -> str:
    raise AssertionError("an embedded cluster is not reached through the client for stacks")


class TestEmbeddedClusters(ClustersContract):
    @pytest.fixture
    def state_dir(self, tmp_path: Path) -> Path:
        return tmp_path / "state"

    @pytest.fixture
    def clusters(self, state_dir: Path) -> Clusters:
        return open_clusters("embedded", state_dir, nobody)

    @pytest.fixture
    def make(self) -> Make:
        """Two blocks of loopback addresses that no other test of this moment is likely to have."""
        second, third = random.randrange(128, 250), random.randrange(0, 7)
        blocks = {"east": f"127.{second}.{third * 32}.0/20", "west": f"127.{second}.{third * 32 + 16}.0/20"}

        def make(name: str, **fields: Any) -> ClusterResource:
            return ClusterResource(name, f"forge-{name}", Driver.EMBEDDED, block=blocks[name], **fields)

        return make

    @pytest.fixture
    def supervisor(self, state_dir: Path) -> Client:
        return Client(state_dir / "runtime" / ".supervisor")

    def test_its_host_sees_no_service_in_it(
        self, create: Any, make: Make, state_dir: Path, tmp_path: Path, owner: Owner
    ) -> None:
        create(make("east"))
        assert EmbeddedHost(state_dir, tmp_path / "registry").observe(owner, {}) == {}

    def test_a_killed_daemon_comes_back_by_itself(
        self, create: Any, look: Any, make: Make, clusters: Clusters
    ) -> None:
        create(make("east"))
        api = api_of(clusters)
        assert api.post(MAPS, config_map("kept"))[0] == 201
        before: Observed = look(make("east"))[EAST]
        assert before.pid is not None
        os.kill(before.pid, signal.SIGKILL)
        assert look(make("east"))[EAST].phase is Phase.RUNNING
        after = eventually(lambda: look(make("east"))[EAST], lambda found: bool(found.restarts))
        assert (after.phase, after.id) == (Phase.RUNNING, before.id)
        assert api.get(f"{MAPS}/kept")[0] == 200

    def test_a_killed_supervisor_leaves_it_stopped_with_all_that_is_in_it(
        self, create: Any, look: Any, make: Make, clusters: Clusters, state_dir: Path
    ) -> None:
        identity = create(make("east"))
        assert api_of(clusters).post(MAPS, config_map("kept"))[0] == 201
        kill_supervisor(state_dir)
        found = look(make("east"))[EAST]
        assert (found.phase, found.id) == (Phase.STOPPED, identity)
        clusters.start(found, make("east"), silent, threading.Event())
        assert look(make("east"))[EAST].id == identity
        assert api_of(clusters).get(f"{MAPS}/kept")[0] == 200

    def test_one_whose_supervisor_has_lost_all_records_is_started_again(
        self, create: Any, look: Any, make: Make, clusters: Clusters, state_dir: Path
    ) -> None:
        identity = create(make("east"))
        kill_supervisor(state_dir)
        shutil.rmtree(state_dir / "runtime" / ".supervisor")
        clusters.start(look(make("east"))[EAST], make("east"), silent, threading.Event())
        assert look(make("east"))[EAST].id == identity

    def test_a_daemon_that_hangs_is_stopped_in_our_eyes_and_started_anew(
        self, create: Any, look: Any, make: Make, clusters: Clusters
    ) -> None:
        identity = create(make("east"))
        pid = look(make("east"))[EAST].pid
        os.kill(pid, signal.SIGSTOP)
        found = look(make("east"))[EAST]
        assert found.phase is Phase.STOPPED
        assert "does not answer" in found.detail
        clusters.start(found, make("east"), silent, threading.Event())
        assert look(make("east"))[EAST].id == identity

    def test_a_command_killed_while_it_is_made_leaves_a_broken_one_that_gives_way(
        self, create: Any, look: Any, make: Make, state_dir: Path
    ) -> None:
        folder = state_dir / "clusters" / "east"
        first = create(make("east"))
        about = json.loads((folder / "about.json").read_text())
        (folder / "about.json").write_text(json.dumps({**about, "made": False}))
        found = look(make("east"))[EAST]
        assert (found.phase, found.detail) == (Phase.BROKEN, "its creation was cut off")
        assert create(make("east")) != first

    def test_it_outlives_the_command_that_made_it(self, make: Make, look: Any, state_dir: Path) -> None:
        code = (
            "import sys, threading; from pathlib import Path\n"
            "from forge.host.clusters.drivers import open_clusters\n"
            "from forge.plan.lab_resources import ClusterResource, Driver\n"
            "from forge.plan.values import Key, Owner\n"
            "wanted = ClusterResource('east', 'forge-east', Driver.EMBEDDED, block=sys.argv[2])\n"
            "clusters = open_clusters('embedded', Path(sys.argv[1]), None)\n"
            "owner = Owner('lab', '0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f')\n"
            "clusters.create(Key('cluster', 'east'), wanted, owner, 'f' * 32, print, threading.Event())\n"
        )
        argv = [sys.executable, "-c", code, str(state_dir), str(make("east").block)]
        subprocess.run(argv, check=True, timeout=120)
        assert look(make("east"))[EAST].phase is Phase.RUNNING

    def test_what_stands_for_an_image_is_read_anew(
        self, create: Any, make: Make, clusters: Clusters, state_dir: Path
    ) -> None:
        create(make("east", images={"app:1": ("old",)}))
        clusters.update_images(make("east", images={"app:2": ("new", "word")}))
        file = state_dir / "clusters" / "east" / "images.json"
        assert json.loads(file.read_text()) == {"app:2": ["new", "word"]}

    def test_a_port_that_is_taken_on_all_addresses_is_avoided(
        self, create: Any, make: Make, clusters: Clusters, taken_everywhere: int
    ) -> None:
        create(make("east"))
        assert not clusters.access("east").server.endswith(f":{taken_everywhere}")
        assert api_of(clusters).get("/readyz")[0] == 200

    @pytest.fixture
    def taken_everywhere(self, make: Make) -> Any:
        with socket.socket() as holder:
            holder.bind((places(str(make("east").block)).api, 6443))
            holder.listen()
            yield 6443

    def test_one_that_cannot_start_says_what_its_daemon_said_and_leaves_nothing(
        self, create: Any, look: Any, make: Make, state_dir: Path
    ) -> None:
        block = "198.18.0.0/20"  # not of this machine
        with pytest.raises(OperationFailed) as failed:
            create(replace(make("east"), block=block))
        assert failed.value.code == "FG0710"
        assert "198.18." in " ".join((failed.value.why, *failed.value.detail))
        assert look(make("east")) == {}
        assert not (state_dir / "clusters").exists()

    def test_a_folder_alone_is_removed_with_what_was_begun(
        self, create: Any, look: Any, clusters: Clusters, make: Make, state_dir: Path, supervisor: Client
    ) -> None:
        create(make("east"))
        clusters.remove(look(make("east"))[EAST], "forge-east", threading.Event())
        assert supervisor.statuses() == []
        assert not (state_dir / "clusters").exists()

    def test_everything_it_listens_on_is_inside_its_block(
        self, create: Any, make: Make, look: Any, listening: Callable[[int], set[str]]
    ) -> None:
        create(make("east"))
        addresses = listening(look(make("east"))[EAST].pid)
        block = IPv4Network(str(make("east").block))
        assert str(block[1]) in addresses
        assert [a for a in addresses if IPv4Address(a) not in block] == []

    @pytest.fixture
    def listening(self) -> Callable[[int], set[str]]:
        def listening(pid: int) -> set[str]:
            own = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
            found = set()
            for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                    found.add(str(IPv4Address(bytes.fromhex(words[1].partition(":")[0])[::-1])))
            return found

        return listening


def api_of(clusters: Clusters, name: str = "east") -> Api:
    return Api(kubeconfig.read(clusters.access(name).kubeconfig))


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def kill_supervisor(state_dir: Path) -> None:
    """SIGKILL, and until all that it kept is gone too."""
    pid = wire.listener_pid(wire.Files(state_dir / "runtime" / ".supervisor"))
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: procfs.start_ticks(pid) is None or procfs.is_zombie(pid))
