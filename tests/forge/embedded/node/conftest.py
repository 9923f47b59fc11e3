"""One cluster with a node for the tests of a file that only add to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kit.embedded_node import KUBECTL, EmbeddedNode, running_node


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedNode]:
    if not KUBECTL:
        pytest.skip("kubectl is missing")
    with running_node(tmp_path_factory.mktemp("node")) as started:
        yield started
