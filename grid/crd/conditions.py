"""Conditions: what a resource is, and since when. An unchanged one keeps its time: nothing is rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grid.contract.instants import write_instant
from grid.crd.base import Condition

# What a status may hold of one message; a list of names is cut there.
MAX_MESSAGE = 1024


@dataclass(frozen=True, slots=True)
class Fact:
    """One condition as it is now. holds: None is not known. reason: a word in CamelCase."""

    type: str
    holds: bool | None
    reason: str
    message: str = ""


_STATUS = {True: "True", False: "False", None: "Unknown"}


def conditions(
    facts: Iterable[Fact], before: Iterable[Condition], generation: int, now: float
) -> list[dict[str, object]]:
    """The facts as conditions, in their order. Those of *before* that no fact names are dropped."""
    known = {condition.type: condition for condition in before}
    return [_condition(fact, known.get(fact.type), generation, now) for fact in facts]


def hold(facts: Sequence[Fact], before: Sequence[Condition], generation: int) -> bool:
    """Whether *before* says all of this already, in this order and no more."""
    return len(facts) == len(before) and all(
        condition.type == fact.type
        and condition.status == _STATUS[fact.holds]
        and condition.reason == fact.reason
        and condition.message == fact.message[:MAX_MESSAGE]
        and condition.observed_generation == generation
        for fact, condition in zip(facts, before, strict=True)
    )


def _condition(fact: Fact, before: Condition | None, generation: int, now: float) -> dict[str, object]:
    status = _STATUS[fact.holds]
    same = before is not None and before.status == status
    return {
        "type": fact.type,
        "status": status,
        "reason": fact.reason,
        "message": fact.message[:MAX_MESSAGE],
        "observedGeneration": generation,
        "lastTransitionTime": before.last_transition_time if before and same else write_instant(int(now)),
    }
