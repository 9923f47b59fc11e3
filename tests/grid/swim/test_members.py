"""Claims are totally ordered, so that any order of hearing gives one table; the gone give way when it is full."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.swim.codec import encode_claim
from grid.swim.members import Claim, State, Table

claims = st.builds(
    Claim,
    st.just("east"),
    st.sampled_from(["a:1", "b:1"]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(State),
)


def claim(site: str = "east", incarnation: int = 1, state: State = State.ALIVE, instance: int = 1) -> Claim:
    return Claim(site, f"{site}:1", instance, incarnation, state)


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        pytest.param(
            claim(state=State.SUSPECT), claim(), id="a suspicion beats life of the same incarnation"
        ),
        pytest.param(claim(incarnation=2), claim(state=State.SUSPECT), id="a refutation beats the suspicion"),
        pytest.param(claim(state=State.DEAD), claim(state=State.SUSPECT), id="a death beats the suspicion"),
        pytest.param(claim(incarnation=2), claim(state=State.DEAD), id="who comes back beats its death"),
        pytest.param(claim(state=State.LEFT), claim(state=State.DEAD), id="a goodbye is more than a death"),
        pytest.param(
            claim(incarnation=2), claim(state=State.DEAD), id="an old death does not touch the new life"
        ),
    ],
)
def test_which_claim_stands(stronger: Claim, weaker: Claim) -> None:
    assert stronger.beats(weaker)
    assert not weaker.beats(stronger)


@given(claims, claims, claims)
def test_beating_is_a_total_order(a: Claim, b: Claim, c: Claim) -> None:
    assert a.beats(b) + b.beats(a) == (a != b)
    assert not (a.beats(b) and b.beats(c)) or a.beats(c)


@given(st.lists(claims, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_any_order_of_hearing_gives_one_table(heard: list[Claim], chance: random.Random) -> None:
    def table_of(order: list[Claim]) -> tuple[Claim, int, int]:
        table = Table(8)
        for one in order:
            held = table.get(one.site)
            if held is None or one.beats(held.claim):
                table.put(one, encode_claim(one), 0.0)
        return next(iter(table)).claim, table.digest, len(table.living)

    again = heard * 2
    chance.shuffle(again)
    assert table_of(heard) == table_of(again)


def test_tombstones_are_kept_oldest_first() -> None:
    table = Table(8)
    for number, site in enumerate(["a", "b", "c"]):
        table.put(claim(site), encode_claim(claim(site)), 0.0)
        gone = claim(site, state=State.DEAD)
        table.put(gone, encode_claim(gone), float(number))
    assert table.oldest_gone() == "a"
    assert table.oldest_gone(before=-1.0) is None
    table.forget("a")
    back = claim("b", 2)
    table.put(back, encode_claim(back), 5.0)
    assert (table.oldest_gone(), [m.site for m in table.living], [m.site for m in table.dead()]) == (
        "c",
        ["b"],
        ["c"],
    )


def test_the_digest_is_of_the_living() -> None:
    one, other = Table(8), Table(8)
    for site in ("a", "b"):
        one.put(claim(site), encode_claim(claim(site)), 0.0)
    for site in ("b", "c", "a"):
        other.put(claim(site), encode_claim(claim(site)), 9.0)
    assert one.digest != other.digest
    gone = claim("c", state=State.LEFT)
    other.put(gone, encode_claim(gone), 10.0)
    assert one.digest == other.digest
