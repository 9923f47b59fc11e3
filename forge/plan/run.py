"""A run as values: what happens to its steps, how long they took, how it ended.

Made by apply, shown by render, summed up here: the critical path is the chain of waits that
decided how long the run took.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from forge.errors import ForgeError
from forge.plan.values import Key, Verb


class Happening(StrEnum):
    """What can happen to a step, in the order in which it can."""

    STARTED = "started"
    PROGRESS = "progress"
    ACTED = "acted"  # its action is done; its gate is not yet passed
    GATE = "gate"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Event:
    """text: how far it is, what it waits for, or why it failed. at: seconds since the run began."""

    at: float
    key: Key
    verb: Verb
    happening: Happening
    text: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds since the run began: when it was started, when its action and its gates ended.
    waited_for: the step whose end let it start."""

    started: float
    acted: float
    ended: float
    waited_for: Key | None = None

    @property
    def took(self) -> float:
        return self.ended - self.started


@dataclass(frozen=True, slots=True)
class Outcome:
    """done, failed, skipped: by key; what was skipped was never begun. cancelled: a signal or the
    run's own time limit stopped it; steps that this cut short are among the skipped."""

    done: tuple[Key, ...]
    failed: Mapping[Key, ForgeError]
    skipped: Mapping[Key, str]
    timings: Mapping[Key, Timing]
    cancelled: bool = False

    @property
    def is_complete(self) -> bool:
        return not (self.failed or self.skipped or self.cancelled)


def critical_path(timings: Mapping[Key, Timing]) -> tuple[Key, ...]:
    """The chain of steps that ended last, first step first. Empty without timings."""
    if not timings:
        return ()
    chain: list[Key] = []
    key: Key | None = max(timings, key=lambda k: timings[k].ended)
    while key is not None and key in timings:
        chain.append(key)
        key = timings[key].waited_for
    return tuple(reversed(chain))
