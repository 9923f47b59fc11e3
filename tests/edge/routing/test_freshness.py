"""An overlay's age is judged by policy: warned of, taken out of traffic, and only by choice refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.routing.freshness import Age, AgePolicy, Freshness, HardExpiry, judge
from tests.kit.routing import snapshot

LAB = AgePolicy(degraded_after_s=10, not_ready_after_s=30)
STRICT = AgePolicy(degraded_after_s=10, not_ready_after_s=30, hard_expiry=HardExpiry.REJECT)
OLDER = AgePolicy(None, None, expires_after_s=60, hard_expiry=HardExpiry.REJECT)


@pytest.mark.parametrize(
    ("policy", "valid_until", "now", "expected", "ready"),
    [
        pytest.param(LAB, 1060, 1000, Freshness(Age.OK, 0, serves=True), True, id="just accepted"),
        pytest.param(LAB, 1060, 1009.5, Freshness(Age.OK, 9.5, serves=True), True, id="below the warning threshold"),
        pytest.param(LAB, 1060, 1010, Freshness(Age.DEGRADED, 10, serves=True), True, id="Edge reports degraded when update age crosses the warning threshold"),
        pytest.param(LAB, 1060, 1030, Freshness(Age.NOT_READY, 30, serves=True), False, id="Edge becomes globally unready after the configured readiness threshold"),
        pytest.param(LAB, 1060, 1060, Freshness(Age.EXPIRED, 60, serves=True), False, id="past valid_until: unready, and served"),
        pytest.param(STRICT, 1060, 1030, Freshness(Age.NOT_READY, 30, serves=True), False, id="unready is not expired"),
        pytest.param(STRICT, 1060, 1060, Freshness(Age.EXPIRED, 60, serves=False), False, id="A stricter hard-expiry policy may reject new requests"),
        pytest.param(STRICT, 1005, 1005, Freshness(Age.EXPIRED, 5, serves=False), False, id="valid_until before any age"),
        pytest.param(STRICT, None, 9000, Freshness(Age.NOT_READY, 8000, serves=True), False, id="an older format does not expire by itself"),
        pytest.param(OLDER, None, 1059, Freshness(Age.OK, 59, serves=True), True, id="the gateway's own limit, before"),
        pytest.param(OLDER, None, 1060, Freshness(Age.EXPIRED, 60, serves=False), False, id="the gateway's own limit, after"),
        pytest.param(LAB, 1060, 400, Freshness(Age.OK, 0, serves=True), True, id="a clock set back makes nothing older"),
    ],
)  # fmt: skip
def test_age(
    policy: AgePolicy, valid_until: float | None, now: float, expected: Freshness, ready: bool
) -> None:
    found = judge(snapshot(accepted_at=1000, valid_until=valid_until), policy, now)
    assert found == expected
    assert found.is_ready is ready


def test_before_the_first_overlay_nothing_is_ready_or_served() -> None:
    found = judge(None, LAB, 1000)
    assert found == Freshness(Age.ABSENT, None, serves=False)
    assert not found.is_ready


@given(st.floats(0, 200), st.floats(0, 200), st.sampled_from([LAB, STRICT, OLDER]))
def test_with_time_it_only_gets_worse(one: float, other: float, policy: AgePolicy) -> None:
    order = list(Age)
    loaded = snapshot(accepted_at=0, valid_until=100)
    sooner, later = (judge(loaded, policy, now) for now in sorted((one, other)))
    assert order.index(sooner.state) <= order.index(later.state)
    assert sooner.serves or not later.serves
