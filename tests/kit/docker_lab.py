"""A lab of its own on the tests' engine: what the tests of the Docker host make their things with.

The subnet is the worker's own, so that tests of two workers never ask for the same one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge.host.containers import DockerHost
from forge.host.engine import Engine
from forge.plan.resources import ImageResource, NetworkMode, NetworkResource, PullPolicy, ServiceResource
from forge.plan.values import Owner
from tests.kit.docker_engine import new_name
from tests.kit.images import python_image

IMAGE = "praxis.test/contract:dev"

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
BASE = f"10.249.{_WORKER % 32 * 8}"
BASE_NEXT = f"10.249.{_WORKER % 32 * 8 + 4}"


@pytest.fixture
def owner() -> Owner:
    name = new_name()
    return Owner(name, name * 2)


@pytest.fixture
def host(docker: Engine, tmp_path: Path) -> DockerHost:
    python_image(docker, IMAGE)
    return DockerHost(tmp_path / "state", docker.socket_path)


@pytest.fixture
def network(owner: Owner) -> NetworkResource:
    return NetworkResource(f"{owner.environment}-net", f"{BASE}.0/23", f"{BASE}.0/25")


@pytest.fixture
def image() -> ImageResource:
    return ImageResource(IMAGE, PullPolicy.NEVER)


@pytest.fixture
def make_service(owner: Owner) -> Callable[..., ServiceResource]:
    """Services on the engine's default network, or wherever the fields say."""

    def make(name: str, args: tuple[str, ...], **fields: Any) -> ServiceResource:
        plain = ServiceResource(name, f"{owner.environment}-{name}", IMAGE, args=args, pull=PullPolicy.NEVER)
        return replace(plain, **fields)

    return make


def attached(network: NetworkResource, number: int) -> dict[str, Any]:
    """Fields of a service on that network, with an address of the part that is not the engine's."""
    return {
        "network": NetworkMode.ENVIRONMENT,
        "network_name": network.name,
        "address": f"{BASE.rpartition('.')[0]}.{_WORKER % 32 * 8 + 1}.{number}",
    }
