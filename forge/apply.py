"""Walks the steps of a plan with bounded parallelism; decides nothing.

    a step runs when all it waits for holds     at most `parallel` actions at once; waiting at a
    a failure fails what depends on it          gate takes no place, so slow starters do not queue
    everything else goes on                     a cancelled run begins nothing more

What a step does to the machine, and to the record, is the caller's `act`; when a service is ready
is the caller's `await_gate`. Both run in threads and report to the one thread that walks, so the
walk itself needs no lock.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forge.errors import ForgeError, Interrupted
from forge.plan.ports import Cancel, Progress
from forge.plan.run import Event, Happening, Outcome, Timing
from forge.plan.text import need_text
from forge.plan.values import Condition, Desired, Key, Need, Step, Verb

_EVERY_CONDITION = frozenset(Condition)


@dataclass(frozen=True, slots=True)
class Work:
    """What the walk calls.

    act: does a step; raises ForgeError. await_gate: blocks until the key's condition holds, saying
    what it sees; raises ForgeError when it cannot hold any more, Interrupted when cancelled.
    now: seconds, monotonic.
    """

    act: Callable[[Step, Progress], None]
    await_gate: Callable[[Key, Condition, Progress], None]
    tell: Callable[[Event], None]
    now: Callable[[], float]


def apply(
    steps: tuple[Step, ...], desired: Mapping[Key, Desired], work: Work, *, parallel: int, cancel: Cancel
) -> Outcome:
    """Runs the steps as far as they can be run, and says how each ended.

    A step's ForgeErrors are in the outcome. Anything else that one raises is a bug and comes
    through once nothing runs any more.
    """
    walk = _Walk(steps, desired, work, parallel)
    while True:
        if not (cancel.is_set() or walk.bug):
            walk.begin_ready()
        if walk.is_idle:
            break
        walk.take_next()
    if walk.bug is not None:
        raise walk.bug
    return walk.outcome(cancelled=cancel.is_set())


@dataclass(frozen=True, slots=True)
class _Signal:
    """From a worker to the walk. condition: the gate that ended, None for the action itself."""

    key: Key
    condition: Condition | None
    error: BaseException | None


class _Walk:
    def __init__(
        self, steps: tuple[Step, ...], desired: Mapping[Key, Desired], work: Work, parallel: int
    ) -> None:
        self._steps = {step.change.key: step for step in steps}
        self._gates = {step.change.key: _gates(step, steps, desired) for step in steps}
        self._work = work
        self._parallel = parallel
        self._signals: queue.Queue[_Signal] = queue.Queue()
        self._epoch = work.now()
        self._acting: set[Key] = set()
        self._open: dict[Key, int] = {}
        self._reached: dict[Key, frozenset[Condition]] = {}
        self._started: dict[Key, float] = {}
        self._acted: dict[Key, float] = {}
        self._ended: dict[Key, float] = {}
        self._waited_for: dict[Key, Key] = {}
        self._failed: dict[Key, ForgeError] = {}
        self._skipped: dict[Key, str] = {}
        self.bug: BaseException | None = None

    @property
    def is_idle(self) -> bool:
        return not self._acting and not any(self._open.values())

    def begin_ready(self) -> None:
        """Begins what can be begun and skips what cannot any more, until nothing changes."""
        skipped = -1
        while skipped != len(self._skipped):
            skipped = len(self._skipped)
            for key, step in self._steps.items():
                if key not in self._started and key not in self._skipped:
                    self._consider(step)

    def _consider(self, step: Step) -> None:
        lost = next((n for n in step.after if n.key in self._failed or n.key in self._skipped), None)
        if lost is not None and step.change.verb is not Verb.REMOVE:
            fate = "failed" if lost.key in self._failed else "was not made"
            self._skip(step, Happening.SKIPPED, f"needs {need_text(lost)}, which {fate}")
        elif len(self._acting) < self._parallel and all(map(self._holds, step.after)):
            self._begin(step)

    def _holds(self, need: Need) -> bool:
        if need.key not in self._steps:
            return True
        if self._steps[need.key].change.verb is Verb.REMOVE:
            return need.key in self._ended
        return need.condition in self._reached.get(need.key, ())

    def _begin(self, step: Step) -> None:
        key = step.change.key
        self._started[key] = self._elapsed()
        before = [need.key for need in step.after if need.key in self._ended]
        if before:
            self._waited_for[key] = max(before, key=lambda k: self._ended[k])
        self._acting.add(key)
        self._tell(step, Happening.STARTED)
        if step.change.verb is Verb.WAIT:
            self._signals.put(_Signal(key, None, None))
        else:
            self._spawn(key, None, lambda: self._work.act(step, self._progress(step, Happening.PROGRESS)))

    def take_next(self) -> None:
        """Takes in one worker's report: an action that ended opens its gates, a gate that was
        passed its dependents."""
        signal = self._signals.get()
        step, now = self._steps[signal.key], self._elapsed()
        if signal.condition is None:
            self._acting.discard(signal.key)
            self._acted[signal.key] = now
        else:
            self._open[signal.key] -= 1
        if signal.error is not None:
            self._take_error(step, signal.error, now)
            return
        if signal.condition is None:
            self._open_gates(step)
        else:
            self._reached[signal.key] = self._reached.get(signal.key, frozenset()) | {signal.condition}
        if (
            not self._open.get(signal.key)
            and signal.key not in self._failed
            and signal.key not in self._skipped
        ):
            self._ended[signal.key] = now
            self._tell(step, Happening.DONE)

    def _take_error(self, step: Step, error: BaseException, now: float) -> None:
        key = step.change.key
        if isinstance(error, Interrupted):
            self._skip(step, Happening.STOPPED, "the run was stopped")
        elif not isinstance(error, ForgeError):
            self.bug = self.bug or error
        elif key not in self._failed:
            self._failed[key] = error
            self._tell(step, Happening.FAILED, error.why or error.what)
        self._ended.setdefault(key, now)

    def _open_gates(self, step: Step) -> None:
        key, gates = step.change.key, self._gates[step.change.key]
        if not gates:
            self._reached[key] = _EVERY_CONDITION
            return
        self._tell(step, Happening.ACTED)
        self._open[key] = len(gates)
        for condition in sorted(gates):
            self._spawn(key, condition, lambda c=condition: self._await(step, c))  # type: ignore[misc]

    def _await(self, step: Step, condition: Condition) -> None:
        self._work.await_gate(step.change.key, condition, self._progress(step, Happening.GATE))

    def _spawn(self, key: Key, condition: Condition | None, call: Callable[[], None]) -> None:
        def run() -> None:
            error: BaseException | None = None
            try:
                call()
            except BaseException as raised:  # noqa: BLE001 - the walk raises what is no ForgeError
                error = raised
            self._signals.put(_Signal(key, condition, error))

        threading.Thread(target=run, name=f"{key} {condition or 'action'}", daemon=True).start()

    def _skip(self, step: Step, happening: Happening, why: str) -> None:
        if step.change.key not in self._skipped:
            self._skipped[step.change.key] = why
            self._tell(step, happening, why)

    def _progress(self, step: Step, happening: Happening) -> Progress:
        return lambda text: self._tell(step, happening, text)

    def _tell(self, step: Step, happening: Happening, text: str = "") -> None:
        self._work.tell(Event(self._elapsed(), step.change.key, step.change.verb, happening, text))

    def _elapsed(self) -> float:
        return self._work.now() - self._epoch

    def outcome(self, *, cancelled: bool) -> Outcome:
        for key in self._steps:
            if key not in self._ended:
                self._skipped.setdefault(key, "the run was stopped")
        return Outcome(
            done=tuple(k for k in self._ended if k not in self._failed and k not in self._skipped),
            failed=dict(self._failed),
            skipped=dict(self._skipped),
            timings={
                key: Timing(self._started[key], self._acted.get(key, end), end, self._waited_for.get(key))
                for key, end in self._ended.items()
            },
            cancelled=cancelled,
        )


def _gates(step: Step, steps: tuple[Step, ...], desired: Mapping[Key, Desired]) -> frozenset[Condition]:
    """What is waited for once the step has acted: what its dependents ask, and what `up` itself
    asks of a service. Nothing for a removal, a network, an image."""
    key = step.change.key
    wanted = desired.get(key)
    if wanted is None or step.change.verb is Verb.REMOVE or key.kind != "service":
        return frozenset()
    asked = {need.condition for other in steps for need in other.after if need.key == key}
    return frozenset(asked | {Condition.HEALTHY if wanted.gated else Condition.STARTED})
