"""What a run's steps do: the kinds' verbs between two entries of the journal, and the gates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from forge import catalog
from forge.app.recorder import Recorder
from forge.errors import ForgeError, Interrupted, OperationFailed, Unhealthy
from forge.plan.facts import Facts
from forge.plan.faults import KIND as FAULT
from forge.plan.faults import Fault
from forge.plan.gate import Judgement, Look, Standing, judge
from forge.plan.kind import Lab, Made, Site
from forge.plan.lab_ports import ObjectRef
from forge.plan.lab_resources import StepResource
from forge.plan.ports import Cancel, Host, ProbeResult, Progress
from forge.plan.resources import HealthCheck, ServiceResource
from forge.plan.values import Change, Condition, Desired, Key, Observed, Phase, Step, Verb

T = TypeVar("T")

LOG_LINES = 20
"""Last lines of a service that are shown with its failure: enough for a traceback's end."""

_FIRST_POLL_S = 0.02
_SLOWEST_POLL_S = 0.2
"""A gate looks often at first, since most programs start in tens of milliseconds, and five times a
second at least, so that an exit is seen within a second whatever a probe takes."""


class StepCancel:
    """The run's cancel with a step's own time limit: set when either is."""

    def __init__(self, cancel: Cancel, deadline: float | None) -> None:
        self._cancel = cancel
        self._deadline = deadline

    @property
    def is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def is_set(self) -> bool:
        return self._cancel.is_set() or self.is_late

    def wait(self, timeout: float | None = None) -> bool:
        if self._deadline is not None:
            left = max(0.0, self._deadline - time.monotonic())
            timeout = left if timeout is None else min(timeout, left)
        return self._cancel.wait(timeout) or self.is_late


@dataclass(frozen=True, slots=True)
class Limits:
    """timeout_s: of one step's action, and of waiting at one gate. retries: how
    often an action is tried again that failed for a reason that may pass."""

    timeout_s: float = 600.0
    retries: int = 2


@dataclass(frozen=True, slots=True)
class Tools:
    """What an actor works with. settle: a thing whose values are known only now, with them; raises
    ForgeError where they still are not."""

    host: Host
    lab: Lab
    settle: Callable[[Desired], Desired] = lambda desired: desired
    facts: Callable[[], Facts] = Facts


class Actor:
    """Does steps and waits at gates, for one run. Methods are called from several threads."""

    def __init__(
        self,
        tools: Tools,
        recorder: Recorder,
        desired: Mapping[Key, Desired],
        observed: Mapping[Key, Observed],
        cancel: Cancel,
        limits: Limits = Limits(),
    ) -> None:
        self._host = tools.host
        self._tools = tools
        self._recorder = recorder
        self._desired = dict(desired)
        self._observed = observed
        self._cancel = cancel
        self._limits = limits

    def act(self, step: Step, progress: Progress) -> None:
        """Does one step. Raises ForgeError; Interrupted when the run was cancelled meanwhile."""
        key = step.change.key
        limit_s = max(self._limits.timeout_s, _own_limit_s(self._desired.get(key)))
        cancel = StepCancel(self._cancel, time.monotonic() + limit_s)
        try:
            if step.change.verb is Verb.REMOVE:
                self._remove(key, progress, cancel)
            else:
                self._make(step, progress, cancel)
        except ForgeError as error:
            if self._cancel.is_set() and not isinstance(error, OperationFailed):
                raise _interrupted(key) from error
            if cancel.is_late:
                raise _late(key, limit_s, error) from error
            raise

    def _remove(self, key: Key, progress: Progress, cancel: Cancel) -> None:
        self._recorder.removing(key)
        site = self._made_before(key, self._site(progress, cancel))
        catalog.BY_NAME[key.kind].remove(self._observed[key], site)
        self._recorder.removed(key)

    def _restore(self, key: Key, progress: Progress, cancel: Cancel) -> None:
        """Ends a workload's fault."""
        from forge.kinds import fault as faults

        for fault in (f for f in self._recorder.state.faults if f.key == key):
            ended = partial(faults.restore, fault, self._site(progress, cancel))
            if self._try(ended, progress, cancel) is not None:
                self._recorder.left(self._as_it_is(fault))
            self._recorder.restored(fault)

    def _as_it_is(self, fault: Fault) -> Mapping[ObjectRef, ObjectRef]:
        """The workload as it was recorded -> as it is, now that it has its replicas again."""
        records = self._recorder.state.resources.values()
        refs = {ref for record in records for ref in record.objects if ref.uid == fault.uid}
        return self._tools.lab.kube(fault.target.cluster).observe(refs)

    def _make(self, step: Step, progress: Progress, cancel: Cancel) -> None:
        if step.change.key.kind == FAULT:
            self._restore(step.change.key, progress, cancel)
            return
        desired = self._desired[step.change.key]
        if desired.resource is None or step.change.verb is Verb.UPDATE or desired.follows:
            desired = self._desired[step.change.key] = self._tools.settle(desired)
        if step.change.verb is Verb.UPDATE and self._is_as_it_should(desired):
            progress("unchanged")
            return
        site = self._made_before(desired.key, self._site(progress, cancel))
        self._recorder.creating(desired)
        change = _in_full(step.change, desired, self._observed.get(desired.key))
        made = self._try(lambda: self._apply(change, desired, site), progress, cancel)
        self._recorder.created(desired, made)

    def _made_before(self, key: Key, site: Site) -> Site:
        """The site with what the record knows of the thing. A file that another step writes as well is
        that one's."""
        records = self._recorder.state.resources
        record = records.get(key)
        if key.cluster is not None:
            known = self._recorder.releases(key.cluster)
            site = replace(site, known=known, intend=partial(self._recorder.intends, key))
        if record is None:
            return site
        others = {r.name for k, r in records.items() if k.kind == "step" and k != key}
        wrote = record.name if key.kind == "step" and record.name not in others else ""
        return replace(site, previous=record.objects, wrote=wrote, installed=record.releases)

    def _is_as_it_should(self, desired: Desired) -> bool:
        """Whether what stands there is what is wanted, now that all its values are known."""
        found = self._observed.get(desired.key)
        if found is None or catalog.looks(desired) or found.phase not in _STANDING:
            return False
        return found.fingerprint == desired.fingerprint

    def _apply(self, change: Change, desired: Desired, site: Site) -> Made:
        kind = catalog.BY_NAME[desired.key.kind]
        found = self._observed.get(desired.key)
        made = kind.apply(change, desired, found, site)
        return made if isinstance(made, Made) else Made(made)

    def _try(self, call: Callable[[], T], progress: Progress, cancel: Cancel) -> T:
        for attempt in range(self._limits.retries):
            try:
                return call()
            except OperationFailed as error:
                if not error.may_pass or cancel.is_set():
                    raise
                progress(f"{error.why or error.what}; trying again")
                cancel.wait(0.5 * 2**attempt)
        return call()

    def _site(self, progress: Progress, cancel: Cancel) -> Site:
        owner = self._recorder.state.owner
        return Site(self._host, owner, progress, cancel, self._tools.lab, self._tools.facts)

    def await_gate(self, key: Key, condition: Condition, progress: Progress) -> None:
        """Blocks until the service has reached condition. Raises Unhealthy FG0402 with its last log
        lines when it cannot any more, Interrupted when the run is cancelled."""
        desired = self._desired[key]
        resource = desired.resource
        if not isinstance(resource, ServiceResource):
            return
        judgement = self._wait(key, resource, condition, progress)
        if judgement.standing is Standing.LOST:
            raise self._unhealthy(key, resource, judgement)
        if condition is Condition.HEALTHY or not desired.gated:
            self._recorder.ready(key)

    def _wait(
        self, key: Key, resource: ServiceResource, condition: Condition, progress: Progress
    ) -> Judgement:
        begun = time.monotonic()
        watch = _Watch(self._host, key, resource, begun)
        poll, told = _FIRST_POLL_S, ""
        while True:
            judgement = watch.look(condition)
            if judgement.standing is not Standing.WAITING:
                return judgement
            if judgement.detail != told:
                told = judgement.detail
                progress(told)
            if self._cancel.wait(poll):
                raise _interrupted(key)
            if time.monotonic() - begun > self._limits.timeout_s:
                detail = f"not ready within {self._limits.timeout_s:g} s (--timeout): {told}"
                return Judgement(Standing.LOST, detail)
            poll = min(poll * 1.5, _SLOWEST_POLL_S)

    def _unhealthy(self, key: Key, resource: ServiceResource, judgement: Judgement) -> Unhealthy:
        return Unhealthy(
            "FG0402",
            f"{key} did not come up",
            why=judgement.detail,
            hint=f"see all it said with: praxis-forge service logs {key.name}",
            changed=True,
            detail=last_lines(self._host, key, resource),
        )


_MARGIN_S = 60.0
"""Beside what a step of a stack gives itself: for rendering, applying and connecting."""


def _own_limit_s(desired: Desired | None) -> float:
    """How long a step of a stack says it may take, all its tries together; 0 where it says nothing."""
    resource = desired.resource if desired is not None else None
    timeout = resource.step.timeout if isinstance(resource, StepResource) else None
    if timeout is None or not isinstance(resource, StepResource):
        return 0.0
    from forge.spec.shape import seconds

    return seconds(timeout) * (1 + resource.step.retries) + _MARGIN_S


_STANDING = (Phase.PRESENT, Phase.RUNNING, Phase.COMPLETED)


def _in_full(change: Change, desired: Desired, found: Observed | None) -> Change:
    """An update of what cannot be mended in place is its replacement."""
    if change.verb is not Verb.UPDATE or desired.in_place:
        return change
    verb = Verb.CREATE if found is None else Verb.REPLACE
    return replace(change, verb=verb)


class _Watch:
    """One service at a gate: looks at it, probes it as often as its check says, counts failures.

    Probes run beside the looking, one at a time: an exit is seen at once however long one takes, and
    a probe that passed counts only if the service still runs after it.
    """

    def __init__(self, host: Host, key: Key, resource: ServiceResource, begun: float) -> None:
        self._host = host
        self._key = key
        self._resource = resource
        self._begun = begun
        self._failures = 0
        self._restarts: int | None = None
        self._next_counted: float | None = None
        self._probing: _Probing | None = None
        self._last_detail = ""

    def look(self, condition: Condition) -> Judgement:
        result, counted = self._result()
        observed = self._host.inspect_service(self._key, self._resource.container)
        now = time.monotonic()
        if observed is not None and self._restarts is None:
            self._restarts = observed.restarts
        restarts = observed.restarts - (self._restarts or 0) if observed is not None else 0
        look = Look(observed, now - self._begun, restarts)
        check = self._resource.health
        if condition is Condition.HEALTHY and check is not None and observed is not None and _is_up(observed):
            self._probe(observed, check, now)
            if result is not None and (result.ok or counted):
                look = Look(observed, now - self._begun, restarts, result.ok, result.detail)
        judgement = judge(condition, check, look, self._failures)
        self._failures = judgement.failures
        if judgement.standing is Standing.WAITING and look.probe_ok is None and self._last_detail:
            return replace(judgement, detail=self._last_detail)
        self._last_detail = judgement.detail if look.probe_ok is False else self._last_detail
        return judgement

    def _result(self) -> tuple[ProbeResult | None, bool]:
        """What the probe that ended since the last look found, and whether a failure of it counts.
        A failure counts at most once an interval, so looking often loses nobody any patience."""
        if self._probing is None or not self._probing.ended.is_set():
            return None, False
        probing, self._probing = self._probing, None
        if probing.error is not None:
            raise probing.error
        return probing.result, probing.counted

    def _probe(self, observed: Observed, check: HealthCheck, now: float) -> None:
        if self._probing is not None:
            return
        if self._next_counted is None:
            self._next_counted = now + check.interval_s
        counted = now >= self._next_counted
        if counted:
            self._next_counted = now + check.interval_s
        self._probing = _Probing(self._host, observed, self._resource, check, counted=counted)


class _Probing:
    """One probe in a thread of its own. ended is set when result or error is there."""

    def __init__(
        self,
        host: Host,
        observed: Observed,
        resource: ServiceResource,
        check: HealthCheck,
        *,
        counted: bool,
    ) -> None:
        self.counted = counted
        self.ended = threading.Event()
        self.result: ProbeResult | None = None
        self.error: BaseException | None = None

        def run() -> None:
            try:
                self.result = host.probe(observed, resource, check)
            except BaseException as error:  # noqa: BLE001 - raised again by whoever looks
                self.error = error
            self.ended.set()

        threading.Thread(target=run, name=f"probe {observed.key}", daemon=True).start()


def _is_up(observed: Observed | None) -> bool:
    return observed is not None and observed.phase is Phase.RUNNING


def last_lines(host: Host, key: Key, resource: ServiceResource) -> tuple[str, ...]:
    """The service's last log lines, with every value of its env blotted out."""
    observed = host.inspect_service(key, resource.container)
    if observed is None:
        return ()
    try:
        lines = [line.text for line in host.logs(observed, tail=LOG_LINES)]
    except ForgeError:
        return ()
    return tuple(_blot(line, resource) for line in lines)


_SHORTEST_BLOT = 4
"""Values shorter than this (`1`, `yes`) are no secrets, and blotting them would eat the text."""


def _blot(line: str, resource: ServiceResource) -> str:
    """A value that is a path the file mounts is told: where a program looked is what helps."""
    places = tuple(mount.target for mount in resource.mounts)
    for secret in resource.env.values():
        value = secret.reveal()
        if len(value) >= _SHORTEST_BLOT and not (places and value.startswith(places)):
            line = line.replace(value, "***")
    return line


def _interrupted(key: Key) -> Interrupted:
    return Interrupted("FG0406", f"{key} was stopped", signal_number=2)


def _late(key: Key, limit: float, error: ForgeError) -> Unhealthy:
    return Unhealthy(
        "FG0407",
        f"{key} took too long",
        why=f"it was stopped after {limit:.0f} s: {error.why or error.what}",
        hint="give it longer with --timeout",
        changed=True,
    )
