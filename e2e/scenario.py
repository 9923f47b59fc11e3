"""A scenario as a value: an intent, and steps that each do something and then show that it came true.

    Scenario(name, intent, steps)      intent: the one obligation it proves
    Step(title, act, shows)            title: the specification's own words
    a show                             looks once and gives Evidence, or raises NotYet
    eventually(show, within_s)         the same, looked at until it holds; never a sleep for its own sake

The transcript keeps every piece of evidence with the instant at which it was seen.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from e2e.lab import Lab

_POLL_S = 0.02


class NotYet(Exception):
    """What should be seen is not to be seen now. The text says what is seen instead."""


class Broken(Exception):
    """A precondition does not hold: the step proves nothing, and so nothing after it does."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """claim: what was to be shown. seen: what was seen, in one line. facts: for programs; no secret is
    among them. within_s: how long it took to come true, from the start of its step's looking."""

    claim: str
    seen: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    within_s: float = 0.0


Show = Callable[["Run"], Evidence]
Act = Callable[["Run"], None]


def _nothing(_: Run) -> None:
    """A step that only looks."""


@dataclass(frozen=True, slots=True)
class Step:
    """title: as the specification words it. act: what is done. shows: what must then be seen, in order."""

    title: str
    shows: tuple[Show, ...] = ()
    act: Act = _nothing


@dataclass(frozen=True, slots=True)
class Scenario:
    """intent: one sentence, the obligation. undo: puts the lab back, whatever happened. needs: says why
    the scenario cannot hold on this lab, None where it can."""

    name: str
    intent: str
    steps: tuple[Step, ...]
    undo: Act = _nothing
    needs: Callable[[Lab], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Done:
    """How a step went. at, ended_at: Unix seconds. fault: what failed, empty where nothing did."""

    title: str
    at: float
    ended_at: float
    evidence: tuple[Evidence, ...]
    fault: str = ""

    @property
    def ok(self) -> bool:
        return not self.fault


@dataclass(frozen=True, slots=True)
class Played:
    """How a scenario went. skipped: why it could not hold here, empty where it was played."""

    scenario: Scenario
    steps: tuple[Done, ...]
    marks: tuple[Mark, ...] = ()
    skipped: str = ""

    @property
    def ok(self) -> bool:
        return all(step.ok for step in self.steps)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at an instant (Unix seconds): a fault, a recovery, a revision. lane: which
    line of the timeline it belongs to."""

    at: float
    lane: str
    text: str


@dataclass
class Run:
    """One playing of one scenario: the lab, what steps remember for each other, what happened when."""

    lab: Lab
    memory: dict[str, Any] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)

    def mark(self, lane: str, text: str, at: float | None = None) -> None:
        self.marks.append(Mark(time.time() if at is None else at, lane, text))

    def recall(self, name: str) -> Any:
        """What an earlier step remembered. Raises Broken where it did not."""
        if name not in self.memory:
            raise Broken(f"no earlier step remembered {name!r}")
        return self.memory[name]


def eventually(show: Show, within_s: float) -> Show:
    """The show, looked at until it holds; fails with what was seen last."""

    def look(run: Run) -> Evidence:
        begun = time.monotonic()
        while True:
            try:
                found = show(run)
            except NotYet as seen:
                if time.monotonic() - begun >= within_s:
                    raise NotYet(f"{seen} (for {within_s:g} s)") from seen
            else:
                took = time.monotonic() - begun
                return Evidence(found.claim, found.seen, found.facts, took)
            if run.cancel.wait(_POLL_S):
                raise Broken("the run was stopped")

    return look


def play(scenario: Scenario, run: Run, tell: Callable[[Step, Done | None], None]) -> Played:
    """Plays the steps in order until one fails; undoes what was done, always. tell: before a step with
    None, after it with how it went."""
    reason = scenario.needs(run.lab)
    if reason:
        return Played(scenario, (), skipped=reason)
    done: list[Done] = []
    try:
        for step in scenario.steps:
            tell(step, None)
            done.append(_play(step, run))
            tell(step, done[-1])
            if not done[-1].ok:
                break
    finally:
        undone = _play(Step("Put the lab back", act=scenario.undo), run)
    if not undone.ok:
        done.append(undone)
    return Played(scenario, tuple(done), tuple(run.marks))


def _play(step: Step, run: Run) -> Done:
    at, fault = time.time(), ""
    evidence: list[Evidence] = []
    try:
        step.act(run)
        evidence.extend(show(run) for show in step.shows)
    except (NotYet, Broken) as seen:
        fault = str(seen)
    except Exception as error:  # noqa: BLE001 - a bug or a lab that fell over: the report shows it
        fault = "".join(traceback.format_exception_only(error)).strip()
    return Done(step.title, at, time.time(), tuple(evidence), fault)
