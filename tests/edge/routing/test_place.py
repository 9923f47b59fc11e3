"""Sessions stick, move only when they must, and come back to nobody; tenants and secrets stay apart."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.routing.affinity import Secret
from edge.routing.bindings import Limits, Outcome
from edge.routing.creations import Rate
from edge.routing.decision import Reason
from edge.routing.place import Rules
from grid.contract.overlay import Admission, Candidate, Tier
from tests.kit.routing import MODEL, SECRET, Edge, candidate, snapshot

NEAR = [candidate(site, rank) for rank, site in enumerate(["near-a", "near-b", "near-c"])]
FAR = [candidate(site, rank + 3, tier=Tier.CROSS_REGION) for rank, site in enumerate(["far-a", "far-b"])]
WORLD = snapshot(*NEAR, *FAR)
CORPUS = [b"conversation-%d" % n for n in range(200)]
OTHER_SECRET = Secret(b"another secret of the fleet")


def without(*sites: str, admission: Admission | None = None) -> list[Candidate]:
    """The world with some sites gone, or in another state."""
    if admission is None:
        return [found for found in NEAR + FAR if found.site not in sites]
    return [
        dataclasses.replace(found, admission=admission) if found.site in sites else found
        for found in NEAR + FAR
    ]


def placed(edge: Edge, world: list[Candidate]) -> dict[bytes, str | None]:
    found = snapshot(*world)
    return {session: edge.site(found, session) for session in CORPUS}


def test_equal_affinity_inputs_select_the_same_provider_within_the_best_tier() -> None:
    one, other = Edge(), Edge()
    for session in CORPUS:
        chosen = one.site(WORLD, session)
        assert chosen == one.site(WORLD, session) == other.site(WORLD, session)


def test_a_fixed_corpus_of_session_ids_reaches_every_equivalent_provider_and_never_crosses_tiers() -> None:
    assert set(placed(Edge(), NEAR + FAR).values()) == {"near-a", "near-b", "near-c"}


@pytest.mark.parametrize(
    "failed",
    [
        pytest.param(without("near-b"), id="absent"),
        pytest.param(without("near-b", admission=Admission.NONE), id="none"),
    ],
)
@pytest.mark.parametrize("keeps", [True, False], ids=["with its bindings", "by hashing alone"])
def test_provider_failure_deterministically_remaps_exactly_its_sessions(
    failed: list[Candidate], keeps: bool
) -> None:
    edge = Edge()
    before = placed(edge, NEAR + FAR)
    after = placed(edge if keeps else Edge(), failed)
    moved = {session for session in CORPUS if before[session] != after[session]}
    assert moved == {session for session in CORPUS if before[session] == "near-b"}
    assert {after[session] for session in moved} == {"near-a", "near-c"}
    assert after == placed(Edge(), failed)


def test_recovery_pulls_none_back() -> None:
    edge = Edge()
    placed(edge, NEAR + FAR)
    moved = placed(edge, without("near-b"))
    assert placed(edge, NEAR + FAR) == moved
    assert edge.site(WORLD, b"conversation-4711") == Edge().site(WORLD, b"conversation-4711")


def test_a_better_tier_that_recovers_pulls_none_back() -> None:
    edge = Edge()
    only_far = placed(edge, FAR)
    assert placed(edge, NEAR + FAR) == only_far


def test_existing_only_keeps_its_sessions_and_takes_no_new_ones() -> None:
    edge = Edge()
    before = placed(edge, NEAR + FAR)
    draining = without("near-a", "near-b", admission=Admission.EXISTING_ONLY)
    assert placed(edge, draining) == before
    assert set(placed(Edge(), draining).values()) == {"near-c"}


STATES = st.sampled_from([*Admission, None])


@given(st.lists(st.lists(STATES, min_size=5, max_size=5), min_size=1, max_size=4))
def test_a_session_moves_only_when_its_candidate_closes(history: list[list[Admission | None]]) -> None:
    edge, at = Edge(), dict[bytes, str | None]()
    for states in history:
        world = [
            dataclasses.replace(found, admission=state)
            for found, state in zip(NEAR + FAR, states, strict=True)
            if state is not None
        ]
        honoured = {found.site for found in world if found.admission is not Admission.NONE}
        for session in CORPUS[:12]:
            now_at = edge.site(snapshot(*world), session)
            held = at.get(session)
            if held in honoured:
                assert now_at == held
            elif now_at is not None:
                at[session] = now_at


@given(st.permutations(NEAR + FAR))
def test_permutation_of_candidates_changes_nothing(shuffled: list[Candidate]) -> None:
    found = snapshot(*shuffled)
    edge, other = Edge(), Edge()
    for session in CORPUS[:20]:
        assert edge.ask(found, session) == other.ask(WORLD, session)


def test_a_binding_is_a_tenant_s_and_a_model_s() -> None:
    both = snapshot(*NEAR, *[candidate(found.site, found.rank, name="other") for found in NEAR])
    edge = Edge()
    edge.ask(both)
    assert edge.ask(both).outcome is Outcome.REUSED
    assert edge.ask(both, tenant="tenant-43").outcome is Outcome.CREATED
    assert edge.ask(both, name="other").outcome is Outcome.CREATED
    assert edge.ask(both).outcome is Outcome.REUSED
    assert len(edge.bindings) == 3


@pytest.mark.parametrize(
    ("session", "tenant"),
    [
        pytest.param(None, "tenant-42", id="missing session ID uses ordinary non-affinity selection"),
        pytest.param(b"conversation-7", None, id="authenticated tenant context absent"),
        pytest.param(None, None, id="neither"),
    ],
)
def test_without_session_or_tenant_there_is_no_affinity(session: bytes | None, tenant: str | None) -> None:
    edge = Edge()
    found = edge.ask(WORLD, session, tenant=tenant)
    assert (found.decision.reason, found.outcome, found.key) == (Reason.RANK, Outcome.NO_SESSION, None)
    assert len(edge.bindings) == 0


def test_without_a_secret_affinity_is_off() -> None:
    found = Edge(Rules()).ask(WORLD)
    assert (found.decision.reason, found.outcome, found.key) == (Reason.RANK, Outcome.NO_SESSION, None)


def test_overlays_without_tiers_keep_ordered_selection_with_affinity_off() -> None:
    older = snapshot(*[dataclasses.replace(found, tier=None) for found in NEAR])
    edge = Edge()
    assert {edge.site(older, session) for session in CORPUS} == {"near-a"}
    assert len(edge.bindings) == 0


def test_refused_requests_bind_nothing() -> None:
    edge = Edge()
    found = edge.ask(WORLD, name="absent")
    assert (found.decision.reason, found.outcome) == (Reason.UNKNOWN, Outcome.NO_SESSION)
    assert len(edge.bindings) == 0


def test_a_bound_session_that_fails_over_before_connect_rebinds() -> None:
    edge = Edge()
    first = edge.ask(WORLD).decision.candidate
    assert first is not None
    second = edge.ask(WORLD, tried=(first.stable_id,))
    assert second.outcome is Outcome.REBOUND
    assert second.decision.candidate is not None
    assert second.decision.candidate.tier is Tier.SAME_REGION
    assert edge.ask(WORLD).decision.candidate == second.decision.candidate != first


def test_failing_over_ends_when_nobody_is_left() -> None:
    edge, tried = Edge(), tuple[str, ...]()
    tiers = []
    for _ in range(5):
        chosen = edge.ask(WORLD, tried=tried).decision.candidate
        assert chosen is not None
        tiers.append(chosen.tier)
        tried += (chosen.stable_id,)
    assert tiers == [Tier.SAME_REGION] * 3 + [Tier.CROSS_REGION] * 2
    assert edge.ask(WORLD, tried=tried).decision.reason is Reason.EXHAUSTED


def test_a_session_beyond_the_bounds_is_routed_the_same_and_not_held() -> None:
    tight = Limits(max_entries=1, rate=Rate(burst=1))
    edge = Edge(Rules(secrets=(SECRET,), limits=tight))
    assert edge.ask(WORLD, CORPUS[0]).outcome is Outcome.CREATED
    unbound = edge.ask(WORLD, CORPUS[1])
    assert unbound.outcome is Outcome.FULL
    assert unbound.decision == Edge().ask(WORLD, CORPUS[1]).decision


class TestRotation:
    """secrets: the current one first, the previous one while both are known."""

    def rotated(self, edge: Edge) -> None:
        edge.rules = dataclasses.replace(edge.rules, secrets=(OTHER_SECRET, SECRET))

    def test_bindings_made_under_the_previous_secret_hold(self) -> None:
        edge = Edge()
        before = placed(edge, NEAR + FAR)
        self.rotated(edge)
        assert placed(edge, NEAR + FAR) == before

    def test_sessions_used_during_the_rotation_outlive_the_previous_secret(self) -> None:
        edge = Edge()
        before = placed(edge, NEAR + FAR)
        self.rotated(edge)
        placed(edge, NEAR + FAR)
        edge.rules = dataclasses.replace(edge.rules, secrets=(OTHER_SECRET,))
        assert placed(edge, NEAR + FAR) == before
        assert len(edge.bindings) == len(CORPUS)

    def test_new_sessions_are_placed_under_the_current_secret(self) -> None:
        edge = Edge()
        self.rotated(edge)
        assert placed(edge, NEAR + FAR) == placed(Edge(Rules(secrets=(OTHER_SECRET,))), NEAR + FAR)

    def test_another_secret_places_otherwise(self) -> None:
        assert placed(Edge(), NEAR) != placed(Edge(Rules(secrets=(OTHER_SECRET,))), NEAR)


def test_raw_tenant_and_session_identifiers_are_in_nothing_that_is_kept_or_said() -> None:
    edge = Edge()
    found = edge.ask(WORLD, b"conversation-secret", tenant="tenant-secret")
    text = repr(found) + repr(edge.bindings) + repr(edge.rules)
    assert MODEL in text
    assert "conversation-secret" not in text
    assert "tenant-secret" not in text
