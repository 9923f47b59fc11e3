"""The journal of a run: every action is in the state file before it begins and after it ended.

Killed between the two, the next run finds a record that says `creating` or `removing` and settles
it by what the machine shows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from forge.plan.faults import Fault, added, without
from forge.plan.kind import Made
from forge.plan.lab_ports import ObjectRef
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
        )
        self._put(record)

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

    def _write(self, change: Callable[[State], State]) -> None:
        with self._lock:
            self.state = self._store.write(change(self.state))
