"""What an environment left on the engine is found by its labels and taken away; nothing else is."""

from __future__ import annotations

import pytest

from forge.host import leftovers
from forge.host.engine import Engine
from forge.plan.resources import NetworkMode, NetworkResource
from forge.plan.values import Owner
from tests.kit.docker_lab import attached, host, image, make_service, network, owner
from tests.kit.host_contract import (
    FINGERPRINT,
    NETWORK,
    Lab,
    MakeService,
    Programs,
    lab,
    other_owner,
    program,
)

__all__ = ["attached", "host", "image", "lab", "make_service", "network", "other_owner", "owner", "program"]

pytestmark = pytest.mark.docker


def test_an_orphans_things_go_and_others_stay(
    lab: Lab,
    docker: Engine,
    network: NetworkResource,
    make_service: MakeService,
    program: Programs,
    other_owner: Owner,
) -> None:
    lab.host.create_network(NETWORK, network, lab.owner, FINGERPRINT)
    on_it = {"network": NetworkMode.ENVIRONMENT, "network_name": network.name}
    lab.create(make_service("web", program.stay(), **on_it))
    lab.create(make_service("other", program.stay()), owner=other_owner)
    counted = leftovers.on_engine(docker)
    assert (counted[lab.owner], counted[other_owner]) == (2, 1)
    gone = leftovers.remove(docker, lab.owner)
    assert gone == (f"container {lab.owner.environment}-web", f"network {network.name}")
    counted = leftovers.on_engine(docker)
    assert (counted.get(lab.owner, 0), counted[other_owner]) == (0, 1)
    assert leftovers.remove(docker, lab.owner) == ()
