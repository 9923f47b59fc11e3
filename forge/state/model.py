"""What Forge remembers of an environment, as a value and as JSON, with its versions.

The machine says what exists; the record adds what labels cannot hold: that an action was begun,
what was allocated, what a user stopped. Older versions are brought up to date when read; newer
ones, and files of another program, are refused and left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from forge.errors import ForgeError, OperationFailed
from forge.plan.faults import Fault, How, parse
from forge.plan.lab_ports import ObjectRef, Release
from forge.plan.values import Allocation, Key, Owner, Recorded, RecordPhase

API_VERSION = "forge.praxis.dev/state/v1alpha1"
VERSION = 2
"""Counts changes of the shape below within API_VERSION."""

Migration = Callable[[dict[str, Any]], dict[str, Any]]


def _with_clusters(document: dict[str, Any]) -> dict[str, Any]:
    """Version 1 knew no clusters: what it lacks has its default when it is read."""
    return document


MIGRATIONS: Mapping[int, Migration] = {1: _with_clusters}
"""version -> how a document of that version becomes one of the next."""


@dataclass(frozen=True, slots=True)
class Operation:
    """command: `up`, `down`, ... at: Unix seconds. outcome: `running` until it ended, then `done`,
    `failed` or `interrupted`; a `running` one that nobody runs was killed."""

    command: str
    at: float
    outcome: str = "running"


@dataclass(frozen=True, slots=True)
class State:
    """generation: counts the writes. runtime: what the resources were made on, empty before any.
    kept: names in the directory's `runtime` that stood there before the first `up`, and stay.
    faults: what is held down on purpose, until it is restored or `up` ends it."""

    owner: Owner
    generation: int = 0
    runtime: str = ""
    allocation: Allocation = field(default_factory=Allocation)
    resources: Mapping[Key, Recorded] = field(default_factory=dict)
    last_operation: Operation | None = None
    kept: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()

    def with_record(self, record: Recorded) -> State:
        return replace(self, resources={**self.resources, record.key: record})

    def without(self, key: Key) -> State:
        """Without its record, and without those of what stood inside it, if it is a cluster."""
        gone = key.name if key.kind == "cluster" else None
        left = {k: r for k, r in self.resources.items() if k != key and (gone is None or k.cluster != gone)}
        held = tuple(f for f in self.faults if f.key != key and (gone is None or f.target.cluster != gone))
        return replace(self, resources=left, faults=held)

    @property
    def captures(self) -> dict[str, dict[str, str]]:
        """cluster -> key -> value, of all steps. They die with the records of their steps."""
        found: dict[str, dict[str, str]] = {}
        for key, record in self.resources.items():
            if key.cluster is not None and record.captures:
                found.setdefault(key.cluster, {}).update(record.captures)
        return found


def to_json(state: State) -> dict[str, Any]:
    """The document of a state. It holds names, ids, hashes and instants; never a value of env."""
    operation = state.last_operation
    return {
        "apiVersion": API_VERSION,
        "version": VERSION,
        "generation": state.generation,
        "environment": state.owner.environment,
        "environmentId": state.owner.environment_id,
        "runtime": state.runtime,
        "kept": list(state.kept),
        **({"faults": [_fault_json(fault) for fault in state.faults]} if state.faults else {}),
        "network": {
            "subnet": state.allocation.subnet,
            "addresses": dict(state.allocation.addresses),
            "pools": dict(state.allocation.pools),
            "blocks": dict(state.allocation.blocks),
        },
        "resources": {str(key): _record_json(record) for key, record in sorted(state.resources.items())},
        "lastOperation": None
        if operation is None
        else {"command": operation.command, "at": operation.at, "outcome": operation.outcome},
    }


def from_json(
    document: Any, path: str, *, version: int = VERSION, migrations: Mapping[int, Migration] = MIGRATIONS
) -> State:
    """The state of a document. path is for messages.

    Raises OperationFailed FG0202 for a newer version or another program's file, and ValueError,
    KeyError or TypeError where the document is not one (the store turns those into FG0201).
    """
    if not isinstance(document, dict):
        raise TypeError("not a JSON object")
    document = _current(document, path, version, migrations)
    network = document["network"]
    operation = document["lastOperation"]
    return State(
        owner=Owner(str(document["environment"]), str(document["environmentId"])),
        generation=int(document["generation"]),
        runtime=str(document["runtime"]),
        kept=tuple(map(str, document.get("kept", ()))),
        faults=tuple(map(_fault, document.get("faults", ()))),
        allocation=_allocation(network),
        resources={r.key: r for r in (_record(k, v) for k, v in document["resources"].items())},
        last_operation=None
        if operation is None
        else Operation(str(operation["command"]), float(operation["at"]), str(operation["outcome"])),
    )


def _allocation(network: Mapping[str, Any]) -> Allocation:
    """Raises ValueError for what is no address, range or subnet: programs are told them."""
    from ipaddress import ip_address, ip_network

    subnet = network["subnet"]
    found = Allocation(
        None if subnet is None else str(subnet),
        _texts(network["addresses"]),
        _texts(network.get("pools", {})),
        _texts(network.get("blocks", {})),
    )
    for one in (*filter(None, [found.subnet]), *found.blocks.values()):
        ip_network(one)
    ends = (end for pool in found.pools.values() for end in pool.split("-", 1))
    for one in (*found.addresses.values(), *ends):
        ip_address(one)
    return found


def _current(
    document: dict[str, Any], path: str, version: int, migrations: Mapping[int, Migration]
) -> dict[str, Any]:
    if document.get("apiVersion") != API_VERSION:
        raise _not_for_us(
            path, f"its apiVersion is {document.get('apiVersion')!r}, this Forge reads {API_VERSION!r}"
        )
    found = document.get("version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise _not_for_us(path, "it carries no version: another program wrote it")
    if found > version:
        raise _not_for_us(path, f"it is of version {found}, this Forge reads up to {version}")
    for step in range(found, version):
        document = migrations[step](document)
    return document


def _not_for_us(path: str, why: str) -> ForgeError:
    return OperationFailed(
        "FG0202",
        f"cannot use the state file {path}",
        why=why,
        hint="use the Forge that wrote it, or point --state-dir elsewhere",
        changed=False,
    )


def _record_json(record: Recorded) -> dict[str, Any]:
    return {
        "phase": record.phase.value,
        "name": record.name,
        "fingerprint": record.fingerprint,
        "id": record.id,
        "at": record.at,
        "ready": record.ready,
        "stopped": record.stopped,
        **({"captures": dict(record.captures)} if record.captures else {}),
        **({"objects": [_object_json(ref) for ref in record.objects]} if record.objects else {}),
        **({"releases": [[r.namespace, r.name] for r in record.releases]} if record.releases else {}),
        **({"expiresAt": record.expires_at} if record.expires_at is not None else {}),
    }


def _fault_json(fault: Fault) -> dict[str, Any]:
    return {
        "name": fault.name,
        "how": fault.how.value,
        "at": fault.at,
        "replicas": fault.replicas,
        "uid": fault.uid,
        "generation": fault.generation,
    }


def _fault(value: Mapping[str, Any]) -> Fault:
    name, how, at = str(value["name"]), How(value["how"]), float(value["at"])
    _ = parse(name)  # raises ValueError for a name that is none
    return Fault(name, how, at, int(value["replicas"]), str(value["uid"]), int(value["generation"]))


def _object_json(ref: ObjectRef) -> list[str | int]:
    return [ref.api_version, ref.kind, ref.namespace, ref.name, ref.uid, ref.generation, ref.fields]


def _object(value: list[Any]) -> ObjectRef:
    api_version, kind, namespace, name, uid, generation, *rest = value
    names = (str(api_version), str(kind), str(namespace), str(name), str(uid))
    return ObjectRef(*names, int(generation), *map(str, rest))


def _texts(value: Mapping[Any, Any]) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()}


def _record(key: str, value: Mapping[str, Any]) -> Recorded:
    return Recorded(
        key=Key.parse(key),
        phase=RecordPhase(value["phase"]),
        name=str(value["name"]),
        fingerprint=str(value["fingerprint"]),
        id=str(value["id"]),
        at=float(value["at"]),
        ready=bool(value["ready"]),
        stopped=bool(value["stopped"]),
        captures=_texts(value.get("captures", {})),
        objects=tuple(map(_object, value.get("objects", ()))),
        releases=tuple(Release(str(ns), str(name)) for ns, name in value.get("releases", ())),
        expires_at=None if value.get("expiresAt") is None else float(value["expiresAt"]),
    )
