"""What making and looking at clusters costs: several against one, side by side and interleaved in one run.

    python -m tests.bench.forge_clusters [embedded] [kind] [images]

Goals, on two cores: three embedded clusters from nothing take at most 1.3 times one and a second; three
of KIND's test node at most 1.6 times one; 150 MB into three nodes at most 1.5 times into one. A look at
clusters that all answer takes under 100 ms for embedded ones, under 0.7 s for two of KIND. Ratios are
taken round by round, so that a machine whose speed drifts does not matter.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from forge.host import docker_network
from forge.host.clusters.drivers import open_clusters
from forge.host.engine import Engine
from forge.host.images import open_images
from forge.plan.lab_ports import Clusters
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.resources import NetworkResource
from forge.plan.values import Key, Owner
from tests.kind import fetch, image
from tests.kit import docker_engine
from tests.kit import images as kit

OWNER = Owner("bench", "bench" * 6)
NODE = "praxis.test/kind-node:bench"
SUBNET = "10.247.0"
IMAGE_MB = 150
ROUNDS = {"embedded": 7, "kind": 3, "images": 5}
Made = Mapping[Key, ClusterResource]


def main(wanted: Sequence[str] = ("embedded", "kind", "images")) -> None:
    why_not = docker_engine.missing()
    if why_not is not None and set(wanted) - {"embedded"}:
        print(f"kind and images are not measured: {why_not}")
        wanted = ("embedded",)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if "embedded" in wanted:
            embedded(Path(folder) / "embedded")
        if {"kind", "images"} & set(wanted):
            with engine() as docker, network(docker) as name:
                if "kind" in wanted:
                    kind(Path(folder) / "kind", docker, name)
                if "images" in wanted:
                    loads(Path(folder) / "images", docker, name)


def embedded(folder: Path) -> None:
    def make(index: int) -> ClusterResource:
        block = f"127.251.{index * 16}.0/20"
        return ClusterResource(f"c{index}", f"bench-c{index}", Driver.EMBEDDED, block=block)

    clusters = open_clusters("embedded", folder)
    rounds(clusters, [make(i) for i in range(3)], ROUNDS["embedded"], "embedded", "<= 1.3x + 1 s")


def kind(folder: Path, docker: Engine, name: str) -> None:
    def make(index: int) -> ClusterResource:
        return ClusterResource(f"c{index}", f"bench-c{index}", Driver.KIND, node_image=NODE, network=name)

    clusters = open_clusters("docker", folder, socket=docker.socket_path)
    rounds(clusters, [make(i) for i in range(3)], ROUNDS["kind"], "kind", "<= 1.6x")


def rounds(clusters: Clusters, three: Sequence[ClusterResource], count: int, name: str, goal: str) -> None:
    one_s, three_s, looks_s = [], [], []
    for number in range(count + 1):  # the first warms caches
        one = timed(lambda: create(clusters, three[:1]))
        remove(clusters, three[:1])
        several = timed(lambda: create(clusters, three))
        looks = [timed(lambda: look(clusters, three[:2])) for _ in range(5)]
        remove(clusters, three)
        if number:
            one_s.append(one)
            three_s.append(several)
            looks_s.append(statistics.median(looks))
    print(f"{name}: one cluster {shown(one_s)}, three {shown(three_s)}")
    print(f"{name}: three / one {ratios(three_s, one_s)}; goal {goal}")
    print(f"{name}: a look at two {shown(looks_s)}")


def loads(folder: Path, docker: Engine, name: str) -> None:
    """An image of its own each time, so that no node has it yet."""
    clusters = open_clusters("docker", folder, socket=docker.socket_path)
    images = open_images("docker", folder, docker.socket_path)
    wide = ClusterResource("wide", "bench-wide", Driver.KIND, workers=2, node_image=NODE, network=name)
    narrow = ClusterResource("narrow", "bench-narrow", Driver.KIND, node_image=NODE, network=name)
    create(clusters, [wide, narrow])
    one_s, three_s = [], []
    for number in range(ROUNDS["images"] + 1):
        tags = [f"praxis.test/bulk:{number}-{which}" for which in ("one", "three")]
        for tag in tags:
            bulk(docker, tag, folder)
        one = timed(lambda: images.load(tags[0], (narrow,), silent, threading.Event()))  # noqa: B023
        three = timed(lambda: images.load(tags[1], (wide,), silent, threading.Event()))  # noqa: B023
        if number:
            one_s.append(one)
            three_s.append(three)
        for tag in tags:
            docker.delete(f"/images/{tag}", {"force": True})
    remove(clusters, [wide, narrow])
    print(f"images: {IMAGE_MB} MB into one node {shown(one_s)}, into three {shown(three_s)}")
    print(f"images: three / one {ratios(three_s, one_s)}; goal <= 1.5x")


def bulk(docker: Engine, tag: str, folder: Path) -> None:
    file = folder / "bulk"
    file.write_bytes(os.urandom(1_000_000) * IMAGE_MB)
    kit.import_tree(docker, tag, kit.tar({"/bulk": file}))
    file.unlink()


def create(clusters: Clusters, these: Sequence[ClusterResource]) -> None:
    def one(wanted: ClusterResource) -> None:
        key = Key("cluster", wanted.name)
        clusters.create(key, wanted, OWNER, "f" * 32, silent, threading.Event())

    with ThreadPoolExecutor(len(these)) as pool:
        list(pool.map(one, these))


def look(clusters: Clusters, these: Sequence[ClusterResource]) -> None:
    wanted = {Key("cluster", one.name): one for one in these}
    if len(clusters.observe(OWNER, wanted, {})) < len(these):
        raise SystemExit("a cluster is gone")


def remove(clusters: Clusters, these: Sequence[ClusterResource]) -> None:
    wanted = {Key("cluster", one.name): one for one in these}
    for key, found in clusters.observe(OWNER, wanted, {}).items():
        clusters.remove(found, wanted[key].full_name, threading.Event())


@contextlib.contextmanager
def engine() -> Iterator[Engine]:
    home = docker_engine.start()
    try:
        image.build(home.engine, NODE, {})
        os.environ["FORGE_KIND"] = str(fetch.kind("trixie"))
        yield home.engine
    finally:
        docker_engine.end(home)


@contextlib.contextmanager
def network(docker: Engine) -> Iterator[str]:
    wanted = NetworkResource("bench-net", f"{SUBNET}.0/22", f"{SUBNET}.0/24")
    docker_network.create(docker, Key("network", "lab"), wanted, OWNER, "f")
    yield wanted.name  # it goes with the engine


def timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def shown(values: Sequence[float]) -> str:
    return f"{statistics.median(values) * 1000:.0f} ms (least {min(values) * 1000:.0f})"


def ratios(several: Sequence[float], one: Sequence[float]) -> str:
    each = sorted(a / b for a, b in zip(several, one, strict=True))
    return f"{statistics.median(each):.2f}x ({each[0]:.2f} to {each[-1]:.2f})"


def silent(_: str) -> None:
    """A Progress that tells nobody."""


if __name__ == "__main__":
    main(sys.argv[1:] or ("embedded", "kind", "images"))
