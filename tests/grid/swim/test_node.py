"""One node spoken to by hand: what it answers, to whom, and what it never does."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grid.swim.codec import decode_exchange, encode
from grid.swim.facts import digest_of
from grid.swim.members import Claim, State
from grid.swim.messages import (
    Event,
    Fact,
    FactHeard,
    Kind,
    Lane,
    MemberChanged,
    MemberDown,
    MemberForgotten,
    MemberLeft,
    MemberSuspect,
    MemberTrusted,
    MemberUp,
    Message,
    NameTaken,
    Output,
    Refuted,
    SendTo,
    WakeAt,
)
from grid.swim.node import Memory, SwimNode
from grid.swim.tuning import MAX_TEXT
from tests.kit.swim_nodes import EAST, TUNING, WEST, events, here, message, node, sent, woken


def test_a_timer_that_goes_off_early_is_set_again() -> None:
    subject = node()
    due = subject.wake_at
    assert due is not None
    assert subject.tick(due - 0.0001) == [WakeAt(due)]


def test_a_ping_is_answered_where_its_sender_says_it_is() -> None:
    outputs = node().receive(message(Kind.PING, seq=5, about="here"), 0.1)
    ((address, ack),) = sent(outputs, Kind.ACK)
    assert (address, ack.seq, ack.about, ack.sender.site) == ("east:1", 5, "east", "here")
    assert events(outputs) == [MemberUp("east", "east:1")]


def test_a_ping_for_another_name_is_not_answered() -> None:
    subject = node()
    assert not sent(subject.receive(message(Kind.PING, seq=5, about="other"), 0.1), Kind.ACK)
    assert subject.view.counts["misdirected"] == 1


def test_a_joiner_is_welcomed_with_members() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP, claims=(WEST,)), 0.1)
    north = Claim("north", "north:1", 33, 1)
    ((address, welcome),) = sent(subject.receive(message(Kind.JOIN, north), 0.2), Kind.WELCOME)
    assert address == "north:1"
    assert {EAST, WEST} <= set(welcome.claims)


def test_a_suspicion_of_this_node_is_refuted_at_once() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP), 0.1)
    outputs = subject.receive(message(Kind.PING, seq=1, about="here", claims=(here(1, State.SUSPECT),)), 1.0)
    ((_, ack),) = sent(outputs, Kind.ACK)
    assert ack.sender == here(2, State.ALIVE)
    assert Refuted(2) in events(outputs)


def test_an_old_suspicion_of_this_node_is_nothing() -> None:
    subject = node(memory=Memory(6, {}, ()))
    outputs = subject.receive(message(Kind.GOSSIP, claims=(here(6, State.DEAD),)), 0.1)
    assert subject.view.me.incarnation == 7
    assert Refuted(8) not in events(outputs)


def test_a_silent_member_is_asked_about_then_suspected_then_dead() -> None:
    subject = node()
    outputs = subject.receive(message(Kind.GOSSIP, claims=(WEST,)), 0.0)
    outputs = woken(subject, outputs, 20.0)
    assert sent(outputs, Kind.PING_REQ)
    assert events(outputs) == [
        MemberUp("east", "east:1"),
        MemberUp("west", "west:1"),
        *(MemberSuspect(s) for s in _order(outputs)),
        *(MemberDown(s) for s in _order(outputs)),
    ]


def _order(outputs: list[Output]) -> list[str]:
    return [event.site for event in events(outputs) if isinstance(event, MemberSuspect)]


def test_a_suspect_is_told_so_in_its_next_ping() -> None:
    subject = node()
    outputs = woken(subject, subject.receive(message(Kind.GOSSIP), 0.0), 4.0)
    pings = [m for _, m in sent(outputs, Kind.PING)]
    assert EAST.as_state(State.SUSPECT) in pings[-1].claims


def test_a_suspect_is_asked_each_round_until_it_answers() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP, EAST, claims=(WEST.as_state(State.SUSPECT),)), 0.1)
    asked = [address for address, _ in sent(woken(subject, [], 3.5), Kind.PING) if address == WEST.address]
    assert len(asked) >= 3
    refuted = Claim(WEST.site, WEST.address, WEST.instance, 2)
    subject.receive(message(Kind.ACK, refuted), 3.6)
    later = sent(woken(subject, [], 4.5), Kind.PING)
    assert sum(address == WEST.address for address, _ in later) <= 1, "its turn in the ring, and no more"


def test_a_sleep_is_noticed_once_and_gives_suspects_that_time_again() -> None:
    subject = node()
    woken(subject, subject.receive(message(Kind.GOSSIP), 0.0), 3.0)
    deadline = subject.view.suspects["east"]
    for late in (100.0, 100.01, 100.02):
        subject.receive(message(Kind.GOSSIP, WEST), late)
    assert subject.view.counts["slept"] == 1
    assert deadline + 90 < subject.view.suspects["east"] < deadline + 100
    outputs = woken(subject, subject.tick(100.03), 120.0)
    assert MemberDown("east") in events(outputs)


def test_a_refutation_ends_the_suspicion() -> None:
    subject = node()
    woken(subject, subject.receive(message(Kind.GOSSIP), 0.0), 3.0)
    assert "east" in subject.view.suspects
    outputs = subject.receive(message(Kind.GOSSIP, Claim("east", "east:1", 11, 2)), 3.1)
    assert events(outputs) == [MemberTrusted("east")]
    assert not subject.view.suspects


def test_who_is_held_dead_is_told_so_whatever_it_says() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP), 0.0)
    subject.receive(message(Kind.GOSSIP, WEST, claims=(EAST.as_state(State.DEAD),)), 0.1)
    told = sent(subject.receive(message(Kind.GOSSIP), 0.2), Kind.GOSSIP)
    assert EAST.as_state(State.DEAD) in [
        m.claims[0] for address, m in told if address == "east:1" and m.claims
    ]


def test_a_probe_is_made_for_another_and_its_answer_passed_back() -> None:
    subject = node()
    outputs = subject.receive(message(Kind.PING_REQ, seq=40, about="west", at="west:1"), 0.1)
    ((address, ping),) = sent(outputs, Kind.PING)
    assert (address, ping.about) == ("west:1", "west")
    outputs = subject.receive(message(Kind.ACK, WEST, seq=ping.seq, about="here"), 0.2)
    ((address, relayed),) = sent(outputs, Kind.RELAYED_ACK)
    assert (address, relayed.seq, relayed.about) == ("east:1", 40, "west")


def test_a_relayed_answer_counts() -> None:
    subject = node()
    outputs = woken(subject, subject.receive(message(Kind.GOSSIP, claims=(WEST,)), 0.0), 1.0)
    ping = sent(outputs, Kind.PING)[-1][1]
    other = WEST if ping.about == "east" else EAST
    subject.receive(message(Kind.RELAYED_ACK, other, seq=ping.seq, about=ping.about), 1.1)
    assert "west" not in subject.view.suspects
    woken(subject, subject.tick(1.2), 2.0)
    assert ping.about not in subject.view.suspects


def test_a_goodbye_to_a_run_that_has_yet_to_hear_of_its_sender_is_heard() -> None:
    subject = node()
    assert events(subject.receive(message(Kind.GOSSIP, WEST.as_state(State.LEFT)), 0.1)) == [
        MemberLeft("west")
    ]
    assert not subject.view.table.living


def test_another_address_and_another_run_are_changes() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP), 0.0)
    moved = Claim("east", "east:2", 11, 2)
    assert events(subject.receive(message(Kind.GOSSIP, moved), 0.1)) == [MemberChanged("east", "east:2")]


def test_a_goodbye_is_said_to_all_of_a_few_and_then_nothing() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP, claims=(WEST,)), 0.0)
    said = sent(subject.leave(1.0), Kind.GOSSIP)
    assert {(address, m.sender.state) for address, m in said} == {
        ("east:1", State.LEFT),
        ("west:1", State.LEFT),
    }
    assert (
        subject.tick(2.0)
        == subject.receive(message(Kind.PING, about="here"), 2.0)
        == subject.leave(3.0)
        == []
    )


def test_a_goodbye_is_reported_as_one() -> None:
    subject = node()
    subject.receive(message(Kind.GOSSIP), 0.0)
    assert events(subject.receive(message(Kind.GOSSIP, EAST.as_state(State.LEFT)), 1.0)) == [
        MemberLeft("east")
    ]


def test_an_earlier_run_is_outbid_and_no_second_node() -> None:
    subject = node()
    outputs = subject.receive(message(Kind.GOSSIP, claims=(here(9, State.ALIVE, instance=5),)), 0.1)
    assert events(outputs)[1:] == [Refuted(10)]
    outputs = subject.receive(message(Kind.GOSSIP, claims=(here(9, State.DEAD, instance=5),)), 0.2)
    assert not any(isinstance(event, NameTaken) for event in events(outputs))


def test_another_living_node_of_this_name_is_told_of_and_not_fought_for_ever() -> None:
    subject = node()
    seen: list[Event] = []
    for incarnation in range(2, 60, 2):
        rival = Claim("here", "rival:1", 5, incarnation)
        seen += events(subject.receive(message(Kind.GOSSIP, claims=(rival,)), 1 + incarnation / 100))
    assert seen.count(NameTaken("rival:1")) == 1
    assert sum(isinstance(event, Refuted) for event in seen) == 2


def test_a_fact_is_told_at_once_and_heard_once() -> None:
    speaker, hearer = node(), SwimNode("east", "east:1", 11, random.Random(2), TUNING)
    speaker.receive(message(Kind.GOSSIP), 0.0)
    outputs = speaker.publish(Lane.STATE, b"capacity", 1.0)
    ((address, gossip),) = sent(outputs, Kind.GOSSIP)
    assert address == "east:1"
    (text,) = [o.text for o in outputs if isinstance(o, SendTo)]
    heard = [e for e in events(hearer.receive(text, 50.0)) if isinstance(e, FactHeard)]
    assert heard == [FactHeard(Lane.STATE, "here", 1, b"capacity", changed=True)]
    assert not [e for e in events(hearer.receive(text, 50.1)) if isinstance(e, FactHeard)]
    assert gossip.facts[0].digest == digest_of(b"capacity")


def test_revisions_go_on_where_the_last_run_ended() -> None:
    subject = node(memory=Memory(3, {Lane.STATE: 41}, ("east:1",)))
    subject.publish(Lane.STATE, b"x", 1.0)
    assert subject.memory() == Memory(4, {Lane.STATE: 42}, ("east:1",))


def test_what_an_earlier_run_said_is_gone_beyond() -> None:
    subject = node()
    old = Fact(Lane.STATE, "here", 70, 0.0, digest_of(b"old"), b"old")
    subject.receive(message(Kind.GOSSIP, facts=(old,)), 0.1)
    subject.publish(Lane.STATE, b"new", 1.0)
    assert subject.memory().revisions == {Lane.STATE: 71}
    subject.receive(
        message(Kind.GOSSIP, facts=(Fact(Lane.STATE, "here", 90, 0.0, digest_of(b"o"), b"o"),)), 2.0
    )
    held = subject.view.facts.get(Lane.STATE, "here")
    assert held is not None
    assert (held.revision, held.payload) == (91, b"new")


def test_what_an_earlier_run_said_stands_until_this_one_speaks() -> None:
    subject = node()
    old = Fact(Lane.CERT, "here", 70, 0.0, digest_of(b"old"), b"old")
    outputs = subject.receive(message(Kind.GOSSIP, facts=(old,)), 0.1)
    assert not any(isinstance(event, FactHeard) for event in events(outputs))
    held = subject.view.facts.get(Lane.CERT, "here")
    assert held is not None
    assert (held.revision, held.payload) == (70, b"old")


def test_the_table_is_bounded_and_the_gone_give_way() -> None:
    subject = node(replace(TUNING, max_members=4))
    crowd = tuple(Claim(f"site-{n}", f"site-{n}:1", n, 1) for n in range(9))
    subject.receive(message(Kind.GOSSIP, claims=crowd), 0.0)
    assert subject.view.size == 4
    assert subject.view.counts["table_full"] == 7
    subject.receive(message(Kind.GOSSIP, claims=(crowd[0].as_state(State.LEFT),)), 1.0)
    outputs = subject.receive(message(Kind.GOSSIP, claims=(crowd[8],)), 1.1)
    assert events(outputs) == [MemberForgotten("site-0"), MemberUp("site-8", "site-8:1")]


def test_the_gone_are_forgotten_in_time_with_what_they_said() -> None:
    subject = node(replace(TUNING, tombstone_ttl_s=30.0))
    said = Fact(Lane.STATE, "east", 1, 0.0, digest_of(b"x"), b"x")
    subject.receive(message(Kind.GOSSIP, facts=(said,)), 0.0)
    outputs = subject.receive(message(Kind.GOSSIP, EAST.as_state(State.LEFT)), 0.1)
    assert list(subject.view.facts)
    outputs = woken(subject, outputs, 60.0)
    assert MemberForgotten("east") in events(outputs)
    assert not list(subject.view.facts)


def test_calls_get_rarer_and_never_stop() -> None:
    subject = SwimNode("here", "here:1", 99, random.Random(1), TUNING)
    outputs = woken(subject, subject.join(["seed:1"], 0.0), 600.0)
    calls = len(sent(outputs, Kind.JOIN))
    assert 12 <= calls <= 12 + 600 / TUNING.reconnect_interval_s * 2
    assert {address for address, _ in sent(outputs, Kind.JOIN)} == {"seed:1"}


@pytest.mark.parametrize(
    "text", [b"", b"\x02abc", b"\x01", bytes(2000)], ids=["nothing", "later", "short", "long"]
)
def test_what_is_malformed_is_counted_and_changes_nothing(text: bytes) -> None:
    subject = node()
    outputs = subject.receive(text, 0.1)
    assert not events(outputs)
    assert sum(subject.view.counts.values()) == 1


strange_claims = st.builds(
    Claim,
    st.sampled_from(["here", "east", "west", "x"]),
    st.sampled_from(["here:1", "a:1"]),
    st.integers(0, 3) | st.just(99),
    st.integers(0, 5) | st.just(2**63 - 1),
    st.sampled_from(State),
)
strange_facts = st.builds(
    Fact,
    st.sampled_from(Lane),
    st.sampled_from(["here", "east", "x"]),
    st.integers(0, 5) | st.just(2**63 - 1),
    st.just(0.0),
    st.just(bytes(8)),
    st.none() | st.binary(max_size=1200),
)
strange = st.builds(
    Message,
    st.sampled_from(Kind),
    st.integers(0, 5),
    st.integers(0, 1),
    strange_claims,
    st.sampled_from(["", "here", "east"]),
    st.sampled_from(["", "a:1"]),
    st.lists(strange_claims, max_size=4).map(tuple),
    st.lists(strange_facts, max_size=3).map(tuple),
)


@settings(deadline=None)
@given(st.lists(st.tuples(strange, st.floats(0, 3), st.booleans()), max_size=15))
def test_whatever_members_say_the_node_goes_on(history: list[tuple[Message, float, bool]]) -> None:
    """Any well-formed messages, by datagram or stream, at any pace: no error, no message over the limit."""
    subject, now = node(), 0.0
    for said, pause_s, by_stream in history:
        now += pause_s
        text = encode(said)
        outputs = subject.merge(text, now) if by_stream else subject.receive(text, now)
        outputs += subject.tick(now)
        assert all(len(o.text) <= MAX_TEXT for o in outputs if isinstance(o, SendTo))
        assert all(o.instant >= 0 for o in outputs if isinstance(o, WakeAt))
        assert subject.view.me.state is State.ALIVE
    assert isinstance(decode_exchange(subject.offer(now)), Message)
