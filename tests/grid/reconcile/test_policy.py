"""A network's resource becomes the numbers it says, and its defaults where it says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from grid.contract.overlay import Admission
from grid.crd.network import GridNetwork, read_network
from grid.reconcile import policy
from grid.scoring.admission import Policy
from grid.scoring.rank import Order, Preference
from grid.scoring.signals import PRESETS, Weights
from tests.kit.resources import gateway, network


def made(**spec: Any) -> GridNetwork:
    return read_network(network("production", **spec))


def test_what_says_nothing_has_the_documented_policy() -> None:
    assert policy.rules(made()).admission == Policy()
    assert policy.rules(made()).ttl_s == 300.0
    assert policy.preference(made()) == Preference(Order.GEOGRAPHY_FIRST, Weights(), 0.25)
    assert policy.startup_grace_s(made()) == 10.0


def test_an_admission_policy_is_taken_as_it_is() -> None:
    pressure = {
        "enterThreshold": 0.9,
        "exitThreshold": 0.5,
        "failureThreshold": 1,
        "successThreshold": 2,
        "minimumStateDuration": "1s",
        "recoveryHoldDown": "3s",
    }
    found = policy.rules(made(admissionPolicy={"pressure": pressure, "missingMetrics": "excluded"})).admission
    assert found == Policy(0.9, 0.5, 1, 2, 1.0, 3.0, Admission.NONE)


def test_an_instantaneous_policy_has_no_memory() -> None:
    found = policy.rules(made(admissionPolicy={"mode": "instantaneous"})).admission
    assert (found.failures, found.successes, found.minimum_state_s, found.hold_down_s) == (1, 1, 0.0, 0.0)


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        pytest.param(None, Weights(), id="none"),
        pytest.param({}, Weights(), id="an empty one"),
        pytest.param(
            {"weights": {"locality": 5, "cost": 0}}, Weights(locality=5, cost=0), id="weights of its own"
        ),
        pytest.param({"strategy": "queueDepth"}, PRESETS["queueDepth"], id="a preset"),
        pytest.param(
            {"strategy": "noMetrics", "weights": {"cost": 9}},
            PRESETS["noMetrics"],
            id="weights beside a preset",
        ),
    ],
)
def test_weights(scoring: dict[str, Any] | None, expected: Weights) -> None:
    assert policy.weights(made(scoringPolicy=scoring)) == expected


def test_order_and_dead_band() -> None:
    found = policy.preference(made(routingPolicy="scoreFirst", scoringPolicy={"deadBand": 0.5}))
    assert (found.order, found.dead_band) == (Order.SCORE_FIRST, 0.5)


def test_slips_are_named() -> None:
    bad = read_network(
        network("n", gateway("a"), gateway("b"), gateway("a"), swim={"suspicionTimeout": "a while"})
    )
    rendering = read_network(network("n", gateway("a", consumerConfig={"enabled": True})))
    assert list(policy.slips(rendering, "grid-system")) == [
        "consumerConfig is kept, and not rendered by this version"
    ]
    assert list(policy.slips(bad, "grid-system")) == [
        "spec.swim.suspicionTimeout is no duration",
        "spec.gatewayRefs[2] is grid-system/a once more",
    ]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            {"tls": {"caSecretRef": {"namespace": "ours", "name": "site-tls"}}}, [], id="the mounted Secret"
        ),
        pytest.param(
            {"tls": {"siteSecretRef": {"namespace": "ours", "name": "other"}}},
            ["spec.tls.siteSecretRef is not used: what is mounted is ours/site-tls"],
            id="another Secret",
        ),
        pytest.param(
            {"tls": {"caSecretRef": {"namespace": "theirs", "name": "site-tls"}}},
            ["spec.tls.caSecretRef is not used: what is mounted is ours/site-tls"],
            id="another namespace's",
        ),
        pytest.param(
            {"region": "us-east"},
            ["spec.region and spec.zone are not used: a gateway stands where its GridSite does"],
            id="a place for the network",
        ),
        pytest.param(
            {"budgetPolicy": {"tenants": [{"tenantId": "a", "capUsd": 1}]}},
            ["budgetPolicy is shown, and spend is not gathered by this version"],
            id="a budget",
        ),
    ],
)
def test_what_is_not_done_is_said(spec: dict[str, Any], said: list[str]) -> None:
    assert list(policy.slips(read_network(network("n", **spec)), "ours")) == said
