"""What is remembered of a snapshot is what would be decided anew, through overlays, failures and time."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from edge.chain import Reply
from edge.filters.grid_route.filter import GridRoute
from edge.filters.grid_route.onward import Known
from edge.overlay import heard
from tests.edge.filters.grid_route.test_filter import REFUSED, Lab
from tests.kit.overlays import candidate

AGAIN, FAILS = ("ask", None, "m1", 0), ("ask", None, "m1", 1)
SITES = ("near-a", "near-b", "far")
ADMISSIONS = ("new_and_existing", "existing_only", "none")

asks = st.tuples(
    st.just("ask"), st.sampled_from([None, "s-1", "s-2", "s-3"]), st.sampled_from(["m1", "m2", "m3"]), st.integers(0, 2)
)  # fmt: skip
overlays = st.tuples(
    st.just("overlay"), st.lists(st.sampled_from(ADMISSIONS), min_size=6, max_size=6), st.permutations(range(3))
)  # fmt: skip
answers = st.tuples(st.just("answer"), st.sampled_from(SITES))
waits = st.tuples(st.just("wait"), st.sampled_from([0.05, 0.9, 2.0, 40.0]))


class Side:
    """One of two gateways that live through the same."""

    def __init__(self, folder: Path, spread: str, *, forgets: bool) -> None:
        self.lab, self.forgets, self.revision = Lab(folder), forgets, 42
        self.route: GridRoute = self.lab.filter(spread=spread, affinity=self.affinity)

    @property
    def affinity(self) -> dict[str, object]:
        return {"secret_file": str(self.lab.secret), "ttl_secs": 30}

    def live(self, event: tuple[object, ...]) -> object:
        if self.forgets:
            self.route.routing._known = Known()
        match event:
            case "wait", float(seconds):
                self.lab.bench.clock.at += seconds
            case "answer", str(site):
                exchange = self.lab.bench.exchange()
                exchange.cluster = f"gateway-{site}"
                self.route.on_reply(exchange, Reply(200, []))
            case "overlay", list(admissions), list(order):
                self.revision += 1
                world = [
                    candidate(site, name=f"m{model + 1}", rank=order[n], admission_state=admissions[3 * model + n],
                              selection_tier="cross_region" if site == "far" else "same_region")
                    for model in range(2) for n, site in enumerate(SITES)
                ]  # fmt: skip
                self.lab.write(world, revision=self.revision)
                file = self.route.file
                assert file is not None
                heard(self.lab.bench.metrics, file, file.look(self.lab.bench.clock.wall()))
            case "ask", session, str(model), int(failures):
                return self._ask(session if isinstance(session, str) else None, model, failures)
            case _:
                raise AssertionError(event)
        return None

    def _ask(self, session: str | None, model: str, failures: int) -> object:
        exchange, refusal = self.lab.ask(self.route, session, model)
        seen = []
        for _ in range(failures + 1):
            record = "" if exchange.record is None else exchange.record()
            seen.append((exchange.cluster, exchange.candidate, exchange.decision, exchange.session, record,
                         exchange.trusts_unsent, exchange.credential, sorted(exchange.request.fields)))  # fmt: skip
            if len(seen) <= failures and exchange.next_upstream is not None:
                exchange.next_upstream(REFUSED)
        return refusal, seen

    def counted(self) -> bytes:
        return b"\n".join(
            line
            for line in self.lab.bench.metrics.metrics.scrape().splitlines()
            if line.startswith((b"praxis_route_", b"praxis_affinity_"))
        )


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["deterministic", "round_robin", "rendezvous"]),
    st.lists(st.one_of(asks, asks, asks, overlays, waits, answers), min_size=10, max_size=60),
)
@example("deterministic", [AGAIN, FAILS, AGAIN, AGAIN])
@example("deterministic", [FAILS, AGAIN, ("answer", "near-a"), AGAIN])
def test_a_gateway_that_remembers_decides_as_one_that_forgets(
    spread: str, events: list[tuple[object, ...]]
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        remembers, forgets = (
            Side(Path(one), spread, forgets=False),
            Side(Path(other), spread, forgets=True),
        )
        for event in (("overlay", ["new_and_existing"] * 6, [0, 1, 2]), *events):
            assert remembers.live(event) == forgets.live(event)
        assert remembers.counted() == forgets.counted()


def test_what_was_remembered_goes_with_its_snapshot(tmp_path: Path) -> None:
    side = Side(tmp_path, "deterministic", forgets=False)
    side.live(("overlay", ["new_and_existing"] * 6, [0, 1, 2]))
    side.live(("ask", None, "m1", 0))
    before = side.route.routing._known.snapshot
    assert before is side.route.view.snapshot
    side.live(("overlay", ["new_and_existing"] * 6, [2, 1, 0]))
    assert side.lab.ask(side.route, None, "m1")[0].cluster == "gateway-far"
    assert side.route.routing._known.snapshot is side.route.view.snapshot is not before
