"""A chain whose order cannot work is refused with a sentence that names the filters."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from edge.chain import Exchange, Response, Step, Traits
from edge.order import ClientCertMode, Problem, check_order


@dataclass(frozen=True)
class InHead:
    """A filter of the head phase."""

    traits: Traits = Traits()  # noqa: RUF009 - a frozen value

    def on_head(self, exchange: Exchange) -> Response | None:
        return None


@dataclass(frozen=True)
class InBody:
    """A filter of the body phase."""

    traits: Traits = Traits()  # noqa: RUF009 - a frozen value

    def on_body(self, exchange: Exchange) -> Response | None:
        return None


def _always(exchange: Exchange) -> bool:
    return True


AUTH = Step("api_key_auth", InHead(Traits(writes=frozenset({"tenant"}), security=True)))
MODEL = Step("json_body_field", InBody(Traits(writes=frozenset({"model"}))))
ALLOW = Step("model_authorization", InBody(Traits(reads=frozenset({"tenant", "model"}), security=True)))
EAGER = Step("eager", InHead(Traits(reads=frozenset({"model"}))))
ROUTER = Step("router", InBody(Traits(writes=frozenset({"cluster"}))))
BALANCER = Step("load_balancer", InBody(Traits(reads=frozenset({"cluster"}), writes=frozenset({"upstream"}))))
STATIC = Step("static_response", InHead(Traits(ends=True)))
TRUST = Step("peer_identity_trust", InHead(Traits(writes=frozenset({"identity"}), first=True, security=True)))
PROVIDER = Step(
    "provider_route",
    InBody(
        Traits(
            writes=frozenset({"cluster"}),
            guard="peer_identity_trust",
            needs_client_certificate=True,
        )
    ),
)


@pytest.mark.parametrize(
    ("steps", "mode", "expected"),
    [
        pytest.param([], "none", [], id="an empty chain"),
        pytest.param([AUTH, MODEL, ALLOW, ROUTER, BALANCER], "none", [], id="a whole chain"),
        pytest.param([TRUST, MODEL, PROVIDER, BALANCER], "require", [], id="a provider's chain"),
        pytest.param(
            [BALANCER],
            "none",
            [Problem(0, "load_balancer needs the cluster, and nothing in this chain gives it")],
            id="a balancer without a router",
        ),
        pytest.param(
            [BALANCER, ROUTER],
            "none",
            [Problem(0, "load_balancer needs the cluster, and router stands after it")],
            id="a balancer before the router",
        ),
        pytest.param(
            [MODEL, EAGER],
            "none",
            [Problem(1, "eager runs before the body is read and needs the model from the body")],
            id="a head filter that needs the body",
        ),
        pytest.param(
            [ROUTER, ROUTER, BALANCER],
            "none",
            [Problem(1, "router sets the cluster that router has already set")],
            id="two unconditional routers",
        ),
        pytest.param(
            [Step("router", ROUTER.filter, applies=_always), ROUTER, BALANCER],
            "none",
            [],
            id="a conditional router before the general one",
        ),
        pytest.param(
            [STATIC, ROUTER, BALANCER],
            "none",
            [Problem(0, "static_response answers every request; router after it never runs")],
            id="filters after an unconditional answer",
        ),
        pytest.param(
            [Step("api_key_auth", AUTH.filter, applies=_always)],
            "none",
            [Problem(0, "api_key_auth is a security filter and must not have conditions")],
            id="authentication with a condition",
        ),
        pytest.param(
            [Step("api_key_auth", AUTH.filter, open_on_error=True)],
            "none",
            [Problem(0, "api_key_auth is a security filter and must fail closed")],
            id="authentication that fails open",
        ),
        pytest.param(
            [ROUTER, AUTH, BALANCER],
            "none",
            [Problem(1, "api_key_auth must stand before router, which chooses where the request goes")],
            id="authentication after routing",
        ),
        pytest.param(
            [MODEL, TRUST],
            "require",
            [Problem(1, "peer_identity_trust must be the first filter of its chain")],
            id="peer trust that is not first",
        ),
        pytest.param(
            [MODEL, PROVIDER, BALANCER],
            "none",
            [
                Problem(
                    1,
                    "provider_route needs peer_identity_trust as the chain's first filter, "
                    "unconditional, failing closed",
                ),
                Problem(1, "provider_route needs listeners with client_cert_mode: require"),
            ],
            id="a provider's route without its guard",
        ),
    ],
)
def test_every_reason_is_told(steps: list[Step], mode: ClientCertMode, expected: list[Problem]) -> None:
    assert list(check_order(steps, mode)) == expected
