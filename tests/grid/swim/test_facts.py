"""The highest revision of each origin and lane is held with its age; large ones are announced and fetched."""

from __future__ import annotations

import pytest

from grid.swim.codec import MAX_COUNT, Unspeakable
from grid.swim.facts import FETCH_TRIES, Facts, digest_of, next_revision
from grid.swim.messages import Fact, Lane
from grid.swim.tuning import MAX_INLINE, MAX_PAYLOAD

LARGE = bytes(MAX_INLINE + 1)


def fact(revision: int, payload: bytes | None = b"x", age_s: float = 0.0, origin: str = "east") -> Fact:
    return Fact(Lane.STATE, origin, revision, age_s, digest_of(payload or LARGE), payload)


def test_only_a_higher_revision_is_news() -> None:
    facts = Facts(9)
    assert facts.hear(fact(2), "a:1", 0.0)
    assert facts.hear(fact(2), "b:1", 1.0) is None
    assert facts.hear(fact(1, b"y"), "a:1", 0.0) is None
    held = facts.hear(fact(3, b"z"), "a:1", 0.0)
    assert held is not None
    assert (held.revision, held.payload, facts.revisions("east")) == (3, b"z", {Lane.STATE: 3})


def test_of_two_facts_under_one_revision_the_same_stands_everywhere() -> None:
    one, other = Facts(9), Facts(9)
    for facts, order in ((one, b"xy"), (other, b"yx")):
        for byte in order:
            facts.hear(fact(2, bytes([byte])), "a:1", 0.0)
    assert [held.payload for held in one] == [held.payload for held in other]
    assert one.digest == other.digest


def test_lanes_and_origins_do_not_touch_each_other() -> None:
    facts = Facts(9)
    facts.hear(fact(5), "a:1", 0.0)
    assert facts.hear(Fact(Lane.CERT, "east", 1, 0.0, digest_of(b"c"), b"c"), "a:1", 0.0)
    assert facts.hear(fact(1, origin="west"), "a:1", 0.0)
    assert len(list(facts)) == 3


def test_a_fact_is_as_old_as_all_who_held_it_held_it() -> None:
    facts = Facts(9)
    held = facts.hear(fact(1, age_s=4.0), "a:1", 100.0)
    assert held is not None
    assert held.said_at == 96.0


def test_what_is_announced_is_wanted_from_who_announced_it_until_it_is_held() -> None:
    facts = Facts(9)
    assert facts.hear(fact(1, None), "a:1", 0.0) is None
    assert facts.due_wants(0.0, 5.0, {}) == ["a:1"]
    assert facts.due_wants(1.0, 5.0, {}) == []
    assert facts.due_wants(5.0, 5.0, {}) == ["a:1"]
    assert facts.hear(fact(1, LARGE), "b:1", 6.0)
    assert not facts.wants


def test_wanting_ends() -> None:
    facts = Facts(9)
    facts.hear(fact(1, None), "a:1", 0.0)
    asked = [facts.due_wants(float(t), 1.0, {}) for t in range(20)]
    assert sum(map(len, asked)) == FETCH_TRIES
    assert not facts.wants


def test_a_refresh_of_large_bytes_that_are_held_needs_no_fetch() -> None:
    facts = Facts(9)
    facts.hear(fact(1, LARGE), "a:1", 0.0)
    held = facts.hear(fact(2, None), "a:1", 9.0)
    assert held is not None
    assert (held.revision, held.payload, held.said_at) == (2, LARGE, 9.0)
    assert not facts.wants


def test_large_ones_are_announced_by_datagram_and_whole_by_stream() -> None:
    held = Facts(9).say(Lane.CERT, "east", 1, LARGE, 0.0)
    assert len(held.spoken(1.0, whole=False)) < 60
    assert len(held.spoken(1.0, whole=True)) > MAX_INLINE


def test_the_digest_is_of_what_is_held_whatever_the_way_to_it() -> None:
    one, other = Facts(9), Facts(9)
    one.hear(fact(1), "a:1", 0.0)
    one.hear(fact(3), "a:1", 0.0)
    other.hear(fact(3, age_s=2.0), "b:1", 5.0)
    assert one.digest == other.digest != 0
    other.forget("east")
    assert other.digest == 0


def test_the_store_is_bounded() -> None:
    facts = Facts(2)
    heard = [facts.hear(fact(1, origin=f"site-{n}"), "a:1", 0.0) for n in range(4)]
    assert [held is not None for held in heard] == [True, True, False, False]
    facts.hear(fact(1, None, origin="x"), "a:1", 0.0)
    with pytest.raises(Unspeakable):
        facts.say(Lane.STATE, "east", 1, bytes(MAX_PAYLOAD + 1), 0.0)


def test_strangers_are_those_who_are_no_members_and_long_silent() -> None:
    facts = Facts(9)
    facts.hear(fact(1), "a:1", 0.0)
    facts.hear(fact(1, origin="west"), "a:1", 50.0)
    assert facts.strangers({"north": None}, 10.0) == ["east"]
    assert facts.strangers({"east": None}, 10.0) == []


def test_revisions_end_where_the_wire_does() -> None:
    assert (next_revision(0), next_revision(MAX_COUNT)) == (1, MAX_COUNT)
