"""One leads; another takes over when the first is silent for the lease's length, and never before."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from grid.kube.lease import Candidacy, Terms
from grid.kube.port import LEASE, KubeFault
from tests.kit.fake_kube import FakeKube

TERMS = Terms(lease_s=3.0, renew_s=2.0, retry_s=0.5)


@dataclass
class Hands:
    """A clock that tests move."""

    at: float = 0.0
    candidates: list[Candidacy] = field(default_factory=list)

    def candidate(self, kube: FakeKube, identity: str) -> Candidacy:
        return Candidacy(
            kube, "grid-system", "grid-operator", identity, lambda: self.at, lambda: self.at, TERMS
        )


async def stand(candidate: Candidacy) -> bool:
    """One look at the lease, as `run` takes it."""
    await candidate._stand()
    return candidate.leads


async def test_the_first_leads_and_keeps_leading() -> None:
    kube, hands = FakeKube(), Hands()
    one, other = hands.candidate(kube, "one"), hands.candidate(kube, "other")
    for _ in range(20):
        assert await stand(one)
        assert not await stand(other)
        hands.at += 0.5


async def test_another_takes_over_after_the_leases_length_and_never_beside() -> None:
    kube, hands = FakeKube(), Hands()
    one, other = hands.candidate(kube, "one"), hands.candidate(kube, "other")
    assert await stand(one)
    taken_at = None
    for _ in range(20):
        hands.at += 0.25
        if await stand(other) and taken_at is None:
            taken_at = hands.at
        assert not (one.leads and other.leads)
    assert taken_at == 3.25, "seen first at 0.25, free 3 s after that"
    lease = await kube.get(LEASE, "grid-operator", "grid-system")
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("other", 2)


async def test_a_leader_that_cannot_renew_steps_down_by_itself() -> None:
    kube, hands = FakeKube(), Hands()
    one = hands.candidate(kube, "one")
    assert await stand(one)
    hands.at = 1.9
    assert one.leads
    hands.at = 2.0
    assert not one.leads


async def test_a_lease_that_is_released_is_taken_at_once() -> None:
    kube, hands = FakeKube(), Hands()
    one, other = hands.candidate(kube, "one"), hands.candidate(kube, "other")
    assert await stand(one)
    assert not await stand(other)
    await one.release()
    assert not one.leads
    assert await stand(other)
    await one.release()
    assert other.leads, "who does not lead releases nothing"


async def test_who_loses_a_race_follows() -> None:
    kube, hands = FakeKube(), Hands()
    one = hands.candidate(kube, "one")
    assert await stand(one)
    hands.at = 1.0
    kube.faults += [KubeFault(409, "Conflict")]
    with pytest.raises(KubeFault):
        await stand(one)
    assert one.leads, "its last renewal still holds"
    kube.faults += [KubeFault(500, "InternalError")]
    await one.release()
    assert not one.leads


async def test_a_lease_taken_by_another_is_not_led_any_more() -> None:
    kube, hands = FakeKube(), Hands()
    one, other = hands.candidate(kube, "one"), hands.candidate(kube, "other")
    assert await stand(one)
    assert not await stand(other)
    hands.at = 3.5
    assert await stand(other)
    assert not await stand(one)
