"""The values Forge's judgement works on: what is wanted, what is there, what is to be done.

    desire(spec) -> Desired      observe(host) -> Observed      state file -> Recorded
    diff(desired, observed, recorded) -> Change                 order(changes) -> Step

All are frozen and comparable, so a plan is a value that tests compare whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge.plan.lab_ports import ObjectRef, Release
    from forge.plan.lab_resources import LabResource
    from forge.plan.resources import Resource


INSIDE = frozenset({"balancer", "load", "certificate-secret", "step"})
"""Kinds of what stands inside a cluster, and goes with it."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """kind: as forge/catalog.py lists them. name: as written in forge.yaml, unique within the kind.

    What stands inside a cluster has that cluster's name first: `step/east/base/01-manifest`,
    `load/east/app:dev`, `balancer/east`, `certificate-secret/east/leaf/namespace/name`.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def cluster(self) -> str | None:
        """The cluster it stands inside of; None for what stands on this machine."""
        return self.name.partition("/")[0] if self.kind in INSIDE else None

    @classmethod
    def parse(cls, text: str) -> Key:
        """The key that str() wrote. Raises ValueError on anything else."""
        kind, slash, name = text.partition("/")
        if not (kind and slash and name):
            raise ValueError(f"not a resource key: {text!r}")
        return cls(kind, name)


@dataclass(frozen=True, slots=True)
class Owner:
    """Who a resource belongs to: the environment's name and the id its state directory made once."""

    environment: str
    environment_id: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """subnet: CIDR of the lab network, None where there is none. addresses: service -> address.
    pools: cluster -> its load-balancer addresses as `first-last`. blocks: cluster -> CIDR of loopback
    addresses that are its own, on the embedded runtime."""

    subnet: str | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    pools: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)


class Condition(StrEnum):
    """What a dependent waits for in another resource."""

    STARTED = "started"
    HEALTHY = "healthy"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """key must have reached condition first. Networks and images know only `started` (they exist)."""

    key: Key
    condition: Condition = Condition.STARTED


@dataclass(frozen=True, slots=True)
class Desired:
    """One wanted resource.

    fingerprint: of the fields Forge itself sets; a label carries it, and nothing else is compared.
    Empty while a value it is made of (a capture, a certificate's hash) is not there yet.
    resource: everything `apply` needs; names, addresses and argv are settled here. None when it was
    read from the cache of a plan, which keeps no values, or where the fingerprint is empty: good for
    a diff, not for applying. needs: what must be there before it. start: False for a service with
    `autoStart: false`, which is left as it is. gated: True where `up` waits until it is healthy or
    done. name: on the engine (network, container; an image's reference; the file a step writes).
    replaces_with: keys whose replacement forces this one's too (a service and its network).
    owned: False for an image, which is only made present: it carries no label and is never replaced
    nor removed. in_place: a difference is mended where it stands (UPDATE) and nothing is taken away
    for it. follows: keys whose making may change what this one is made of, or what it looks at:
    where one of them is made, this one is looked at again.
    """

    key: Key
    name: str
    fingerprint: str
    resource: Resource | LabResource | None
    needs: tuple[Need, ...] = ()
    start: bool = True
    gated: bool = False
    replaces_with: tuple[Key, ...] = ()
    owned: bool = True
    in_place: bool = False
    follows: tuple[Key, ...] = ()


class Phase(StrEnum):
    """What a resource is doing, as the machine says."""

    PRESENT = "present"  # a network or an image: there is nothing more to say of it
    RUNNING = "running"
    STARTING = "starting"  # between two attempts of its restart policy
    COMPLETED = "completed"  # exited with 0 and is not to be restarted
    FAILED = "failed"  # exited otherwise and is not to be restarted
    STOPPED = "stopped"  # stopped on request
    BROKEN = "broken"  # half made: exists, but never started or lost what it needs


@dataclass(frozen=True, slots=True)
class Observed:
    """One resource as the machine shows it.

    owner: None when it carries no ownership label. fingerprint: the label's, None without one.
    id: the engine's own id. pid: None where nothing runs. started_at: Unix seconds. exit_code:
    of the last run. address: on the lab network. detail: one line for people. kept: it is somebody
    else's (an existing cluster), and removing it removes Forge's traces only.
    """

    key: Key
    owner: Owner | None
    fingerprint: str | None
    phase: Phase
    id: str = ""
    pid: int | None = None
    started_at: float | None = None
    restarts: int = 0
    exit_code: int | None = None
    address: str | None = None
    detail: str = ""
    kept: bool = False


class RecordPhase(StrEnum):
    """How far the state file knows a resource to have come. Written before and after each action."""

    CREATING = "creating"
    CREATED = "created"
    REMOVING = "removing"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One resource as the state file remembers it.

    name: on the engine. at: Unix seconds of the last write. ready: its gate was passed since it
    was last started. stopped: a user stopped it by `service stop`. For what stands inside a cluster,
    id is that cluster's id; captures: values it remembered, by key; objects: what it made there, or was
    about to make (those without a uid); releases: the same of helm's.
    expires_at: Unix seconds when it must be made anew; None where it stays good.
    """

    key: Key
    phase: RecordPhase
    name: str = ""
    fingerprint: str = ""
    id: str = ""
    at: float = 0.0
    ready: bool = False
    stopped: bool = False
    captures: Mapping[str, str] = field(default_factory=dict)
    objects: tuple[ObjectRef, ...] = ()
    releases: tuple[Release, ...] = ()
    expires_at: float | None = None


class Verb(StrEnum):
    """What a change does. The values are the words of the plan and of its JSON."""

    CREATE = "create"
    START = "start"
    UPDATE = "update"
    REPLACE = "replace"
    REMOVE = "remove"
    WAIT = "wait"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Change:
    """verb on key, because of cause. An UPDATE mends in place what turns out to differ, and may find
    nothing to do. A WAIT only waits for the gate; a KEEP does nothing at all."""

    verb: Verb
    key: Key
    cause: str


@dataclass(frozen=True, slots=True)
class Step:
    """One change in its order.

    after: keys and conditions that must hold first. For a REMOVE, the keys whose removal must
    have ended (each with STARTED, which has no meaning there).
    """

    change: Change
    after: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do. steps: in an order in which they could run one by one."""

    environment: str
    runtime: str
    steps: tuple[Step, ...] = ()
    kept: tuple[Change, ...] = ()
    desired: Mapping[Key, Desired] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.steps
