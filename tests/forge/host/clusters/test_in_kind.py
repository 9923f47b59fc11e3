"""What goes into KIND clusters: images onto every node, MetalLB, and what a build makes of a folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from forge.errors import Interrupted, OperationFailed
from forge.host import docker_exec, node_images
from forge.host.balancers import MetalLB
from forge.host.clusters.drivers import open_clusters
from forge.host.engine import Engine
from forge.host.images import open_images
from forge.host.kube.client import open_kube
from forge.plan.lab_ports import Images
from forge.plan.lab_resources import BalancerResource, ClusterResource, Driver, PinnedFile
from forge.plan.resources import BuildRecipe, ImageResource, Secret
from forge.plan.values import Key, Owner
from tests.forge.host.clusters.conftest import SUBNET, an_owner, lab_network
from tests.kit import images as kit
from tests.kit.clusters_contract import FINGERPRINT, silent
from tests.kit.docker_engine import new_name
from tests.kit.host_contract import eventually

pytestmark = pytest.mark.docker

METALLB = Path(__file__).parents[3] / "kind" / "metallb.yaml"


@dataclass(frozen=True, slots=True)
class Made:
    """A cluster of three nodes. state_dir: of its environment."""

    resource: ClusterResource
    owner: Owner
    state_dir: Path


@pytest.fixture(scope="module")
def cluster(
    docker: Engine, kind_binary: Path, node_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Made]:
    owner, folder = an_owner(), tmp_path_factory.mktemp("in-kind")
    with pytest.MonkeyPatch.context() as patch, lab_network(docker, owner) as network:
        patch.setenv("FORGE_KIND", str(kind_binary))
        wanted = ClusterResource(
            "east",
            f"{owner.environment}-east",
            Driver.KIND,
            workers=2,
            node_image=node_image,
            network=network,
        )
        clusters = open_clusters("docker", folder, socket=docker.socket_path)
        key = Key("cluster", "east")
        clusters.create(key, wanted, owner, FINGERPRINT, silent, threading.Event())
        yield Made(wanted, owner, folder)
        found = clusters.observe(owner, {key: wanted}, {})[key]
        clusters.remove(found, wanted.full_name, threading.Event())


@pytest.fixture
def images(cluster: Made, docker: Engine) -> Images:
    return open_images("docker", cluster.state_dir, docker.socket_path)


@pytest.fixture
def tag(docker: Engine, tmp_path: Path) -> Callable[..., str]:
    """Makes an image of a few bytes; gives its reference."""

    def tag(content: str, reference: str = "") -> str:
        reference = reference or f"praxis.test/{new_name()}:1"
        (tmp_path / "content").write_text(content)
        kit.import_tree(docker, reference, kit.tar({"/content": tmp_path / "content"}))
        return reference

    return tag


def identity(docker: Engine, reference: str) -> str:
    return str(docker.get(f"/images/{reference}/json")["Id"])


def node(cluster: Made, name: str) -> str:
    return f"{cluster.resource.full_name}-{name}"


def load(images: Images, cluster: Made, reference: str, told: list[str] | None = None) -> str:
    tell = silent if told is None else told.append
    return images.load(reference, (cluster.resource,), tell, threading.Event())


class TestLoad:
    def test_an_image_comes_onto_every_node_and_stays(
        self, images: Images, cluster: Made, docker: Engine, tag: Any
    ) -> None:
        reference = tag("one")
        assert images.on_nodes(cluster.resource, (reference,)) == {}
        told: list[str] = []
        assert load(images, cluster, reference, told) == identity(docker, reference)
        assert told[0] == "saving it"
        assert told[1].endswith("MB into 3 nodes")
        assert images.on_nodes(cluster.resource, (reference, "other:1")) == {
            reference: identity(docker, reference)
        }

    def test_a_second_time_nothing_is_saved(self, images: Images, cluster: Made, tag: Any) -> None:
        reference = tag("one")
        load(images, cluster, reference)
        told: list[str] = []
        load(images, cluster, reference, told)
        assert told == []

    def test_only_nodes_that_lack_it_get_it(
        self, images: Images, cluster: Made, docker: Engine, tag: Any
    ) -> None:
        reference = tag("one")
        load(images, cluster, reference)
        forget(docker, node(cluster, "worker2"), reference)
        assert images.on_nodes(cluster.resource, (reference,)) == {}
        told: list[str] = []
        load(images, cluster, reference, told)
        assert told[-1].endswith("into 1 node")

    def test_another_image_under_the_same_name_is_loaded_again(
        self, images: Images, cluster: Made, docker: Engine, tag: Any
    ) -> None:
        reference = tag("one")
        load(images, cluster, reference)
        tag("two", reference)
        assert images.on_nodes(cluster.resource, (reference,)) == {}
        assert load(images, cluster, reference) == identity(docker, reference)
        assert images.on_nodes(cluster.resource, (reference,)) == {reference: identity(docker, reference)}

    def test_two_loads_at_once_save_it_once(self, images: Images, cluster: Made, tag: Any) -> None:
        reference = tag("one")
        told: list[str] = []
        threads = [threading.Thread(target=load, args=(images, cluster, reference, told)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert told.count("saving it") == 1

    def test_what_the_engine_does_not_have_is_refused(self, images: Images, cluster: Made) -> None:
        with pytest.raises(OperationFailed) as failed:
            load(images, cluster, "praxis.test/nowhere:1")
        assert (failed.value.code, failed.value.changed) == ("FG0712", False)

    def test_a_node_that_cannot_take_it_is_named_with_its_words(
        self, images: Images, cluster: Made, docker: Engine, tag: Any
    ) -> None:
        reference, worker = tag("one"), node(cluster, "worker")
        with broken(docker, worker, "/bin/ctr"), pytest.raises(OperationFailed, match=worker) as failed:
            load(images, cluster, reference)
        assert (failed.value.code, failed.value.why) == ("FG0713", "no space left on device")

    def test_a_node_that_says_it_has_it_and_does_not_show_it_is_not_believed(
        self, images: Images, cluster: Made, docker: Engine, tag: Any
    ) -> None:
        reference, worker = tag("one"), node(cluster, "worker")
        not_shown = pytest.raises(OperationFailed, match=f"{worker} does not show it")
        with broken(docker, worker, "/bin/ctr", code=0), not_shown:
            load(images, cluster, reference)

    def test_cancelled_it_ends_at_once(self, images: Images, cluster: Made, tag: Any) -> None:
        cancel = threading.Event()
        cancel.set()
        with pytest.raises(Interrupted):
            images.load(tag("one"), (cluster.resource,), silent, cancel)

    def test_nothing_of_it_is_left_on_disk(self, images: Images, cluster: Made, tag: Any) -> None:
        load(images, cluster, tag("one"))
        assert [p.name for p in (cluster.state_dir / "cache").iterdir() if p.name != "node-images.json"] == []


class TestFeed:
    """A file as a command's input: whole, at once for several, and ended when it is told to."""

    @pytest.mark.parametrize("size", [pytest.param(0, id="empty"), pytest.param(9_000_001, id="9 MB")])
    def test_all_of_it_arrives(self, cluster: Made, docker: Engine, tmp_path: Path, size: int) -> None:
        data = os.urandom(1000) * (size // 1000 + 1)
        file = tmp_path / "data"
        file.write_bytes(data[:size])
        with file.open("rb") as opened:
            ran = docker_exec.feed(
                docker,
                node(cluster, "control-plane"),
                ["python3", "-c", HASH],
                opened,
                size,
                threading.Event(),
            )
        assert (ran.code, ran.out.strip()) == (0, hashlib.sha256(data[:size]).hexdigest())

    def test_a_command_that_reads_nothing_is_no_trouble(
        self, cluster: Made, docker: Engine, tmp_path: Path
    ) -> None:
        file = tmp_path / "data"
        file.write_bytes(bytes(20_000_000))
        with file.open("rb") as opened:
            name = node(cluster, "control-plane")
            argv = ["sh", "-c", "echo no >&2; exit 7"]
            ran = docker_exec.feed(docker, name, argv, opened, 20_000_000, threading.Event())
        assert (ran.code, ran.text) == (7, "no")

    def test_cancelled_it_gives_no_code(self, cluster: Made, docker: Engine, tmp_path: Path) -> None:
        file, cancel = tmp_path / "data", threading.Event()
        file.write_bytes(b"x")
        threading.Timer(0.2, cancel.set).start()
        with file.open("rb") as opened:
            argv = ["python3", "-c", "import time; time.sleep(30)"]
            ran = docker_exec.feed(docker, node(cluster, "control-plane"), argv, opened, 1, cancel)
        assert ran.code is None


HASH = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"


class TestMetalLB:
    def test_a_service_gets_an_address_of_the_pool(
        self, cluster: Made, docker: Engine, request: pytest.FixtureRequest
    ) -> None:
        pool = f"{SUBNET.rpartition('.')[0]}.{int(SUBNET.rpartition('.')[2]) + 2}.10"
        digest = hashlib.sha256(METALLB.read_bytes()).hexdigest()
        wanted = BalancerResource(
            "east", f"{pool}-{pool[:-2]}20", PinnedFile(path=str(METALLB), sha256=digest)
        )
        clusters = open_clusters("docker", cluster.state_dir, socket=docker.socket_path)
        kube = open_kube(clusters.access("east"))
        request.addfinalizer(kube.close)
        told: list[str] = []
        refs = MetalLB().install(wanted, cluster.owner, kube, told.append, threading.Event())
        assert [r.kind for r in refs] == ["IPAddressPool", "L2Advertisement"]
        assert "waiting for deployment controller" in told
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}},
        }
        kube.apply([service], owner=cluster.owner, progress=silent, cancel=threading.Event())

        def given() -> Any:
            found = kube.get("v1", "Service", "default", "web") or {}
            return found.get("status", {}).get("loadBalancer", {}).get("ingress")

        assert eventually(given) == [{"ip": pool, "ipMode": "VIP"}]
        again = MetalLB().install(wanted, cluster.owner, kube, silent, threading.Event())
        assert again == refs


class TestBuild:
    @pytest.fixture
    def recipe(self, docker: Engine, tmp_path: Path) -> BuildRecipe:
        kit.python_image(docker, "praxis.test/base:dev")
        (tmp_path / "Dockerfile").write_text(
            "ARG BASE\nFROM $BASE\nARG TOKEN\nCOPY word /word\nRUN test $TOKEN = secret-token-1\n"
        )
        (tmp_path / "word").write_text("one")
        args = {"BASE": Secret("praxis.test/base:dev"), "TOKEN": Secret("secret-token-1")}
        return BuildRecipe(str(tmp_path), args=args)

    @pytest.fixture
    def build(self, docker: Engine, tmp_path: Path) -> Callable[..., str]:
        images = open_images("docker", tmp_path / "state", docker.socket_path)

        def build(recipe: BuildRecipe, reference: str, progress: Any = silent, cancel: Any = None) -> str:
            wanted = ImageResource(reference, build=recipe)
            return images.build(wanted, Owner("lab", "0"), progress, cancel or threading.Event())

        return build

    def test_it_is_built_and_says_how_far_it_is(
        self, build: Any, recipe: BuildRecipe, docker: Engine
    ) -> None:
        told: list[str] = []
        reference = f"praxis.test/{new_name()}:1"
        assert build(recipe, reference, told.append) == identity(docker, reference)
        assert [line for line in told if "COPY word /word" in line]

    def test_a_second_build_of_the_same_gives_the_same(self, build: Any, recipe: BuildRecipe) -> None:
        reference = f"praxis.test/{new_name()}:1"
        assert build(recipe, reference) == build(recipe, reference)

    def test_a_failure_shows_its_lines_and_no_argument(self, build: Any, recipe: BuildRecipe) -> None:
        wrong = replace(recipe, args={**recipe.args, "TOKEN": Secret("another-token-2")})
        with pytest.raises(OperationFailed) as failed:
            build(wrong, "praxis.test/broken:1")
        error = failed.value
        assert error.code == "FG0711"
        assert "non-zero code: 1" in error.why
        assert error.detail[0].startswith("$ ")
        assert "another-token-2" not in " ".join((error.why, *error.detail))

    def test_a_context_without_a_containerfile_is_refused(self, build: Any, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        with pytest.raises(OperationFailed, match="no Containerfile and no Dockerfile") as failed:
            build(BuildRecipe(str(tmp_path / "empty")), "praxis.test/none:1")
        assert failed.value.code == "FG0711"

    def test_cancelled_it_ends(self, build: Any, recipe: BuildRecipe) -> None:
        dockerfile = Path(recipe.context) / "Dockerfile"
        dockerfile.write_text("FROM praxis.test/base:dev\nRUN sleep 300\n")
        cancel = threading.Event()

        def tell(line: str) -> None:
            if "sleep" in line:
                cancel.set()

        with pytest.raises(Interrupted):
            build(replace(recipe, args={}), "praxis.test/slow:1", tell, cancel)


def forget(docker: Engine, name: str, reference: str) -> None:
    """Takes an image off a node, as a garbage collector does."""
    code = (
        "import sys; from tests.kind.node import place; from tests.kind.node.ctr import loaded\n"
        "place.write(place.LOADED, {k: v for k, v in loaded().items() if k != sys.argv[1]})"
    )
    ran = docker_exec.run(docker, name, ["python3", "-c", code, node_images.qualified(reference)])
    assert ran.code == 0, ran.text


@contextlib.contextmanager
def broken(docker: Engine, name: str, program: str, code: int = 1) -> Iterator[None]:
    """A program of a node that only says that there is no space, and ends with that code."""

    def run(*argv: str) -> None:
        ran = docker_exec.run(docker, name, argv)
        assert ran.code == 0, ran.text

    run("cp", program, "/tmp/kept")
    script = f"#!/bin/sh\\necho no space left on device >&2\\nexit {code}\\n"
    run("sh", "-c", f"printf '{script}' > {program}")
    try:
        yield
    finally:
        run("cp", "/tmp/kept", program)
