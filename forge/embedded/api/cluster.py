"""One cluster's state in one place: what every operation of the API is given.

Operations are functions of a cluster; they read the clock, names and addresses only through it, so
that tests pass their own.
"""

from __future__ import annotations

import base64
import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from forge.embedded.api.registry import Registry
from forge.embedded.api.store import Store
from forge.embedded.api.values import DELETED, Event, Json, Record
from forge.embedded.api.watch import Hub

if TYPE_CHECKING:
    from forge.embedded.api.exchange import Ask, Reply, Stream
    from forge.embedded.api.resources import Resource

# Without vowels and look-alikes, as Kubernetes makes generated names.
_REMEMBERED = 10_000
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class User:
    """Who asks. Built for each connection or token, never from what a body says."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_admin(self) -> bool:
        return "system:masters" in self.groups


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
SYSTEM = User("system:apiserver", ("system:masters", "system:authenticated"))


def wall_clock() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


class Logs(Protocol):
    """Answers GET of a pod's log: what a node gives the cluster."""

    def __call__(self, ask: Ask, resource: Resource, record: Record, now: float) -> Reply | Stream:
        """now: Unix seconds. Raises ApiError."""
        ...


@dataclass(slots=True)
class Cluster:
    """clock: the current instant, with UTC. address: `host:port` the server is reached at.

    logs: None where no node runs pods.
    """

    store: Store
    registry: Registry = field(default_factory=Registry)
    hub: Hub = field(default_factory=Hub)
    clock: Callable[[], datetime] = wall_clock
    seed: random.Random = field(default_factory=random.SystemRandom)
    name: str = "embedded"
    address: str = "127.0.0.1:6443"
    service_cidr: str = "127.96.0.0/16"
    ca_pem: str = ""
    logs: Logs | None = None
    # Storage -> the version at which it was first served: a custom resource has no history before.
    began: dict[str, int] = field(default_factory=dict)
    # Uids of what was deleted lately, oldest first.
    gone: dict[str, None] = field(default_factory=dict)
    # Definition -> what its registered resources were made from.
    definition_marks: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store.subscribe(self.hub.publish)
        self.store.subscribe(self._remember)

    def history_start(self, storage: str) -> int:
        """The oldest version from which *storage* can be watched."""
        return max(self.store.compacted, self.began.get(storage, 0))

    def was_deleted(self, document: Json) -> bool:
        """Whether an owner of *document* was seen to go, so that nobody needs to wait for it."""
        owners = document["metadata"].get("ownerReferences") or []
        return any(owner.get("uid") in self.gone for owner in owners)

    def _remember(self, event: Event) -> None:
        if event.type == DELETED:
            self.gone[str(event.record.object["metadata"].get("uid", ""))] = None
            while len(self.gone) > _REMEMBERED:
                self.gone.pop(next(iter(self.gone)))

    def now(self) -> str:
        """The current instant as metadata writes it: RFC 3339, whole seconds."""
        return self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")

    def uid(self) -> str:
        return str(uuid.UUID(int=self.seed.getrandbits(128), version=4))

    def suffix(self) -> str:
        """Five letters for a generated name."""
        return "".join(self.seed.choice(_SUFFIX_LETTERS) for _ in range(5))


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
