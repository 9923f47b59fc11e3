"""A scenario stops at the first step that fails, tells what was seen, and always puts the lab back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.lab import Lab
from e2e.scenario import Broken, Done, Evidence, NotYet, Run, Scenario, Step, eventually, play

LAB = Lab(Path("forge.yaml"))


def shown(run: Run) -> Evidence:
    return Evidence("it holds", "yes")


def told(scenario: Scenario) -> tuple[list[str], list[Done], Run]:
    """Titles as they were begun, and how each ended."""
    begun: list[str] = []
    ended: list[Done] = []
    run = Run(LAB)

    def tell(step: Step, done: Done | None) -> None:
        if done is None:
            begun.append(step.title)
        else:
            ended.append(done)

    play(scenario, run, tell)
    return begun, ended, run


def read_a_key(run: Run) -> None:
    run.lab.api_key()


def fails(run: Run) -> Evidence:
    raise NotYet("something else is seen")


def test_steps_are_played_in_order_with_their_evidence() -> None:
    begun, ended, _ = told(Scenario("s", "i", (Step("a", (shown,)), Step("b", (shown, shown)))))
    assert begun == ["a", "b"]
    assert [len(done.evidence) for done in ended] == [1, 2]
    assert all(done.ok for done in ended)


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        pytest.param(Step("b", (shown, fails)), "something else is seen", id="a show does not hold"),
        pytest.param(Step("b", act=lambda run: run.recall("x")), "no earlier step remembered 'x'", id="a broken precondition"),
        pytest.param(Step("b", act=read_a_key), "FileNotFoundError", id="the lab fell over"),
    ],
)  # fmt: skip
def test_the_first_failure_ends_it_and_the_lab_is_put_back(step: Step, fault: str) -> None:
    undone: list[Run] = []
    begun, ended, run = told(Scenario("s", "i", (Step("a"), step, Step("c")), undo=undone.append))
    assert begun == ["a", "b"]
    assert fault in ended[-1].fault
    assert undone == [run]


def test_what_was_shown_before_a_failure_is_kept() -> None:
    _, ended, _ = told(Scenario("s", "i", (Step("a", (shown, fails)),)))
    assert [e.claim for e in ended[0].evidence] == ["it holds"]


def test_a_lab_that_cannot_be_put_back_is_a_failure() -> None:
    def undo(run: Run) -> None:
        raise NotYet("it does not come back")

    played = play(Scenario("s", "i", (Step("a"),), undo=undo), Run(LAB), lambda *_: None)
    assert not played.ok
    assert played.steps[-1].fault == "it does not come back"


def test_what_cannot_hold_here_is_skipped_by_name() -> None:
    played = play(Scenario("s", "i", (Step("a"),), needs=lambda _: "no engine"), Run(LAB), lambda *_: None)
    assert (played.skipped, played.steps) == ("no engine", ())


def test_eventually_looks_until_it_holds() -> None:
    looks: Iterator[NotYet | Evidence] = iter([NotYet("no"), NotYet("not yet"), Evidence("it holds", "now")])

    def show(run: Run) -> Evidence:
        seen = next(looks)
        if isinstance(seen, NotYet):
            raise seen
        return seen

    assert eventually(show, 30)(Run(LAB)).seen == "now"


def test_eventually_says_what_was_seen_last() -> None:
    with pytest.raises(NotYet, match=r"something else is seen \(for 0 s\)"):
        eventually(fails, 0)(Run(LAB))


def test_eventually_ends_with_the_run() -> None:
    run = Run(LAB)
    run.cancel.set()
    with pytest.raises(Broken, match="stopped"):
        eventually(fails, 30)(run)
