"""One running cluster for the tests of a file that only add to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kit.embedded_cluster import EmbeddedCluster, running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with running(tmp_path_factory.mktemp("cluster")) as started:
        yield started
