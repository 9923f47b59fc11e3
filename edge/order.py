"""Says what cannot work in a chain's order, before a port is opened.

Each rule is one small function over the steps; all problems are reported at once. The rules know no filter by
name but through its Traits: who reads and writes which fact, who guards, who ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from edge.chain import Step, Traits

ClientCertMode = Literal["none", "request", "require"]


@dataclass(frozen=True, slots=True)
class Problem:
    """at: the index of the step. why: one sentence that names the filters."""

    at: int
    why: str


class Gap:
    """Stands where a filter could not be built. traits: what its class says; what nobody knows is not held
    against the others."""

    def __init__(self, kind: object = None) -> None:
        traits = getattr(kind, "traits", None)
        self.is_known = isinstance(traits, Traits)
        self.traits: Traits = traits if isinstance(traits, Traits) else Traits()
        self.phase = 0 if kind is None or hasattr(kind, "on_head") else 1


def check_order(steps: Sequence[Step], client_cert_mode: ClientCertMode = "none") -> tuple[Problem, ...]:
    """Every reason why this chain would not do what it says, in step order; empty when it is sound.

    client_cert_mode: the weakest one of the listeners that use the chain.
    """
    problems = [problem for rule in RULES for problem in rule(steps)]
    problems += _certificates(steps, client_cert_mode)
    return tuple(sorted(problems, key=lambda problem: problem.at))


def _reads_what_is_written_later(steps: Sequence[Step]) -> Iterator[Problem]:
    """A fact must be written before it is read: by an earlier step, and not in a later phase."""
    for at, step in enumerate(steps):
        if any(map(_is_unknown, steps[:at])):
            return
        for fact in sorted(step.filter.traits.reads):
            writers = [i for i, other in enumerate(steps) if fact in other.filter.traits.writes]
            if not writers and any(map(_is_unknown, steps)):
                continue
            if not any(i < at for i in writers):
                where = (
                    f"{steps[writers[0]].name} stands after it"
                    if writers
                    else "nothing in this chain gives it"
                )
                yield Problem(at, f"{step.name} needs the {fact}, and {where}")
            elif _phase(step) < min(_phase(steps[i]) for i in writers if i < at):
                yield Problem(
                    at, f"{step.name} runs before the body is read and needs the {fact} from the body"
                )


def _writes_twice(steps: Sequence[Step]) -> Iterator[Problem]:
    """Two steps that always run and write the same fact: the second makes the first meaningless."""
    writer: dict[str, str] = {}
    for at, step in enumerate(steps):
        if step.applies is not None:
            continue
        for fact in sorted(step.filter.traits.writes):
            if fact in writer:
                yield Problem(at, f"{step.name} sets the {fact} that {writer[fact]} has already set")
            writer.setdefault(fact, step.name)


def _follows_an_end(steps: Sequence[Step]) -> Iterator[Problem]:
    for at, step in enumerate(steps[:-1]):
        if step.filter.traits.ends and step.applies is None:
            yield Problem(at, f"{step.name} answers every request; {steps[at + 1].name} after it never runs")


def _security_with_a_condition(steps: Sequence[Step]) -> Iterator[Problem]:
    """A condition on a security filter is a way round it; so is letting requests pass when it fails."""
    for at, step in enumerate(steps):
        if not step.filter.traits.security:
            continue
        if step.applies is not None:
            yield Problem(at, f"{step.name} is a security filter and must not have conditions")
        if step.open_on_error:
            yield Problem(at, f"{step.name} is a security filter and must fail closed")


def _security_after_routing(steps: Sequence[Step]) -> Iterator[Problem]:
    routed = next((step.name for step in steps if "cluster" in step.filter.traits.writes), None)
    seen_router = False
    for at, step in enumerate(steps):
        if seen_router and step.filter.traits.security:
            yield Problem(at, f"{step.name} must stand before {routed}, which chooses where the request goes")
        seen_router = seen_router or "cluster" in step.filter.traits.writes


def _first_is_not_first(steps: Sequence[Step]) -> Iterator[Problem]:
    for at, step in enumerate(steps):
        if at and step.filter.traits.first:
            yield Problem(at, f"{step.name} must be the first filter of its chain")


def _unguarded(steps: Sequence[Step]) -> Iterator[Problem]:
    for at, step in enumerate(steps):
        guard = step.filter.traits.guard
        if guard is None:
            continue
        opening = steps[0]
        if _is_unknown(opening):
            continue
        if opening.name != guard or opening.applies is not None or opening.open_on_error:
            yield Problem(
                at, f"{step.name} needs {guard} as the chain's first filter, unconditional, failing closed"
            )


def _certificates(steps: Sequence[Step], mode: ClientCertMode) -> Iterator[Problem]:
    for at, step in enumerate(steps):
        if step.filter.traits.needs_client_certificate and mode != "require":
            yield Problem(at, f"{step.name} needs listeners with client_cert_mode: require")


def _is_unknown(step: Step) -> bool:
    return isinstance(step.filter, Gap) and not step.filter.is_known


def _phase(step: Step) -> int:
    """0 when it acts in the head phase, 1 when only later."""
    if isinstance(step.filter, Gap):
        return step.filter.phase
    return 0 if hasattr(step.filter, "on_head") else 1


RULES: tuple[Callable[[Sequence[Step]], Iterator[Problem]], ...] = (
    _reads_what_is_written_later,
    _writes_twice,
    _follows_an_end,
    _security_with_a_condition,
    _security_after_routing,
    _first_is_not_first,
    _unguarded,
)
