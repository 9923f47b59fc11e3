"""The fake machine keeps the same contract as the real hosts, so what it proves holds for them."""

from __future__ import annotations

import pytest

from forge.plan.ports import Host
from forge.plan.resources import ImageResource, NetworkResource, ServiceResource
from forge.plan.values import Owner
from tests.kit.fake_host import FakeHost, Machine
from tests.kit.host_contract import HostContract, MakeService, Programs, lab, other_owner

__all__ = ["lab", "other_owner"]


class FakePrograms:
    """The contract's programs in the fake machine's words."""

    def serve(self, port: int) -> tuple[str, ...]:
        return ("serve",)

    def stay(self) -> tuple[str, ...]:
        return ("say",)

    def ignore_term(self) -> tuple[str, ...]:
        return ("stubborn",)

    def exit_with(self, code: int) -> tuple[str, ...]:
        return ("say-exit", str(code))

    def say(self, *lines: str) -> tuple[str, ...]:
        return ("say", *lines)

    def say_and_exit(self, code: int, *lines: str) -> tuple[str, ...]:
        return ("say-exit", str(code), *lines)

    def missing(self) -> tuple[str, ...]:
        return ("no-such-program-anywhere",)

    def true(self) -> tuple[str, ...]:
        return ("0",)

    def false(self) -> tuple[str, ...]:
        return ("1",)


@pytest.fixture
def host() -> Host:
    return FakeHost(Machine())


@pytest.fixture
def owner() -> Owner:
    return Owner("contract", "id-of-contract")


@pytest.fixture
def program() -> Programs:
    return FakePrograms()


@pytest.fixture
def network() -> NetworkResource:
    return NetworkResource("contract-net", "10.64.0.0/22")


@pytest.fixture
def image() -> ImageResource:
    return ImageResource("app:1")


@pytest.fixture
def make_service() -> MakeService:
    def make(name: str, args: tuple[str, ...], **fields: object) -> ServiceResource:
        return ServiceResource(name, f"contract-{name}", "app:1", args=args, **fields)  # type: ignore[arg-type]

    return make


class TestContract(HostContract):
    pass
