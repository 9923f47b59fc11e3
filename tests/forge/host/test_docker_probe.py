"""A container is asked where this machine reaches it: at its own address, else at its published port."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forge.host.docker_probe import endpoint
from forge.plan.resources import NetworkMode, PortBinding, ServiceResource
from forge.plan.values import Key, Observed, Owner, Phase

SEEN = Observed(Key("service", "web"), Owner("lab", "0011"), "f", Phase.RUNNING, address="10.64.1.2")
NATIVE = ("10.64.0.0/22", "fd00::/64")
ELSEWHERE = ("192.168.1.0/24",)


def web(*ports: PortBinding, **fields: NetworkMode) -> ServiceResource:
    plain = ServiceResource("web", "lab-web", "web:1", ports=ports, network=NetworkMode.ENVIRONMENT)
    return replace(plain, **fields)  # type: ignore[arg-type]  # every field here is a NetworkMode


@pytest.mark.parametrize(
    ("wanted", "routes", "place"),
    [
        pytest.param(web(), NATIVE, ("10.64.1.2", 80), id="a route to it: its own address"),
        pytest.param(
            web(PortBinding("127.0.0.2", 8080, 80)),
            ELSEWHERE,
            ("127.0.0.2", 8080),
            id="none: what it publishes",
        ),
        pytest.param(
            web(PortBinding("0.0.0.0", 8080, 80)),
            ELSEWHERE,
            ("127.0.0.1", 8080),
            id="published on all addresses",
        ),
        pytest.param(
            web(PortBinding("::", 8080, 80)), ELSEWHERE, ("::1", 8080), id="published on all of IPv6"
        ),
        pytest.param(
            web(PortBinding("127.0.0.1", 8080, 81)), ELSEWHERE, None, id="another port is published"
        ),
        pytest.param(web(), ELSEWHERE, None, id="no way to it"),
        pytest.param(
            web(network=NetworkMode.HOST), ELSEWHERE, ("127.0.0.1", 80), id="the host's own network"
        ),
    ],
)
def test_the_place_to_ask_at(
    wanted: ServiceResource, routes: tuple[str, ...], place: tuple[str, int] | None
) -> None:
    assert endpoint(SEEN, wanted, 80, routes) == place


def test_an_address_that_is_not_there_yet_is_the_wanted_one() -> None:
    wanted = replace(web(), address="10.64.1.9")
    assert endpoint(replace(SEEN, address=None), wanted, 80, NATIVE) == ("10.64.1.9", 80)
