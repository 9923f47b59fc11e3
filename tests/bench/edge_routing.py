"""What a routing decision costs: CPU per request over 1,024 candidates in 50 models.

python -m tests.bench.edge_routing

Each row is one way through, over the models in turn: `selection` is key and choice, the others are from the
header's value to the held binding. Medians of rounds of process CPU time, so that waiting for a core does not
count. Goal: 15 µs for a selection with affinity. `one model` puts all candidates under one name, which no grid
does: the price of the worst document.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator

from edge.routing.affinity import Secret, read_session, session_key
from edge.routing.bindings import Bindings, Limits
from edge.routing.creations import Rate
from edge.routing.place import Rules, Session, place
from edge.routing.select import Asked, Policy, Spread, select
from edge.routing.snapshot import Snapshot, index
from grid.contract.overlay import MAX_CANDIDATES, Candidate, Tier
from tests.kit.routing import KIND, Everywhere, candidate, overlay

MODELS = 50
CALLS = 1_000
ROUNDS = 15
GOAL_US = 15.0
TIERS = (Tier.SAME_SITE, Tier.SAME_ZONE, Tier.SAME_REGION, Tier.CROSS_REGION)
RULES = Rules(secrets=(Secret(bytes(range(32))),), limits=Limits(rate=Rate(per_s=1e9, burst=10**9)))
ROTATING = Rules(secrets=(*RULES.secrets, Secret(b"previous")), limits=RULES.limits)
TURNS = Rules(Policy(spread=Spread.ROUND_ROBIN))


def world(models: int, tiers: tuple[Tier, ...]) -> list[Candidate]:
    """All candidates a document may have, shared among *models*; each model's among *tiers*, nearest first."""
    share = -(-MAX_CANDIDATES // models)
    return [
        candidate(f"site-{n % share}", n % share, name=f"model-{n // share}", tier=tiers[n % share * len(tiers) // share])
        for n in range(MAX_CANDIDATES)
    ]  # fmt: skip


def requests(snapshot: Snapshot, sessions: Iterator[bytes] | None) -> Callable[[Rules, Bindings], None]:
    names = itertools.cycle([name for _, name in snapshot.routes])
    allowed = frozenset(name for _, name in snapshot.routes)

    def one(rules: Rules, bindings: Bindings) -> None:
        value = next(sessions) if sessions else None
        read = read_session(value, repeated=False)
        session = None if read is None else Session("tenant-42", read)
        if (
            place(
                snapshot, Asked(KIND, next(names), allowed), session, rules, bindings, 0.0
            ).decision.candidate
            is None
        ):
            raise AssertionError("nobody was open")

    return one


def selections(snapshot: Snapshot) -> Callable[[Rules, Bindings], None]:
    """Key and selection alone: what every edge computes for a session nobody has placed yet."""
    names = itertools.cycle([name for _, name in snapshot.routes])
    sessions = fresh_sessions()

    def one(rules: Rules, bindings: Bindings) -> None:
        name = next(names)
        key = session_key(rules.secrets[0], "tenant-42", next(sessions), KIND, name)
        if select(snapshot, Asked(KIND, name), key=key).candidate is None:
            raise AssertionError("nobody was open")

    return one


def median_us(one: Callable[[Rules, Bindings], None], rules: Rules) -> float:
    """CPU microseconds a call. The bindings are as a gateway of 20,000 sessions has them."""
    rounds = []
    bindings = Bindings()
    for _ in range(ROUNDS):
        if len(bindings) >= rules.limits.max_entries - CALLS:
            bindings = Bindings()
        started = time.process_time()
        for _ in range(CALLS):
            one(rules, bindings)
        rounds.append((time.process_time() - started) / CALLS * 1e6)
    return statistics.median(rounds)


def fresh_sessions() -> Iterator[bytes]:
    return (b"conversation-%d" % n for n in itertools.count())


def known_sessions() -> Iterator[bytes]:
    """Each model is asked by the same 97 sessions again and again."""
    return itertools.cycle([b"conversation-%d" % n for n in range(97)])


def main() -> None:
    everywhere = Everywhere()
    usual = index(overlay(world(MODELS, TIERS)), everywhere, 0.0)
    flat = index(overlay(world(MODELS, TIERS[:1])), everywhere, 0.0)
    single = index(overlay(world(1, TIERS[:1])), everywhere, 0.0)
    rows = [
        ("held session", requests(usual, known_sessions()), RULES),
        ("held session, two secrets", requests(usual, known_sessions()), ROTATING),
        ("selection with affinity, 4 tiers", selections(usual), RULES),
        ("new session, placed and held, 4 tiers", requests(usual, fresh_sessions()), RULES),
        ("new session, placed and held, 21 equals", requests(flat, fresh_sessions()), RULES),
        ("no session, by rank", requests(usual, None), RULES),
        ("no session, in turns", requests(usual, None), TURNS),
        ("new session, one model, 1,024 equals", requests(single, fresh_sessions()), RULES),
    ]  # fmt: skip
    for name, one, rules in rows:
        found = median_us(one, rules)
        print(f"{name:45} {found:8.1f} us{'' if found <= GOAL_US else '   over the goal'}")
    document = overlay(world(MODELS, TIERS))
    started = time.process_time()
    for _ in range(20):
        index(document, everywhere, 0.0)
    print(f"{'index of a whole document':45} {(time.process_time() - started) / 20 * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
