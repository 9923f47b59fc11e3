"""Push/pulls: who makes one when, what it carries, and what is believed of it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from grid.swim.codec import MAX_ADDRESS, MAX_SITE, decode_exchange
from grid.swim.members import Claim, State
from grid.swim.messages import (
    Event,
    Exchange,
    Fact,
    FactHeard,
    Kind,
    Lane,
    MemberDown,
    MemberLeft,
    MemberSuspect,
    MemberUp,
    Message,
    SendTo,
)
from grid.swim.node import SwimNode
from grid.swim.tuning import MAX_MEMBERS, MAX_OFFER
from tests.kit.swim_nodes import EAST, TUNING, WEST, events, message, node, woken


def test_a_death_from_a_push_pull_is_a_suspicion_first() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP, claims=(WEST,)), 0.0)
    outputs = subject.merge(message(Kind.EXCHANGE, claims=(WEST.as_state(State.DEAD),)), 0.1)
    assert events(outputs) == [MemberSuspect("west")]


GONE = [
    pytest.param(State.DEAD, MemberDown("west"), id="dead"),
    pytest.param(State.LEFT, MemberLeft("west"), id="left"),
]


@pytest.mark.parametrize(("state", "event"), GONE)
def test_a_young_node_learns_of_the_gone_it_never_met(state: State, event: Event) -> None:
    subject = node()
    outputs = subject.merge(message(Kind.EXCHANGE, claims=(WEST.as_state(state),)), 0.1)
    assert events(outputs) == [MemberUp("east", "east:1"), event]
    assert events(subject.receive(message(Kind.GOSSIP, claims=(WEST,)), 0.2)) == [], "an old claim"
    assert decode_exchange(subject.offer(0.3)).claims == (EAST, WEST.as_state(state))  # type: ignore[union-attr]


@pytest.mark.parametrize("state", [State.DEAD, State.LEFT])
def test_a_node_old_enough_to_have_forgotten_them_does_not_learn_of_the_gone_again(state: State) -> None:
    subject = node()
    now = TUNING.tombstone_ttl_s + 0.1
    outputs = subject.merge(message(Kind.EXCHANGE, claims=(WEST.as_state(state),)), now)
    assert events(outputs) == [MemberUp("east", "east:1")]


def test_the_gone_push_nobody_out_of_a_full_table() -> None:
    subject = node(replace(TUNING, max_members=2))
    outputs = subject.merge(message(Kind.EXCHANGE, claims=(WEST.as_state(State.LEFT),)), 0.1)
    assert events(outputs) == [MemberUp("east", "east:1")]


def test_a_large_fact_is_announced_and_fetched_from_who_announced_it() -> None:
    speaker, hearer = node(), SwimNode("east", "east:1", 11, random.Random(2), TUNING)
    speaker.receive(message(Kind.GOSSIP), 0.0)
    (text,) = [o.text for o in speaker.publish(Lane.CERT, bytes(5000), 1.0) if isinstance(o, SendTo)]
    assert Exchange("here:1") in hearer.receive(text, 50.0)
    reply, _ = speaker.answer(hearer.offer(50.2), 1.5)
    outputs = hearer.merge(reply, 50.5)
    assert FactHeard(Lane.CERT, "here", 1, bytes(5000), changed=True) in events(outputs)


def test_a_push_pull_carries_what_is_lacked_and_no_more() -> None:
    one, other = node(), SwimNode("east", "east:1", 11, random.Random(2), TUNING)
    one.publish(Lane.CERT, bytes(50_000), 1.0)
    reply, _ = one.answer(other.offer(1.0), 1.0)
    assert len(reply) > 50_000
    other.merge(reply, 1.0)
    again, _ = one.answer(other.offer(2.0), 2.0)
    assert len(again) < 200, "both hold it"
    one.publish(Lane.CERT, bytes(50_000), 3.0)
    refreshed, _ = one.answer(other.offer(3.0), 3.0)
    assert len(refreshed) < 200, "the same bytes, said again"
    assert events(other.merge(refreshed, 3.0)) == [
        FactHeard(Lane.CERT, "here", 2, bytes(50_000), changed=False)
    ]
    _, outputs = other.answer(one.offer(4.0), 4.0)
    assert not any(isinstance(output, Exchange) for output in outputs)
    one.publish(Lane.CERT, bytes(60_000), 5.0)
    _, outputs = other.answer(one.offer(5.0), 5.0)
    assert Exchange("here:1") in outputs, "who is asked fetches what the asker has more"


def test_changes_of_a_large_fact_are_fetched_at_once_and_together() -> None:
    subject = node()
    exchanges = []
    for number in range(1, 6):
        fact = Fact(Lane.STATE, "east", number, 0.0, bytes([number] * 8), None)
        now = 10 + number * TUNING.gossip_interval_s / 2
        exchanges += subject.receive(message(Kind.GOSSIP, facts=(fact,)), now)
    exchanges += woken(subject, [], 10.99)
    asked = [output for output in exchanges if isinstance(output, Exchange)]
    assert 2 <= len(asked) <= 3, "the first, and the last of those that came meanwhile"


def test_who_is_welcomed_asks_for_everything() -> None:
    outputs = node().receive(message(Kind.WELCOME, digest=77), 0.1)
    assert Exchange("east:1") in outputs


def test_who_is_welcomed_for_the_first_time_asks_even_an_equal() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP), 0.1)
    equal = subject.view.digest
    assert Exchange("east:1") in subject.receive(message(Kind.WELCOME, digest=equal), 0.2), "who is gone"
    subject.merge(message(Kind.EXCHANGE), 0.3)
    assert Exchange("east:1") not in subject.receive(message(Kind.WELCOME, digest=equal), 100.0)


def test_an_offer_is_within_its_bound_whatever_is_held() -> None:
    subject = node(replace(TUNING, max_members=MAX_MEMBERS))
    for number in range(MAX_MEMBERS):
        name = f"{number:04}".ljust(MAX_SITE, "n")
        subject.receive(message(Kind.GOSSIP, Claim(name, "a" * MAX_ADDRESS, number, 1)), 0.0)
        for lane in Lane:
            subject.view.hear_fact(Fact(lane, name, 1, 0.0, b"", bytes(900)), "a", 0.0)
    for lane in Lane:
        subject.publish(lane, bytes(900), 0.0)
    offer = subject.offer(1.0)
    assert 800_000 < len(offer) <= MAX_OFFER
    found = decode_exchange(offer)
    assert isinstance(found, Message)
    assert len(found.claims) == MAX_MEMBERS - 1
    assert len(found.facts) == (MAX_MEMBERS + 1) * len(Lane), "others' to their limit, and its own"
