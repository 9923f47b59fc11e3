"""A container engine keeps the Host contract."""

from __future__ import annotations

import pytest

from tests.kit.docker_lab import host, image, make_service, network, owner
from tests.kit.host_contract import RealHostContract, free_port, lab, other_owner, program

__all__ = ["free_port", "host", "image", "lab", "make_service", "network", "other_owner", "owner", "program"]

pytestmark = pytest.mark.docker


class TestContract(RealHostContract):
    pass
