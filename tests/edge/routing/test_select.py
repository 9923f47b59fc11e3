"""Selection narrows in the documents' order, by Grid's order, and says why."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.routing.decision import Decision, Reason
from edge.routing.select import ANYWHERE, Asked, Policy, Spread, select
from edge.routing.snapshot import Snapshot, index
from grid.contract.overlay import TIER_ORDER, Admission, Candidate, Tier
from tests.kit.routing import KIND, MODEL, candidate, overlay, snapshot

ASKED = Asked(KIND, MODEL)
KEY = bytes(range(32))
EAST = candidate("east", 0)
WEST = candidate("west", 1, tier=Tier.CROSS_REGION)
NEAR = [candidate(site, rank) for rank, site in enumerate(["a", "b", "c"])]
FAR = [candidate(site, rank + 3, tier=Tier.CROSS_REGION) for rank, site in enumerate(["d", "e"])]


def with_(found: Candidate, **changes: object) -> Candidate:
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]


def decide(
    world: list[Candidate],
    policy: Policy = ANYWHERE,
    *,
    key: bytes | None = None,
    bound: str | None = None,
    usable: bool = True,
    **asked: Any,
) -> Decision:
    """A selection over *world*; *asked* is of Asked, for the usual model if it does not say."""
    wanted = Asked(**{"kind": KIND, "name": MODEL, **asked})
    return select(snapshot(*world), wanted, policy, key=key, bound=bound, usable=usable)


def site(decision: Decision) -> str | None:
    return None if decision.candidate is None else decision.candidate.site


EXISTING, NONE = Admission.EXISTING_ONLY, Admission.NONE


@pytest.mark.parametrize(
    ("candidates", "asked", "policy", "expected"),
    [
        pytest.param([EAST, WEST], {}, Policy(), ("east", Reason.RANK, 1), id="Grid's first of the best tier"),
        pytest.param(
            [with_(EAST, rank=1), with_(WEST, rank=0)],
            {},
            Policy(),
            ("west", Reason.RANK, 1),
            id="Candidate order/rank remains authoritative across tiers",
        ),
        pytest.param(
            [with_(EAST, rank=1), with_(WEST, rank=0)],
            {"key": KEY},
            Policy(),
            ("west", Reason.AFFINITY, 1),
            id="a session too goes to the tier Grid ranks first",
        ),
        pytest.param(
            [with_(EAST, admission=NONE), WEST],
            {},
            Policy(),
            ("west", Reason.RANK, 1),
            id="A healthy cross-region provider must win over an unavailable same-region provider",
        ),
        pytest.param(
            [with_(EAST, fresh=False), WEST],
            {},
            Policy(),
            ("west", Reason.RANK, 1),
            id="stale same-region provider loses to fresh cross-region provider",
        ),
        pytest.param(
            [with_(EAST, fresh=False), with_(WEST, fresh=False)],
            {},
            Policy(),
            ("east", Reason.RANK, 1),
            id="where all are stale Grid's order stands",
        ),
        pytest.param(
            [with_(EAST, score=1.0), with_(WEST, score=99.0)],
            {},
            Policy(),
            ("east", Reason.RANK, 1),
            id="a score decides nothing",
        ),
        pytest.param(
            [with_(EAST, admission=EXISTING), WEST],
            {"key": KEY},
            Policy(),
            ("west", Reason.AFFINITY, 1),
            id="existing_only takes no new session",
        ),
        pytest.param(
            [with_(EAST, admission=EXISTING), WEST],
            {"key": KEY, "bound": EAST.stable_id},
            Policy(),
            ("east", Reason.BOUND, 1),
            id="the binding remains authoritative while the candidate is eligible for existing work",
        ),
        pytest.param(
            [with_(EAST, admission=NONE), WEST],
            {"key": KEY, "bound": EAST.stable_id},
            Policy(),
            ("west", Reason.AFFINITY, 1),
            id="A none candidate breaks the binding",
        ),
        pytest.param(
            [WEST],
            {"key": KEY, "bound": EAST.stable_id},
            Policy(),
            ("west", Reason.AFFINITY, 1),
            id="provider loss breaks the binding",
        ),
        pytest.param(
            [EAST, WEST],
            {"key": KEY, "bound": EAST.stable_id},
            Policy(sites=frozenset({"west"})),
            ("west", Reason.AFFINITY, 1),
            id="policy loss breaks the binding",
        ),
        pytest.param(
            [EAST, with_(WEST, fresh=False)],
            {"key": KEY, "bound": WEST.stable_id},
            Policy(),
            ("west", Reason.BOUND, 1),
            id="a stale candidate keeps the sessions it has",
        ),
        pytest.param(
            [EAST, WEST],
            {"key": KEY, "bound": WEST.stable_id},
            Policy(),
            ("west", Reason.BOUND, 1),
            id="Recovery does not automatically pull a rebound session back",
        ),
        pytest.param(
            [EAST, WEST],
            {"key": KEY, "bound": EAST.stable_id, "tried": (EAST.stable_id,)},
            Policy(),
            ("west", Reason.AFFINITY, 1),
            id="a bound session whose candidate failed this request goes on",
        ),
        pytest.param(
            [EAST, WEST],
            {"tried": (EAST.stable_id,)},
            Policy(),
            ("west", Reason.RANK, 1),
            id="failover goes to the next eligible in order",
        ),
        pytest.param(
            [with_(EAST, tier=None), with_(WEST, tier=None)],
            {"key": KEY},
            Policy(spread=Spread.ROUND_ROBIN),
            ("east", Reason.RANK, 1),
            id="older overlays without selectionTier preserve their current ordered behavior",
        ),
        pytest.param(
            [with_(EAST, tier=None), with_(WEST, tier=None)],
            {"key": KEY, "bound": WEST.stable_id},
            Policy(),
            ("east", Reason.RANK, 1),
            id="without tiers affinity is off for bound sessions too",
        ),
        pytest.param(
            NEAR + FAR,
            {},
            Policy(),
            ("a", Reason.RANK, 3),
            id="missing session ID uses ordinary non-affinity selection",
        ),
        pytest.param(
            NEAR + FAR,
            {"turn": 4},
            Policy(spread=Spread.ROUND_ROBIN),
            ("b", Reason.SPREAD, 3),
            id="equals in turns",
        ),
        pytest.param(
            [EAST, WEST],
            {"turn": 1},
            Policy(spread=Spread.ROUND_ROBIN),
            ("east", Reason.RANK, 1),
            id="turns stay in the tier",
        ),
        pytest.param([EAST, WEST], {"allowed": frozenset({"x"})}, Policy(), (None, Reason.FORBIDDEN, 0), id="Authorize tenant-to-model access before routing"),
        pytest.param([EAST], {"name": "absent", "allowed": frozenset({"x"})}, Policy(), (None, Reason.FORBIDDEN, 0), id="what is forbidden is not told to be unknown"),
        pytest.param([EAST], {"name": "absent"}, Policy(), (None, Reason.UNKNOWN, 0), id="Unknown model"),
        pytest.param([EAST], {"kind": "mcp_tool"}, Policy(), (None, Reason.UNKNOWN, 0), id="affinity cannot cross model or tool boundaries: another kind is another capability"),
        pytest.param([with_(EAST, admission=NONE), with_(WEST, admission=EXISTING)], {}, Policy(), (None, Reason.CLOSED, 2), id="No eligible provider: 503, not random fallback"),
        pytest.param([EAST, WEST], {}, Policy(sites=frozenset({"north"})), (None, Reason.NOT_RESIDENT, 2), id="no site is allowed"),
        pytest.param([EAST, WEST], {"tried": (EAST.stable_id, WEST.stable_id)}, Policy(), (None, Reason.EXHAUSTED, 2), id="each candidate failed for this request"),
    ],
)  # fmt: skip
def test_selection(
    candidates: list[Candidate],
    asked: dict[str, Any],
    policy: Policy,
    expected: tuple[str | None, Reason, int],
) -> None:
    decision = decide(candidates, policy, **asked)
    assert (site(decision), decision.reason, decision.considered) == expected


def test_a_capability_without_a_configured_cluster_is_known_and_closed() -> None:
    found = index(overlay([EAST]), frozenset(), 0.0)
    assert select(found, ASKED) == Decision(None, Reason.UNCONFIGURED, 0)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param({}, Reason.EXPIRED, id="requests fail according to policy"),
        pytest.param({"key": KEY, "bound": EAST.stable_id}, Reason.EXPIRED, id="bound ones too"),
        pytest.param({"allowed": frozenset()}, Reason.FORBIDDEN, id="forbidden first"),
    ],
)
def test_an_overlay_that_may_not_serve_serves_nobody(asked: dict[str, Any], reason: Reason) -> None:
    assert decide([EAST], Policy(), usable=False, **asked) == Decision(None, reason, 0)


# Small worlds: some sites of three tiers, each in any state, ranked as Grid ranks by default.
STATES = st.tuples(st.sampled_from(list(Tier)[2:]), st.sampled_from(list(Admission)), st.booleans())


@st.composite
def worlds(draw: st.DrawFn) -> list[Candidate]:
    states = draw(st.lists(STATES, min_size=1, max_size=8))
    states.sort(key=lambda state: TIER_ORDER[state[0]])
    return [
        candidate(f"s{rank}", rank, tier=tier, admission=admission, fresh=fresh)
        for rank, (tier, admission, fresh) in enumerate(states)
    ]


KEYS = st.binary(min_size=32, max_size=32)
SPREADS = st.sampled_from(list(Spread))


@given(worlds(), st.data(), KEYS, SPREADS, st.integers(0, 9))
def test_permutation_of_candidates_changes_nothing(
    world: list[Candidate], data: st.DataObject, key: bytes, spread: Spread, turn: int
) -> None:
    shuffled = data.draw(st.permutations(world))
    bound = data.draw(st.none() | st.sampled_from([found.stable_id for found in world]))
    policy = Policy(spread=spread)
    asked: dict[str, Any]
    for asked in ({"turn": turn, "spread_key": key}, {"key": key, "bound": bound, "turn": turn}):
        assert decide(shuffled, policy, **asked) == decide(world, policy, **asked)


@given(worlds(), KEYS, SPREADS, st.integers(0, 9))
def test_affinity_never_selects_a_provider_from_a_worse_selection_tier(
    world: list[Candidate], key: bytes, spread: Spread, turn: int
) -> None:
    open_now = [found for found in world if found.admission is Admission.NEW_AND_EXISTING]
    open_now = [found for found in open_now if found.fresh] or open_now
    best = min((TIER_ORDER[found.tier] for found in open_now if found.tier), default=None)
    asked: dict[str, Any]
    for asked in ({"key": key}, {"turn": turn, "spread_key": key}):
        chosen = decide(world, Policy(spread=spread), **asked).candidate
        assert (None if chosen is None or chosen.tier is None else TIER_ORDER[chosen.tier]) == best


@given(worlds(), KEYS | st.none())
def test_failing_over_visits_each_open_candidate_once_fresh_ones_first(
    world: list[Candidate], key: bytes | None
) -> None:
    tried: list[Candidate] = []
    while True:
        decision = decide(world, key=key, tried=[found.stable_id for found in tried])
        if decision.candidate is None:
            break
        tried.append(decision.candidate)
    open_now = [found for found in world if found.admission is Admission.NEW_AND_EXISTING]
    assert sorted(found.rank for found in tried) == [found.rank for found in open_now]
    assert [found.fresh for found in tried] == sorted((found.fresh for found in open_now), reverse=True)
    if key is None:
        assert tried == sorted(open_now, key=lambda found: (not found.fresh, found.rank))


@given(worlds(), KEYS)
def test_a_binding_outlives_everything_but_its_own_candidate(world: list[Candidate], key: bytes) -> None:
    for bound in world:
        decision = decide(world, key=key, bound=bound.stable_id)
        assert (decision.candidate is bound and decision.reason is Reason.BOUND) == (
            bound.admission is not Admission.NONE
        )


@given(worlds(), st.sets(st.sampled_from([f"s{n}" for n in range(8)])))
def test_a_gateway_s_own_sites_only_narrow(world: list[Candidate], sites: set[str]) -> None:
    within = select(snapshot(*world), ASKED, Policy(sites=frozenset(sites)))
    assert within.candidate is None or within.candidate.site in sites
    assert within.candidate == select(snapshot(*[c for c in world if c.site in sites]), ASKED).candidate


def test_the_two_ways_of_spreading_reach_every_equal_and_nobody_else() -> None:
    found = snapshot(*NEAR, *FAR)
    turns = [site(select(found, dataclasses.replace(ASKED, turn=n), Policy(spread=Spread.ROUND_ROBIN))) for n in range(6)]  # fmt: skip
    assert turns == ["a", "b", "c", "a", "b", "c"]
    hashed = {_by_key(found, n) for n in range(64)}
    assert hashed == {"a", "b", "c"}
    assert _by_key(found, 7) == _by_key(found, 7)


def _by_key(found: Snapshot, n: int) -> str | None:
    asked = dataclasses.replace(ASKED, spread_key=b"request-%d" % n)
    return site(select(found, asked, Policy(spread=Spread.RENDEZVOUS)))
