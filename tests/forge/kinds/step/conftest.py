"""Labs for stacks: over a real embedded cluster with a node, and over one in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.host.kube.client import ApiKube, open_kube
from tests.kit.embedded_node import EmbeddedNode, running_node
from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.step_lab import StepLab, reach


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedNode]:
    with running_node(tmp_path_factory.mktemp("node")) as started:
        yield started


@pytest.fixture(scope="package")
def kube(node: EmbeddedNode) -> Iterator[ApiKube]:
    kube = open_kube(reach(node.cluster), "east")
    yield kube
    kube.close()


@pytest.fixture
def lab(tmp_path: Path, node: EmbeddedNode, kube: ApiKube) -> StepLab:
    """On the real cluster; its pool is part of what the cluster itself may give away."""
    pool = f"{node.balanced}.100-{node.balanced}.109"
    return StepLab(tmp_path, lambda _: kube, {"east": reach(node.cluster)}, {"east": pool})


@pytest.fixture
def fake(tmp_path: Path) -> tuple[StepLab, FakeCluster]:
    """On a cluster in memory."""
    cluster = FakeCluster()
    return StepLab(tmp_path, lambda name: FakeKube(cluster, name)), cluster
