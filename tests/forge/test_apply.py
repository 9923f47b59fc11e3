"""The walk: order, bounded parallelism, gates, failures that spread, cancelling, times."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import pytest

from forge.apply import Work, apply
from forge.errors import ForgeError, Interrupted, OperationFailed, Unhealthy
from forge.plan.order import order
from forge.plan.ports import Progress
from forge.plan.run import Event, Happening, Outcome
from forge.plan.values import Change, Condition, Desired, Key, Step, Verb
from tests.kit.plans import need, service, svc


class Recording:
    """act and await_gate that note what was called, and do what a test says for one key."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.events: list[Event] = []
        self.on_act: dict[Key, Callable[[], None]] = {}
        self.on_gate: dict[tuple[Key, Condition], Callable[[], None]] = {}
        self.acting = 0
        self.most = 0
        self._lock = threading.Lock()

    def act(self, step: Step, progress: Progress) -> None:
        with self._lock:
            self.calls.append(f"{step.change.verb} {step.change.key.name}")
            self.acting += 1
            self.most = max(self.most, self.acting)
        try:
            self.on_act.get(step.change.key, lambda: None)()
        finally:
            with self._lock:
                self.acting -= 1

    def await_gate(self, key: Key, condition: Condition, progress: Progress) -> None:
        progress("connection refused")
        self.on_gate.get((key, condition), lambda: None)()
        with self._lock:
            self.calls.append(f"{key.name} {condition}")

    @property
    def work(self) -> Work:
        return Work(self.act, self.await_gate, self.events.append, time.monotonic)


def run(
    desired: Iterable[Desired],
    recording: Recording,
    *,
    parallel: int = 8,
    cancel: threading.Event | None = None,
    verb: Verb = Verb.CREATE,
) -> Outcome:
    wanted = {d.key: d for d in desired}
    steps = order([Change(verb, key, "not found") for key in wanted], wanted)
    return apply(steps, wanted, recording.work, parallel=parallel, cancel=cancel or threading.Event())


def test_dependents_wait_for_the_condition_they_asked_for() -> None:
    recording = Recording()
    desired = [
        service("web", needs=(need("api", Condition.HEALTHY),)),
        service("api", needs=(need("job", Condition.COMPLETED),), health=True),
        service("job"),
    ]
    outcome = run(desired, recording)
    assert outcome.is_complete
    calls = recording.calls
    assert calls.index("job completed") < calls.index("create api")
    assert calls.index("api healthy") < calls.index("create web")
    assert "web started" in calls


def test_a_dependent_of_started_does_not_wait_for_healthy() -> None:
    recording = Recording()
    api_healthy, web_made = threading.Event(), threading.Event()
    recording.on_gate[svc("api"), Condition.HEALTHY] = lambda: _wait(web_made)
    recording.on_act[svc("web")] = web_made.set
    outcome = run([service("web", needs=(need("api"),)), service("api", health=True)], recording)
    assert outcome.is_complete
    assert not api_healthy.is_set()


def test_a_failure_fails_what_depends_on_it_and_nothing_else() -> None:
    recording = Recording()
    recording.on_act[svc("db")] = _raise(OperationFailed("FG0302", "no", why="port 5432 is held"))
    desired = [
        service("web", needs=(need("api"),)),
        service("api", needs=(need("db"),)),
        service("db"),
        service("cron"),
    ]
    outcome = run(desired, recording)
    assert set(outcome.failed) == {svc("db")}
    assert outcome.skipped == {
        svc("api"): "needs service/db, which failed",
        svc("web"): "needs service/api, which was not made",
    }
    assert outcome.done == (svc("cron"),)
    assert [e.text for e in recording.events if e.happening is Happening.FAILED] == ["port 5432 is held"]


def test_a_gate_that_is_lost_fails_its_service() -> None:
    recording = Recording()
    recording.on_gate[svc("db"), Condition.HEALTHY] = _raise(Unhealthy("FG0402", "db", why="exited with 1"))
    outcome = run(
        [service("web", needs=(need("db", Condition.HEALTHY),)), service("db", health=True)], recording
    )
    assert set(outcome.failed) == {svc("db")}
    assert set(outcome.skipped) == {svc("web")}
    assert "create web" not in recording.calls


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_actions_at_once_than_asked(parallel: int) -> None:
    recording = Recording()
    everyone = threading.Barrier(parallel, timeout=10)
    desired = [service(f"s{i}") for i in range(3 * parallel)]
    for d in desired:
        recording.on_act[d.key] = lambda: (everyone.wait(), None)[1]
    assert run(desired, recording, parallel=parallel).is_complete
    assert recording.most == parallel


def test_waiting_at_a_gate_takes_no_place() -> None:
    """With one place, three services wait for each other at their gates."""
    recording = Recording()
    everyone = threading.Barrier(3, timeout=10)
    desired = [service(f"s{i}", health=True) for i in range(3)]
    for d in desired:
        recording.on_gate[d.key, Condition.HEALTHY] = lambda: (everyone.wait(), None)[1]
    assert run(desired, recording, parallel=1).is_complete


def test_a_cancelled_run_begins_nothing_more_and_lets_what_runs_end() -> None:
    recording, cancel = Recording(), threading.Event()
    recording.on_act[svc("a")] = cancel.set
    outcome = run([service("a"), service("b", needs=(need("a"),))], recording, cancel=cancel)
    assert outcome.cancelled
    assert recording.calls[0] == "create a"
    assert "create b" not in recording.calls
    assert outcome.skipped[svc("b")] == "the run was stopped"
    assert not outcome.is_complete


def test_a_step_that_is_interrupted_is_stopped_and_has_not_failed() -> None:
    recording = Recording()
    recording.on_gate[svc("a"), Condition.STARTED] = _raise(Interrupted("FG0406", "a", signal_number=2))
    outcome = run([service("a")], recording)
    assert outcome.failed == {}
    assert outcome.skipped == {svc("a"): "the run was stopped"}


def test_removing_goes_on_after_a_failure() -> None:
    recording = Recording()
    recording.on_act[svc("a")] = _raise(OperationFailed("FG0302", "a is stuck"))
    steps = (
        Step(Change(Verb.REMOVE, svc("a"), "down")),
        Step(Change(Verb.REMOVE, svc("b"), "down"), (need("a"),)),
    )
    outcome = apply(steps, {}, recording.work, parallel=4, cancel=threading.Event())
    assert set(outcome.failed) == {svc("a")}
    assert outcome.done == (svc("b"),)


def test_a_wait_waits_without_acting() -> None:
    recording = Recording()
    assert run([service("a", health=True)], recording, verb=Verb.WAIT).is_complete
    assert recording.calls == ["a healthy"]


def test_a_bug_in_a_step_comes_through() -> None:
    recording = Recording()
    recording.on_act[svc("a")] = _raise(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run([service("a"), service("b")], recording)


def test_the_times_tell_the_critical_path() -> None:
    from forge.plan.run import critical_path

    recording = Recording()
    desired = [
        service("web", needs=(need("api"),)),
        service("api", needs=(need("db"),)),
        service("db"),
        service("cron"),
    ]
    outcome = run(desired, recording)
    assert set(outcome.timings) == {d.key for d in desired}
    assert outcome.timings[svc("web")].waited_for == svc("api")
    assert outcome.timings[svc("api")].waited_for == svc("db")
    assert set(critical_path(outcome.timings)) <= set(outcome.timings)


def test_two_hundred_steps_in_a_chain_and_beside_each_other() -> None:
    chain = [service(f"c{i:03}", needs=(need(f"c{i - 1:03}"),) if i else ()) for i in range(100)]
    outcome = run([*chain, *(service(f"s{i}") for i in range(100))], Recording())
    assert len(outcome.done) == 200


def _wait(event: threading.Event) -> None:
    assert event.wait(10)


def _raise(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def test_errors_of_a_step_keep_their_class() -> None:
    recording = Recording()
    recording.on_act[svc("a")] = _raise(OperationFailed("FG0302", "no"))
    assert all(isinstance(e, ForgeError) for e in run([service("a")], recording).failed.values())
