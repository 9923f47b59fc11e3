"""What a kind of resource is: the same four verbs for each, and what it needs to say them.

    desire(spec, context) -> Desired        what forge.yaml asks for, with nothing left to choose
    apply(change, desired, observed, site)  make it so
    remove(observed, site)                  make it not so

Observing is the host's (one look for all kinds, since engines answer faster for all than for each).
The kinds are modules in forge/kinds, listed in forge/catalog.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from forge.plan.facts import Facts
from forge.plan.lab_ports import (
    Balancers,
    Clusters,
    Files,
    Images,
    KubeOpener,
    Material,
    ObjectRef,
    Release,
    Tools,
)
from forge.plan.ports import Cancel, Host, Progress
from forge.plan.values import Allocation, Change, Desired, Observed, Owner

if TYPE_CHECKING:  # reading the model takes longer than everything a run without changes does
    from forge.spec.model import Environment


@dataclass(frozen=True, slots=True)
class Context:
    """Where a desire is settled. root: absolute path to which the file's paths are relative.
    state_dir: absolute path of the environment's `.forge`. runtime: `docker` or `embedded`.
    files: None where only names and order are asked for (a plan of a file whose paths are not there)."""

    root: str
    state_dir: str
    runtime: str
    allocation: Allocation
    facts: Facts = field(default_factory=Facts)
    files: Files | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What came of making a thing. id: the engine's, or of the cluster it stands in. fingerprint: of
    what was made in the end; None: as it was desired. The rest as in Recorded."""

    id: str
    fingerprint: str | None = None
    captures: Mapping[str, str] = field(default_factory=dict)
    objects: tuple[ObjectRef, ...] = ()
    releases: tuple[Release, ...] = ()
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """What a thing is about to make in a cluster. cluster: the id of that very cluster."""

    cluster: str
    objects: tuple[ObjectRef, ...] = ()
    releases: tuple[Release, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """Where a change is made, and who is told. cancel: is set when the step is to stop. facts: what is
    known at the moment of the call. previous: objects the thing had made before. wrote: the file that it
    wrote before, and nothing else writes; empty for none. installed: helm's releases that the thing had
    made before; known: those that any thing of its cluster had. intend: to be told of what is about to be
    made, before it is: what fails half-way is not forgotten then. The ports are those of
    forge/plan/lab_ports.py; each is opened when it is first used."""

    host: Host
    owner: Owner
    progress: Progress
    cancel: Cancel
    lab: Lab
    facts: Callable[[], Facts]
    previous: tuple[ObjectRef, ...] = ()
    wrote: str = ""
    installed: tuple[Release, ...] = ()
    known: frozenset[Release] = frozenset()
    intend: Callable[[Intent], None] = lambda _: None

    @property
    def clusters(self) -> Clusters:
        return self.lab.clusters

    @property
    def images(self) -> Images:
        return self.lab.images

    @property
    def balancers(self) -> Balancers:
        return self.lab.balancers

    @property
    def material(self) -> Material:
        return self.lab.material

    @property
    def files(self) -> Files:
        return self.lab.files

    @property
    def kube(self) -> KubeOpener:
        return self.lab.kube

    @property
    def tools(self) -> Tools:
        return self.lab.tools


class Lab(Protocol):
    """The ports beside the host's, opened when first used."""

    @property
    def clusters(self) -> Clusters: ...

    @property
    def images(self) -> Images: ...

    @property
    def balancers(self) -> Balancers: ...

    @property
    def material(self) -> Material: ...

    @property
    def files(self) -> Files: ...

    @property
    def kube(self) -> KubeOpener: ...

    @property
    def tools(self) -> Tools: ...


class Kind(Protocol):
    @property
    def KIND(self) -> str:  # noqa: N802 - a constant of the module
        """`network`, `image`, `service`, ...: the kind of its keys."""
        ...

    def desire(self, spec: Environment, context: Context) -> tuple[Desired, ...]:
        """All resources of this kind that the file asks for. Reads nothing but context.files; raises
        ForgeError for what only this runtime cannot do."""
        ...

    def apply(self, change: Change, desired: Desired, observed: Observed | None, site: Site) -> str | Made:
        """CREATE, START, UPDATE or REPLACE; gives the id of what stands there now, or more of it."""
        ...

    def remove(self, observed: Observed, site: Site) -> None:
        """Takes it away. One that is gone is a success."""
        ...
