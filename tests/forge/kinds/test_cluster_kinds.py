"""Clusters, their load balancers, and images: what a file asks for, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge.errors import UsageError
from forge.host.files import LabFiles
from forge.kinds import cluster, image, image_load, load_balancer
from forge.plan.kind import Context
from forge.plan.lab_resources import BalancerResource, ClusterResource, Driver, LoadResource, PinnedFile
from forge.plan.resources import ImageResource
from forge.plan.values import Allocation, Desired, Key, Need
from forge.spec.load import load_text
from forge.spec.model import Environment

LAB = Need(Key("network", "lab"))
POOLS = {"east": "10.64.2.1-10.64.2.20", "west": "10.64.2.21-10.64.2.40"}
BLOCKS = {"east": "127.20.16.0/20", "west": "127.20.32.0/20"}


def read(spec: str) -> Environment:
    """The environment whose spec is this, indented by two."""
    head = "apiVersion: forge.praxis.dev/v1alpha1\nkind: Environment\nmetadata: {name: lab}\nspec:\n"
    return load_text(head + spec, file="forge.yaml").environment


def context(runtime: str = "docker", **fields: Any) -> Context:
    blocks = BLOCKS if runtime == "embedded" else {}
    return Context("/lab", "/lab/.forge", runtime, Allocation("10.64.0.0/22", {}, POOLS, blocks), **fields)


TWO = "  runtime: {clusterPrefix: grid}\n  clusters: [{name: east, nodes: {workers: 2}}, {name: west}]\n"


class TestCluster:
    def test_on_docker_it_is_a_kind_cluster_on_the_labs_network(self) -> None:
        east, west = cluster.desire(read(TWO), context())
        assert east.resource == ClusterResource(
            "east", "grid-east", Driver.KIND, workers=2, network="lab-net", pool=POOLS["east"]
        )
        assert (east.key, east.name, east.needs) == (Key("cluster", "east"), "grid-east", (LAB,))
        assert west.replaces_with == (LAB.key,)

    def test_on_embedded_it_has_its_block_and_what_stands_for_images(self) -> None:
        spec = read(TWO + "  images: [{name: 'app:1', process: [app, -v]}, {name: 'tools:1'}]\n")
        east = cluster.desire(spec, context("embedded"))[0]
        assert east.resource == ClusterResource(
            "east",
            "grid-east",
            Driver.EMBEDDED,
            block=BLOCKS["east"],
            pool=POOLS["east"],
            images={"app:1": ("app", "-v")},
        )
        assert (east.needs, east.replaces_with) == ((LAB,), ())

    def test_an_existing_one_needs_nothing(self) -> None:
        spec = read("  runtime: {}\n  clusters: [{name: far, driver: existing, context: prod}]\n")
        (far,) = cluster.desire(spec, context())
        assert far.resource == ClusterResource("far", "forge-far", Driver.EXISTING, context="prod")
        assert (far.needs, far.replaces_with) == ((), ())

    def test_a_node_image_that_is_built_here_comes_first(self) -> None:
        spec = read(
            "  runtime: {}\n  clusters: [{name: east, nodeImage: 'node:1'}]\n"
            "  images: [{name: 'node:1', build: {context: node}}]\n"
        )
        assert cluster.desire(spec, context())[0].needs == (Need(Key("image", "node:1")), LAB)

    @pytest.mark.parametrize(
        ("driver", "runtime"),
        [
            pytest.param("kind", "embedded", id="containers without an engine"),
            pytest.param("embedded", "docker", id="loopback addresses among containers"),
        ],
    )
    def test_a_driver_that_the_runtime_does_not_have_is_refused(self, driver: str, runtime: str) -> None:
        spec = read(f"  runtime: {{}}\n  clusters: [{{name: east, driver: {driver}}}, {{name: west}}]\n")
        with pytest.raises(UsageError, match="cluster 'east' has driver") as refused:
            cluster.desire(spec, context(runtime))
        assert refused.value.code == "FG0718"

    @pytest.mark.parametrize(
        ("other", "same"),
        [
            pytest.param("images: [{name: 'app:1', process: [other]}]", True, id="what stands for an image"),
            pytest.param("secrets: [{name: s, bytes: 8, encoding: hex}]", True, id="something else"),
        ],
    )
    def test_what_changes_nothing_in_it_is_no_difference(self, other: str, same: bool) -> None:
        before, after = (
            cluster.desire(read(TWO + rest), context("embedded"))[0] for rest in ("", f"  {other}\n")
        )
        assert (before.fingerprint == after.fingerprint) is same

    def test_another_pool_is_no_difference_and_another_block_is_one(self) -> None:
        def print_of(pools: dict[str, str], blocks: dict[str, str]) -> str:
            allocation = Allocation("127.20.0.0/16", {}, pools, blocks)
            where = Context("/lab", "/lab/.forge", "embedded", allocation)
            return cluster.desire(read(TWO), where)[0].fingerprint

        before = print_of(POOLS, BLOCKS)
        assert print_of({**POOLS, "east": "127.20.20.0-127.20.20.9"}, BLOCKS) == before
        assert print_of(POOLS, {**BLOCKS, "east": "127.20.48.0/20"}) != before

    def test_more_nodes_are_a_difference(self) -> None:
        one, two = (
            cluster.desire(
                read(f"  runtime: {{}}\n  clusters: [{{name: east, nodes: {{workers: {n}}}}}]\n"), context()
            )
            for n in (1, 2)
        )
        assert one[0].fingerprint != two[0].fingerprint


class TestLoadBalancer:
    @pytest.mark.parametrize(
        ("network", "manifest"),
        [
            pytest.param("{}", load_balancer.METALLB, id="the pinned one where none is named"),
            pytest.param(
                "{manifest: {url: 'https://x.test/m', sha256: '" + "a" * 64 + "'}}",
                PinnedFile(url="https://x.test/m", sha256="a" * 64),
                id="by address",
            ),
            pytest.param("{manifest: {path: m.yaml}}", PinnedFile(path="/lab/m.yaml"), id="by path"),
        ],
    )
    def test_a_kind_cluster_gets_metallb(self, network: str, manifest: PinnedFile) -> None:
        spec = read(TWO + f"  network: {{loadBalancer: {network}}}\n")
        east, _ = load_balancer.desire(spec, context())
        assert east.resource == BalancerResource("east", POOLS["east"], manifest)
        assert (east.key, east.needs) == (Key("balancer", "east"), (Need(Key("cluster", "east")),))
        assert east.in_place

    @pytest.mark.parametrize("network", ["", "  network: {}\n"])
    def test_a_kind_cluster_is_left_to_its_stacks_where_the_file_says_nothing(self, network: str) -> None:
        assert load_balancer.desire(read(TWO + network), context()) == ()

    def test_an_embedded_cluster_has_its_pool_in_any_case(self) -> None:
        found = load_balancer.desire(read(TWO), context("embedded"))
        assert [d.resource for d in found] == [BalancerResource(name, pool) for name, pool in POOLS.items()]

    @pytest.mark.parametrize("runtime", ["docker", "embedded"])
    def test_none_means_none(self, runtime: str) -> None:
        spec = read(TWO + "  network: {loadBalancer: {type: none}}\n")
        assert load_balancer.desire(spec, context(runtime)) == ()


class TestLoad:
    SPEC = TWO + "  images: [{name: 'app:1', load: all}, {name: 'one:1', load: [west]}, {name: 'no:1'}]\n"

    def test_each_image_goes_into_the_clusters_that_it_names(self) -> None:
        found = image_load.desire(read(self.SPEC), context())
        assert [d.resource for d in found] == [
            LoadResource("app:1", "east", "grid-east"),
            LoadResource("app:1", "west", "grid-west"),
            LoadResource("one:1", "west", "grid-west"),
        ]
        app = Key("image", "app:1")
        assert found[0].key == Key("load", "east/app:1")
        assert (found[0].needs, found[0].follows) == ((Need(Key("cluster", "east")), Need(app)), (app,))
        assert not found[0].owned

    def test_on_embedded_there_is_nothing_to_load(self) -> None:
        assert image_load.desire(read(self.SPEC), context("embedded")) == ()

    def test_all_means_all_that_forge_makes(self) -> None:
        spec = read(
            "  runtime: {}\n  clusters: [{name: east}, {name: far, driver: existing, context: c}]\n"
            "  images: [{name: 'app:1', load: all}]\n"
        )
        assert [d.key.name for d in image_load.desire(spec, context())] == ["east/app:1"]

    def test_an_existing_cluster_that_is_named_is_refused(self) -> None:
        spec = read(
            "  runtime: {}\n  clusters: [{name: far, driver: existing, context: c}]\n"
            "  images: [{name: 'app:1', load: [far]}]\n"
        )
        with pytest.raises(UsageError, match="image 'app:1' into 'far'") as refused:
            image_load.desire(spec, context())
        assert refused.value.code == "FG0719"


class TestImage:
    SPEC = "  runtime: {}\n  images: [{name: 'app:1', build: {context: src, args: {SPEED: fast}}}]\n"

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "src" / "inner").mkdir(parents=True)
        (tmp_path / "src" / "Dockerfile").write_text("FROM scratch")
        (tmp_path / "src" / "inner" / "main.py").write_text("print()")
        (tmp_path / "src" / "notes").write_text("one")
        (tmp_path / "src" / ".dockerignore").write_text("notes\n")
        return tmp_path

    def desired(self, root: Path, spec: str = SPEC) -> Desired:
        where = replace(context(), root=str(root), files=LabFiles(root, root / ".forge"))
        return image.desire(read(spec), where)[0]

    def test_what_is_built_is_settled(self, root: Path) -> None:
        found = self.desired(root)
        assert isinstance(found.resource, ImageResource)
        assert found.resource.build is not None
        assert found.resource.build.context == str(root / "src")
        assert found.resource.build.args["SPEED"].reveal() == "fast"
        assert (found.owned, found.in_place) == (False, True)

    @pytest.mark.parametrize(
        ("path", "same"),
        [
            pytest.param("src/inner/main.py", False, id="a file below"),
            pytest.param("src/new", False, id="a new file"),
            pytest.param("src/notes", True, id="one that is ignored"),
            pytest.param("elsewhere", True, id="one outside"),
        ],
    )
    def test_it_differs_when_what_the_build_sees_differs(self, root: Path, path: str, same: bool) -> None:
        before = self.desired(root).fingerprint
        (root / path).write_text("two")
        assert (self.desired(root).fingerprint == before) is same

    def test_a_time_alone_is_no_difference(self, root: Path) -> None:
        before = self.desired(root).fingerprint
        (root / "src" / "inner" / "main.py").touch()
        assert self.desired(root).fingerprint == before

    @pytest.mark.parametrize(
        "target",
        [
            pytest.param("/etc/hostname", id="out of the root"),
            pytest.param("nowhere", id="to nothing"),
            pytest.param(".", id="in a circle"),
        ],
    )
    def test_a_link_is_a_link(self, root: Path, target: str) -> None:
        before = self.desired(root).fingerprint
        (root / "src" / "inner" / "link").symlink_to(target)
        assert self.desired(root).fingerprint == self.desired(root).fingerprint != before

    def test_other_arguments_are_a_difference(self, root: Path) -> None:
        slow = self.SPEC.replace("fast", "slow")
        assert self.desired(root, slow).fingerprint != self.desired(root).fingerprint

    def test_an_image_that_is_only_loaded_is_made_present(self) -> None:
        spec = read(TWO + "  images: [{name: 'app:1', load: all}, {name: 'no:1'}]\n")
        assert [d.key.name for d in image.desire(spec, context())] == ["app:1"]

    def test_on_embedded_there_is_nothing_to_build(self) -> None:
        assert image.desire(read(self.SPEC), context("embedded")) == ()
