"""Statuses are written when they say something new, and an event tells what moved."""

from __future__ import annotations

import pytest

from grid.crd.network import read_network
from grid.crd.provider import read_provider
from grid.crd.site import read_site
from grid.reconcile.actions import Emit, WriteStatus
from grid.reconcile.declared import Declared
from grid.reconcile.sites import Standing
from grid.reconcile.statuses import Around, Said, network_phase, network_status, provider_status, site_status
from grid.reconcile.world import Member, Membership
from grid.scoring.admission import unseen
from grid.scoring.health import Phase
from tests.kit.resources import network, provider, site
from tests.kit.worlds import capacity

NOW = 1_784_980_800.0
ACTIVE = Standing("Active", "TlsVerified")
LATER = {"phase": "Active", "reason": "TlsVerified", "publicCertPem": "pem"}


@pytest.mark.parametrize(
    ("standings", "phase"),
    [
        pytest.param([], "Pending", id="no site"),
        pytest.param([Standing("Connecting", "")], "Initializing", id="none active"),
        pytest.param([Standing("Connecting", ""), ACTIVE], "Active", id="one active"),
        pytest.param([Standing("Unreachable", ""), ACTIVE], "Degraded", id="one unreachable"),
        pytest.param([Standing("Left", ""), ACTIVE], "Active", id="one that left"),
    ],
)
def test_network_phase(standings: list[Standing], phase: str) -> None:
    assert network_phase(dict(enumerate(standings))) == phase  # type: ignore[arg-type]


def test_a_site_keeps_what_others_wrote_in_its_status() -> None:
    (write,) = site_status(read_site(site("a", status=LATER)), ACTIVE, Said(), NOW)
    assert isinstance(write, WriteStatus)
    assert write.status["publicCertPem"] == "pem"
    assert "lastTransitionTime" not in write.status, "its phase did not move"


def test_a_member_is_a_condition() -> None:
    actions = list(site_status(read_site(site("a")), ACTIVE, Said(Member(Membership.SUSPECT, NOW)), NOW))
    assert isinstance(actions[0], WriteStatus)
    conditions = {each["type"]: (each["status"], each["reason"]) for each in actions[0].status["conditions"]}
    assert conditions == {"Ready": ("True", "TlsVerified"), "MemberAlive": ("True", "Suspect")}


ALIVE = {
    "type": "MemberAlive",
    "status": "True",
    "reason": "Alive",
    "lastTransitionTime": "2026-07-25T12:00:00Z",
}


@pytest.mark.parametrize(
    ("standing", "heard", "kept"),
    [
        pytest.param(ACTIVE, False, True, id="before the mesh has been heard"),
        pytest.param(ACTIVE, True, False, id="once nobody there knows it"),
        pytest.param(Standing("Left", "Left"), True, True, id="of one that left"),
    ],
)
def test_what_was_said_of_a_member_stands(standing: Standing, *, heard: bool, kept: bool) -> None:
    before = read_site(site("a", status={"phase": "Active", "reason": "x", "conditions": [ALIVE]}))
    write = next(iter(site_status(before, standing, Said(heard=heard), NOW)))
    assert isinstance(write, WriteStatus)
    assert ("MemberAlive" in {each["type"] for each in write.status["conditions"]}) is kept


def test_a_reason_that_changes_is_an_event_too() -> None:
    before = site("a", status={"phase": "Connecting", "reason": "AwaitingProbe"})
    _, event = site_status(read_site(before), Standing("Connecting", "PinMismatch"), Said(), NOW)
    assert event == Emit("GridSite", "a", "uid-a", "PinMismatch", "Connecting", warning=True)


def test_only_a_condition_that_changes_is_no_event() -> None:
    judged = Declared(
        read_provider(provider("p", status={"phase": "Pending", "reason": "AwaitingProbe"})),
        Phase.PENDING,
        "AwaitingProbe",
    )
    assert [type(action) for action in provider_status(judged, unseen(NOW), NOW)] == [WriteStatus]


def test_a_provider_nobody_has_measured_is_not_known_to_be_open() -> None:
    judged = Declared(read_provider(provider("p")), Phase.AVAILABLE)
    write = next(iter(provider_status(judged, unseen(NOW), NOW)))
    assert isinstance(write, WriteStatus)
    found = {each["type"]: (each["status"], each["reason"]) for each in write.status["conditions"]}
    assert found["OpenToNewWork"] == ("Unknown", "AwaitingSample")


def test_budgets_are_shown_sorted_with_their_caps() -> None:
    tenants = [{"tenantId": "b", "capUsd": 2.0}, {"tenantId": "a", "capUsd": 1.0}]
    write = next(
        iter(network_status(read_network(network(budgetPolicy={"tenants": tenants})), (), Around(), NOW))
    )
    assert isinstance(write, WriteStatus)
    assert [(each["tenantId"], each["spendUsd"]) for each in write.status["budgetStatus"]] == [
        ("a", 0.0),
        ("b", 0.0),
    ]


def test_a_list_of_many_problems_is_cut() -> None:
    problems = tuple(f"problem {number}" for number in range(12))
    write = next(iter(network_status(read_network(network()), (), Around(problems=problems), NOW)))
    assert isinstance(write, WriteStatus)
    (honoured,) = [each for each in write.status["conditions"] if each["type"] == "SpecHonoured"]
    assert honoured["message"].endswith("problem 9 and 2 more")


def test_a_member_that_becomes_suspect_is_written_and_no_event() -> None:
    before = site(
        "a",
        status={
            "phase": "Active",
            "reason": "TlsVerified",
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                for kind, reason in (("Ready", "TlsVerified"), ("MemberAlive", "Alive"))
            ],
        },
    )
    actions = list(site_status(read_site(before), ACTIVE, Said(Member(Membership.SUSPECT, NOW)), NOW))
    assert [type(action) for action in actions] == [WriteStatus]


def test_a_provider_that_offers_nothing_says_nothing_of_admission() -> None:
    judged = Declared(
        read_provider(provider("p")), Phase.PENDING, "NetworkMissing", "there is no GridNetwork x"
    )
    write, event = provider_status(judged, None, NOW)
    assert isinstance(write, WriteStatus)
    assert "admission" not in write.status
    assert [each["type"] for each in write.status["conditions"]] == ["Ready", "SpecHonoured"]
    assert event == Emit(
        "InferenceProvider", "p", "uid-p", "NetworkMissing", "there is no GridNetwork x", warning=True
    )


@pytest.mark.parametrize(
    ("around", "ready"),
    [
        pytest.param(Around({"a": ACTIVE}), ("True", "Active", ""), id="all is well"),
        pytest.param(Around(), ("False", "Pending", ""), id="no site"),
        pytest.param(
            Around({"a": ACTIVE}, unserved=("edge: forbidden",)),
            ("False", "GatewaysNotServed", "edge: forbidden"),
            id="a gateway without an overlay",
        ),
    ],
)
def test_a_network_is_ready_when_all_its_gateways_are_served(
    around: Around, ready: tuple[str, str, str]
) -> None:
    write = next(iter(network_status(read_network(network()), (), around, NOW)))
    assert isinstance(write, WriteStatus)
    found = {
        each["type"]: (each["status"], each["reason"], each["message"]) for each in write.status["conditions"]
    }
    assert found["Ready"] == ready
    assert found["GatewaysServed"][0] == str(not around.unserved)


@pytest.mark.parametrize(
    ("before", "offers", "after"),
    [
        pytest.param(None, True, True, id="a provider is there"),
        pytest.param(True, False, False, id="the last one is gone"),
        pytest.param(True, None, True, id="an operator that begins knows nothing yet"),
        pytest.param(None, None, False, id="nothing is known, and nothing was"),
    ],
)
def test_what_a_site_offers(before: bool | None, offers: bool | None, after: bool) -> None:
    status = None if before is None else {"phase": "Connecting", "capabilities": {"inference": before}}
    write = next(iter(site_status(read_site(site("a", status=status)), ACTIVE, Said(offers=offers), NOW)))
    assert isinstance(write, WriteStatus)
    assert write.status["capabilities"]["inference"] is after


def test_only_a_capability_that_changes_is_written() -> None:
    (first, _) = site_status(read_site(site("a")), ACTIVE, Said(offers=False), NOW)
    assert isinstance(first, WriteStatus)
    known = read_site(site("a", status=dict(first.status)))
    assert list(site_status(known, ACTIVE, Said(offers=False), NOW + 60)) == []
    (write,) = site_status(known, ACTIVE, Said(offers=True), NOW + 60)
    assert isinstance(write, WriteStatus)


@pytest.mark.parametrize(
    ("read", "unread", "expected"),
    [
        pytest.param(True, "", ("True", "Read"), id="they are read"),
        pytest.param(False, "oversized", ("False", "Oversized"), id="they are too large"),
        pytest.param(False, "no_answer", ("False", "NoAnswer"), id="nobody answers"),
        pytest.param(None, "", ("Unknown", "AwaitingScrape"), id="not scraped yet"),
    ],
)
def test_whether_metrics_are_read(read: bool | None, unread: str, expected: tuple[str, str]) -> None:
    offered = (capacity(),)
    judged = Declared(
        read_provider(provider("p", metricsConfig={})),
        Phase.AVAILABLE,
        capacities=offered,
        read=read,
        unread=unread,
    )
    write = next(iter(provider_status(judged, None, NOW)))
    assert isinstance(write, WriteStatus)
    found = {each["type"]: (each["status"], each["reason"]) for each in write.status["conditions"]}
    assert found["MetricsRead"] == expected


def test_an_operator_that_begins_keeps_what_is_known_of_metrics() -> None:
    judged = Declared(
        read_provider(provider("p", metricsConfig={})), Phase.AVAILABLE, capacities=(capacity(),), read=True
    )
    first = next(iter(provider_status(judged, None, NOW)))
    assert isinstance(first, WriteStatus)
    again = read_provider(provider("p", metricsConfig={}, status=dict(first.status)))
    begun = Declared(again, Phase.AVAILABLE, capacities=(capacity(),))
    assert list(provider_status(begun, None, NOW + 60)) == []
