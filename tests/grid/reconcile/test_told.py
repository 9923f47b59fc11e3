"""What a site tells is heard as it was told, older by its way; any other bytes are refused."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.overlay import Credential
from grid.reconcile.told import MAX_RECORDS, ToldRejected, hear, tell
from grid.reconcile.world import Capacity, Drain
from grid.scoring.health import Phase
from grid.scoring.signals import Category, Signals
from tests.kit.worlds import NOW, capacity

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
SHARES = st.none() | st.integers(0, 100).map(lambda percent: percent / 100)
CAPACITIES = st.builds(
    capacity,
    provider=NAMES,
    cluster=NAMES,
    models=st.lists(NAMES, max_size=3).map(tuple),
    category=st.sampled_from(Category),
    phase=st.sampled_from(Phase),
    drain=st.sampled_from(Drain),
    access=st.dictionaries(NAMES, NAMES, max_size=2).map(lambda labels: tuple(sorted(labels.items()))),
    measured=st.just(True),
    reading=st.integers(1, 2**40),
    signals=st.builds(Signals, SHARES, SHARES, SHARES, SHARES, SHARES),
)


def heard(*told: Capacity, age_s: float = 0.0) -> tuple[Capacity, ...]:
    return hear(tell(told, NOW), "production", "provider-east", age_s, NOW)


@given(st.lists(CAPACITIES, max_size=4, unique_by=lambda each: each.provider))
def test_what_is_told_is_heard(told: list[Capacity]) -> None:
    assert heard(*told) == tuple(sorted(told, key=lambda each: each.provider))


def test_it_is_older_by_its_way_and_by_the_scrape() -> None:
    (found,) = heard(capacity(at=NOW - 4, age_s=1.0), age_s=2.5)
    assert (found.age_s, found.at) == (7.5, NOW)


def test_what_was_never_measured_is_as_old_as_the_message() -> None:
    quiet = capacity(measured=False, reading=None, at=0.0, fresh_for_s=math.inf)
    (found,) = heard(quiet, age_s=3.0)
    assert (found.age_s, found.fresh_for_s) == (3.0, 30.0)


def test_a_credential_is_never_told() -> None:
    secret = capacity(credential=Credential("bearer_token", "ns", "s3cret-name", "key"))
    assert b"s3cret-name" not in tell([secret], NOW)
    assert heard(secret)[0].credential is None


def test_the_same_is_told_in_the_same_bytes_and_a_wiggle_is_not_news() -> None:
    one, other = capacity(provider="a"), capacity(provider="b")
    assert tell([one, other], NOW) == tell([other, one], NOW)
    wiggled = dataclasses.replace(one, signals=Signals(queue=0.1001, kv_cache=0.0999))
    assert tell([wiggled], NOW) == tell([one], NOW)


def test_no_more_is_told_than_may_be_heard() -> None:
    many = [capacity(provider=f"p{number:05}") for number in range(MAX_RECORDS + 5)]
    assert len(heard(*many)) == MAX_RECORDS


def record(**changes: Any) -> list[Any]:
    """A record as its list of values, with some changed by their place."""
    fields = msgspec.msgpack.decode(tell([capacity()], NOW))[0]
    for place, value in changes.items():
        fields[int(place[1:])] = value
    return [fields]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xc1", id="no message"),
        pytest.param(msgspec.msgpack.encode({}), id="no list"),
        pytest.param(msgspec.msgpack.encode(record() * 2), id="a provider twice"),
        pytest.param(msgspec.msgpack.encode(record(_0="")), id="a provider without a name"),
        pytest.param(msgspec.msgpack.encode(record(_1="a\n")), id="a control character"),
        pytest.param(msgspec.msgpack.encode(record(_2=["m" * 300])), id="a long model"),
        pytest.param(msgspec.msgpack.encode(record(_2=["m"] * 300)), id="too many models"),
        pytest.param(msgspec.msgpack.encode(record(_4="Happy")), id="an unknown phase"),
        pytest.param(msgspec.msgpack.encode(record(_6=[["team", "a\x00"]])), id="a bad label"),
        pytest.param(msgspec.msgpack.encode(record(_9=-1.0)), id="a negative queue"),
        pytest.param(msgspec.msgpack.encode(record(_9=math.nan)), id="a queue that is no number"),
        pytest.param(msgspec.msgpack.encode(record(_14=math.inf)), id="an endless age"),
        pytest.param(msgspec.msgpack.encode(record(_15=0.0)), id="no freshness at all"),
        pytest.param(msgspec.msgpack.encode([[]] * (MAX_RECORDS + 1)), id="too many records"),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ToldRejected):
        hear(data, "production", "provider-east", 0.0, NOW)


def test_a_later_version_may_say_more() -> None:
    longer = record()
    longer[0].append("more")
    assert hear(msgspec.msgpack.encode(longer), "production", "provider-east", 0.0, NOW) == heard(capacity())


@given(st.binary(max_size=64))
def test_any_bytes_are_capacities_or_refused(data: bytes) -> None:
    try:
        hear(data, "production", "provider-east", 0.0, NOW)
    except ToldRejected:
        return
