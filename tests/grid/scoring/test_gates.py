"""Every gate refuses what the document says it refuses, in the document's order, whatever the score."""

from __future__ import annotations

import dataclasses

import pytest

from grid.contract.overlay import Admission
from grid.scoring.admission import Reason
from grid.scoring.distance import NOWHERE, Place
from grid.scoring.gates import Refusal, admitted, refuse
from grid.scoring.health import Phase
from grid.scoring.offer import Freshness, Offer, Profile, View
from tests.kit.offers import EDGE_EAST, offer

LABELLED = dataclasses.replace(EDGE_EAST, labels={"tier": "gold", "team": "a"})
EU_EDGE = View(Place("edge", "eu", "", "eu"))
GOLD = (("tier", "gold"),)


@pytest.mark.parametrize(
    ("what", "view", "refusal"),
    [
        pytest.param(offer(), EDGE_EAST, None, id="a sound offer passes"),
        pytest.param(offer(access=GOLD), LABELLED, None, id="the edge site's labels match"),
        pytest.param(offer(access=GOLD), EDGE_EAST, Refusal.ACCESS_POLICY, id="the edge site has no label"),
        pytest.param(
            offer(access=(("tier", "gold"), ("team", "b"))),
            LABELLED,
            Refusal.ACCESS_POLICY,
            id="one label differs",
        ),
        pytest.param(offer(access=GOLD), View(NOWHERE), Refusal.ACCESS_POLICY, id="an edge that is nowhere"),
        pytest.param(offer(), EU_EDGE, Refusal.RESIDENCY, id="the provider says no zone"),
        pytest.param(
            offer(Place("p", "eu", "", "us")), EU_EDGE, Refusal.RESIDENCY, id="another sovereignty zone"
        ),
        pytest.param(offer(Place("p", "eu", "", "eu")), EU_EDGE, None, id="the same sovereignty zone"),
        pytest.param(
            offer(Place("p", "eu", "", "us")), EDGE_EAST, None, id="an edge without one does not ask"
        ),
        pytest.param(offer(trusted=False), EDGE_EAST, Refusal.SITE_NOT_ACTIVE, id="a site not verified"),
        pytest.param(
            offer(phase=Phase.UNAVAILABLE),
            EDGE_EAST,
            Refusal.PROVIDER_UNAVAILABLE,
            id="a provider that is down",
        ),
        pytest.param(offer(phase=Phase.DEGRADED), EDGE_EAST, None, id="a degraded one is admission's matter"),
        pytest.param(
            offer(freshness=Freshness.EXPIRED), EDGE_EAST, Refusal.STATE_EXPIRED, id="state long lost"
        ),
        pytest.param(
            offer(freshness=Freshness.STALE), EDGE_EAST, None, id="a stale one is admission's matter"
        ),
        pytest.param(
            offer(admission=Admission.NONE), EDGE_EAST, Refusal.ADMISSION_CLOSED, id="nothing admitted at all"
        ),
        pytest.param(offer(admission=Admission.EXISTING_ONLY), EDGE_EAST, None, id="existing sessions only"),
    ],
)
def test_gates(what: Offer, view: View, refusal: Refusal | None) -> None:
    assert refuse(what, view) is refusal


def test_the_first_gate_in_the_documents_order_gives_the_reason() -> None:
    hopeless = offer(
        access=GOLD,
        trusted=False,
        phase=Phase.UNAVAILABLE,
        freshness=Freshness.EXPIRED,
        admission=Admission.NONE,
    )
    found = []
    for repair in (
        {"access": ()},
        {"place": Place("p", "eu", "", "eu")},
        {"trusted": True},
        {"phase": Phase.AVAILABLE},
        {"freshness": Freshness.FRESH},
        {"admission": Admission.NEW_AND_EXISTING},
    ):
        found.append(refuse(hopeless, EU_EDGE))
        hopeless = dataclasses.replace(hopeless, **repair)
    assert found == list(Refusal)
    assert refuse(hopeless, EU_EDGE) is None


@pytest.mark.parametrize(
    ("reason", "profile", "admission"),
    [
        pytest.param(
            Reason.AWAITING_SAMPLE, Profile.EXTERNAL, Admission.EXISTING_ONLY, id="unknown, external"
        ),
        pytest.param(
            Reason.AWAITING_SAMPLE, Profile.WORKLOAD, Admission.NEW_AND_EXISTING, id="unknown, workload"
        ),
        pytest.param(
            Reason.METRICS_MISSING, Profile.WORKLOAD, Admission.NEW_AND_EXISTING, id="missing, workload"
        ),
        pytest.param(Reason.OVERLOADED, Profile.WORKLOAD, Admission.EXISTING_ONLY, id="overloaded, workload"),
        pytest.param(Reason.STALE, Profile.WORKLOAD, Admission.EXISTING_ONLY, id="stale, workload"),
    ],
)
def test_only_a_workload_gateway_goes_on_with_what_is_unknown(
    reason: Reason, profile: Profile, admission: Admission
) -> None:
    found = admitted(offer(admission=Admission.EXISTING_ONLY, reason=reason), View(NOWHERE, {}, profile))
    assert found is admission
