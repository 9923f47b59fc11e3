"""What a network's gossip says here becomes members and capacities; what is said is said when it is due."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from grid.crdt.lww import Lww
from grid.crdt.snapshot import Share
from grid.mesh.lanes import SiteSaid, write_state
from grid.reconcile.gossip import LARGE_SOON_S, REFRESH_S, SOON_S, TAKEN_FOR_S, Listener, OwnPlace, Teller
from grid.reconcile.world import Capacity, Drain, Membership
from grid.scoring.health import Phase
from grid.scoring.signals import Signals
from grid.swim.messages import (
    Event,
    FactHeard,
    Lane,
    MemberDown,
    MemberForgotten,
    MemberLeft,
    MemberSuspect,
    MemberTrusted,
    MemberUp,
    NameTaken,
)
from tests.kit.worlds import NOW, capacity

EAST = "provider-east"
PLACE = OwnPlace(SiteSaid("provider", "us-east"), "10.0.0.1:8443")


def listener(*events: Event, age_s: float = 0.0, now: float = NOW) -> Listener:
    made = Listener("production")
    for event in events:
        made.hear(event, age_s, now)
    return made


def told(*capacities: Capacity, revision: int = 1, now: float = NOW) -> FactHeard:
    lanes = dict(Teller(EAST).due(capacities, OwnPlace(), revision, now))
    return FactHeard(Lane.STATE, EAST, revision, lanes[Lane.STATE], changed=True)


UP = MemberUp(EAST, "10.0.0.1:7946")


@pytest.mark.parametrize(
    ("events", "state"),
    [
        pytest.param([UP], Membership.ALIVE, id="up"),
        pytest.param([UP, MemberSuspect(EAST)], Membership.SUSPECT, id="suspect"),
        pytest.param([UP, MemberSuspect(EAST), MemberTrusted(EAST)], Membership.ALIVE, id="trusted again"),
        pytest.param([UP, MemberSuspect(EAST), MemberDown(EAST)], Membership.DEAD, id="dead"),
        pytest.param([UP, MemberDown(EAST), UP], Membership.ALIVE, id="back"),
        pytest.param([UP, MemberLeft(EAST)], Membership.LEFT, id="left"),
    ],
)
def test_a_member_is_what_was_heard_last(events: list[Event], state: Membership) -> None:
    assert listener(*events).members[EAST].state is state


def test_a_member_is_since_it_became_so_and_has_what_its_site_says() -> None:
    lanes = dict(Teller(EAST).due((), PLACE, 1, NOW))
    facts = [FactHeard(lane, EAST, 1, payload, changed=True) for lane, payload in lanes.items()]
    before, after = listener(*facts, UP).members[EAST], listener(UP, *facts).members[EAST]
    assert before == after
    assert (after.since, after.address, after.facts.role, after.facts.region) == (
        NOW,
        "10.0.0.1:8443",
        "provider",
        "us-east",
    )


def test_capacities_are_as_old_as_their_way_and_the_same_objects_until_there_is_news() -> None:
    made = listener(UP, told(capacity(at=NOW - 4)), age_s=2.0)
    (found,) = made.capacities()
    assert (found.site, found.provider, found.age_s, found.at) == (EAST, "sim-a", 6.0, NOW)
    assert made.capacities() is made.capacities()
    assert not made.hear(MemberTrusted(EAST), 0.0, NOW)


def test_a_refresh_makes_it_young_again() -> None:
    made = listener(UP, told(capacity(at=NOW - 20)), age_s=5.0)
    made.hear(told(capacity(at=NOW + 9), revision=2, now=NOW + 10), 0.5, NOW + 10)
    (found,) = made.capacities()
    assert (found.age_s, found.at) == (1.5, NOW + 10)


def test_a_later_state_takes_away_what_is_not_in_it_also_of_an_origin_that_counts_anew() -> None:
    made = listener(UP, told(capacity(provider="a"), capacity(provider="b"), revision=50))
    made.hear(told(capacity(provider="b"), revision=51), 0.0, NOW)
    assert [each.provider for each in made.capacities()] == ["b"]


def test_what_left_offers_nothing_and_what_is_forgotten_is_gone() -> None:
    made = listener(UP, told(capacity()), MemberLeft(EAST))
    assert made.capacities() == ()
    made.hear(MemberForgotten(EAST), 0.0, NOW)
    assert (made.members, made.heard.snapshot.shares) == ({}, {})


def test_one_bad_record_leaves_what_was_known() -> None:
    made = listener(UP, told(capacity()))

    bad = write_state(Share({"sim-a": Lww(b"nothing", 2, EAST)}), EAST)
    assert not made.hear(FactHeard(Lane.STATE, EAST, 2, bad, changed=True), 0.0, NOW)
    assert [each.provider for each in made.capacities()] == ["sim-a"]
    assert made.refused == 1


def test_a_name_is_taken_for_a_while() -> None:
    made = listener(NameTaken("10.9.9.9:7946"))
    assert made.taken_by(NOW) == "10.9.9.9:7946"
    assert made.taken_by(NOW + TAKEN_FOR_S) == ""


def said(teller: Teller, capacities: Iterable[Capacity], now: float) -> list[Lane]:
    return [lane for lane, _ in teller.due(capacities, PLACE, 1, now)]


def test_at_first_all_is_said_and_then_only_the_refresh() -> None:
    teller = Teller(EAST)
    assert said(teller, [capacity()], NOW) == [Lane.METADATA, Lane.GATEWAY, Lane.STATE]
    assert said(teller, [capacity()], NOW + REFRESH_S - 0.1) == []
    assert said(teller, [capacity()], NOW + REFRESH_S) == [Lane.STATE]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param([capacity(phase=Phase.UNAVAILABLE)], id="unhealthy"),
        pytest.param([capacity(drain=Drain.ALL)], id="drained"),
        pytest.param([], id="removed"),
        pytest.param([capacity(), capacity(provider="sim-b")], id="one more"),
        pytest.param([capacity(models=("other",))], id="another model"),
    ],
)
def test_what_matters_is_said_at_once(changed: list[Capacity]) -> None:
    teller = Teller(EAST)
    said(teller, [capacity()], NOW)
    assert said(teller, changed, NOW + 0.01) == [Lane.STATE]


def test_new_readings_are_said_soon_and_not_each() -> None:
    teller = Teller(EAST)
    said(teller, [capacity(reading=1)], NOW)
    newer = dataclasses.replace(capacity(reading=2), signals=Signals(queue=0.9), at=NOW + 0.1)
    assert said(teller, [newer], NOW + 0.1) == []
    assert said(teller, [newer], NOW + SOON_S) == [Lane.STATE]


def test_readings_of_a_large_site_are_said_less_often_and_what_matters_at_once() -> None:
    many = [capacity(provider=f"sim-{number:03}") for number in range(50)]
    teller = Teller(EAST)
    said(teller, many, NOW)
    newer = [dataclasses.replace(many[0], reading=2), *many[1:]]
    assert said(teller, newer, NOW + SOON_S) == []
    assert said(teller, newer, NOW + LARGE_SOON_S) == [Lane.STATE]
    drained = [dataclasses.replace(many[0], drain=Drain.ALL), *many[1:]]
    assert said(teller, drained, NOW + LARGE_SOON_S + 0.01) == [Lane.STATE]


def test_a_place_is_said_again_when_it_changes() -> None:
    teller = Teller(EAST)
    said(teller, [], NOW)
    moved = dataclasses.replace(PLACE, gateway="10.0.0.2:8443")
    assert [lane for lane, _ in teller.due([], moved, 2, NOW + 1)] == [Lane.GATEWAY]
