"""The node image and the kind binaries, made or fetched once a run."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from forge.host.engine import Engine
from tests.kind import fetch, image
from tests.kind.tool import Kind

IMAGE = "praxis.test/kind-node:dev"
WEB = "praxis.test/web:1"
"""The image that a pod of the tests may have: it serves files on port 8080 of POD_IP."""

# An HTTPServer would ask for its own name first, and wait for a resolver that a lab need not have.
_SERVE = """import os, http.server, socketserver
place = os.environ["POD_IP"], 8080
socketserver.TCPServer(place, http.server.SimpleHTTPRequestHandler).serve_forever()"""


@pytest.fixture(scope="session")
def node_image(docker: Engine) -> str:
    """The tag of the node image that the clusters are made of."""
    try:
        image.build(docker, IMAGE, {WEB: ["python3", "-c", _SERVE]})
    except image.CannotBuild as reason:
        give_up(str(reason))
    return IMAGE


@pytest.fixture(scope="session")
def kind_tool(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Kind]]:
    """The kind of one of Debian's suites, each time with a kubeconfig and a network of its own; its
    clusters are gone afterwards."""
    made: list[Kind] = []

    def make(suite: str) -> Kind:
        try:
            binary = fetch.kind(suite)
        except fetch.CannotFetch as reason:
            give_up(str(reason))
        network = f"kind-{secrets.token_hex(3)}"
        # Made by us: kind's own has IPv6, which not every machine's kernel has.
        docker.post("/networks/create", body={"Name": network, "CheckDuplicate": True})
        made.append(Kind(binary, docker, tmp_path_factory.mktemp("kind"), network))
        return made[-1]

    yield make
    for tool in made:
        tool("delete", "clusters", "--all")
        docker.delete(f"/networks/{tool.network}")


def give_up(why: str) -> NoReturn:
    if os.environ.get("PRAXIS_TEST_DOCKER") == "require":
        pytest.fail(f"{why} (PRAXIS_TEST_DOCKER=require)", pytrace=False)
    pytest.skip(why)
