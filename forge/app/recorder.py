"""The journal of a run: every action is in the state file before it begins and after it ended.

Killed between the two, the next run finds a record that says `creating` or `removing` and settles
it by what the machine shows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from forge.plan.faults import Fault, added, without
from forge.plan.kind import Intent, Made
from forge.plan.lab_ports import ObjectRef, Release
from forge.plan.values import Allocation, Desired, Key, Recorded, RecordPhase
from forge.state.model import Operation, State
from forge.state.store import StateStore


class Recorder:
    """Writes one state, for several threads. now: Unix seconds.

    Every method raises OperationFailed when the state cannot be saved; what it was to record is
    then not recorded, and the caller must not go on to act.
    """

    def __init__(self, store: StateStore, state: State, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._lock = threading.Lock()
        self.state = state

    def began(self, command: str, runtime: str, allocation: Allocation) -> None:
        operation = Operation(command, self._now())
        self._write(lambda s: replace(s, runtime=runtime, allocation=allocation, last_operation=operation))

    def ended(self, outcome: str) -> None:
        def close(state: State) -> State:
            operation = state.last_operation
            return (
                state
                if operation is None
                else replace(state, last_operation=replace(operation, outcome=outcome))
            )

        self._write(close)

    def creating(self, desired: Desired) -> None:
        """What the thing made before stays in its record, so that nothing is forgotten if this fails."""
        before = self.state.resources.get(desired.key, Recorded(desired.key, RecordPhase.CREATING))
        record = Recorded(
            desired.key,
            RecordPhase.CREATING,
            desired.name,
            desired.fingerprint,
            before.id if desired.key.cluster is not None else "",
            self._now(),
            captures=before.captures,
            objects=before.objects,
            releases=before.releases,
        )
        self._put(record)

    def intends(self, key: Key, intent: Intent) -> None:
        """Beside what the thing had made before in that very cluster. Writes nothing where nothing is new."""

        def extended(record: Recorded) -> Recorded:
            same = record.id == intent.cluster
            objects = record.objects if same else ()
            named = {ref.identity for ref in objects}
            new = tuple(ref for ref in intent.objects if ref.identity not in named)
            releases = record.releases if same else ()
            more = tuple(r for r in intent.releases if r not in releases)
            return replace(record, id=intent.cluster, objects=(*objects, *new), releases=(*releases, *more))

        record = self.state.resources.get(key)
        if record is not None and extended(record) != record:
            self._write(lambda s: _given(s, key, intent.releases).with_record(extended(s.resources[key])))

    def created(self, desired: Desired, made: Made) -> None:
        record = Recorded(
            desired.key,
            RecordPhase.CREATED,
            desired.name,
            desired.fingerprint if made.fingerprint is None else made.fingerprint,
            made.id,
            self._now(),
            captures=made.captures,
            objects=made.objects,
            releases=made.releases,
            expires_at=made.expires_at,
        )
        self._put(record)

    def ready(self, key: Key) -> None:
        self._change(key, lambda record: replace(record, ready=True))

    def stopped(self, key: Key) -> None:
        self._change(key, lambda record: replace(record, stopped=True, ready=False))

    def faulted(self, fault: Fault) -> Fault:
        """Before it is made. Gives it as it is to be ended: with what an earlier one remembered."""
        self._write(lambda state: replace(state, faults=added(state.faults, fault)))
        return next(f for f in self.state.faults if f.name == fault.name)

    def restored(self, fault: Fault) -> None:
        """After it was ended."""
        self._write(lambda state: replace(state, faults=without(state.faults, fault.name)))

    def left(self, now: Mapping[ObjectRef, ObjectRef]) -> None:
        """Objects are not as they were recorded, and that is as it should be: whoever recorded them need
        not look at them again."""
        for record in tuple(self.state.resources.values()):
            objects = tuple(now.get(ref, ref) for ref in record.objects)
            if objects != record.objects:
                self._put(replace(record, objects=objects))

    def removing(self, key: Key) -> None:
        self._change(key, lambda record: replace(record, phase=RecordPhase.REMOVING, at=self._now()))

    def removed(self, key: Key) -> None:
        self._write(lambda state: state.without(key))

    def _put(self, record: Recorded) -> None:
        self._write(lambda state: state.with_record(record))

    def _change(self, key: Key, change: Callable[[Recorded], Recorded]) -> None:
        """Changes a record that is there; one that is not has nothing to remember."""
        record = self.state.resources.get(key)
        if record is not None:
            self._write(lambda state: state.with_record(change(state.resources[key])))

    def releases(self, cluster: str | None) -> frozenset[Release]:
        """All that Forge had helm install in a cluster."""
        records = self.state.resources.values()
        return frozenset(r for record in records if record.key.cluster == cluster for r in record.releases)

    def _write(self, change: Callable[[State], State]) -> None:
        with self._lock:
            self.state = self._store.write(change(self.state))


def _given(state: State, key: Key, releases: tuple[Release, ...]) -> State:
    """A release belongs to the step that installs it last: steps are known by their place, and one that is
    put in moves all after it."""
    for other, record in state.resources.items():
        if other != key and other.cluster == key.cluster and set(record.releases) & set(releases):
            left = tuple(r for r in record.releases if r not in releases)
            state = state.with_record(replace(record, releases=left))
    return state
