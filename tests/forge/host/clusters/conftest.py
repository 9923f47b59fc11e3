"""What clusters of real KIND are made with: the command, the test node's image, a labelled network."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from forge.host import docker_network
from forge.host.engine import Engine
from forge.plan.resources import NetworkResource
from forge.plan.values import Key, Observed, Owner, Phase
from tests.kind import fetch, image
from tests.kit.docker_engine import new_name

NODE = "praxis.test/kind-node:forge"
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
SUBNET = f"10.248.{_WORKER % 64 * 4}"


@pytest.fixture(scope="session")
def kind_binary() -> Path:
    try:
        return fetch.kind("trixie")
    except fetch.CannotFetch as reason:
        _give_up(str(reason))


@pytest.fixture(scope="session")
def node_image(docker: Engine) -> str:
    try:
        image.build(docker, NODE, {})
    except image.CannotBuild as reason:
        _give_up(str(reason))
    return NODE


@pytest.fixture
def lab_owner() -> Owner:
    return an_owner()


@pytest.fixture
def network(docker: Engine, lab_owner: Owner) -> Iterator[str]:
    """The owner's labelled network; its name. Whatever runs on the engine at the end goes with it."""
    with lab_network(docker, lab_owner) as name:
        yield name


def an_owner() -> Owner:
    name = new_name()
    return Owner(name, name * 4)


@contextlib.contextmanager
def lab_network(docker: Engine, owner: Owner) -> Iterator[str]:
    wanted = NetworkResource(f"{owner.environment}-net", f"{SUBNET}.0/22", f"{SUBNET}.0/24")
    key = Key("network", "lab")
    identity = docker_network.create(docker, key, wanted, owner, "f")
    try:
        yield wanted.name
    finally:
        for container in docker.get("/containers/json", {"all": True}):
            docker.delete(f"/containers/{container['Id']}", {"force": True, "v": True})
        docker_network.remove(docker, Observed(key, owner, "f", Phase.PRESENT, id=identity))


def _give_up(why: str) -> NoReturn:
    if os.environ.get("PRAXIS_TEST_DOCKER") == "require":
        pytest.fail(f"{why} (PRAXIS_TEST_DOCKER=require)", pytrace=False)
    pytest.skip(why)
