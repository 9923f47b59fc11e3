"""What one step, or one round of a for-each, is given to do, and what comes of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forge.errors import Interrupted
from forge.plan.kind import Intent, Site
from forge.plan.lab_ports import Files, Kube, Object, ObjectRef, Release
from forge.plan.lab_resources import StepResource
from forge.plan.ports import Cancel
from forge.spec.steps import Step
from forge.stack.expand import Leaf
from forge.stack.manifests import Document

MADE_BY = "dev.praxis.forge/resource"
"""The annotation with the key of the step that applied an object last: only that one takes it away."""


class Until:
    """A cancel that is also set when its time is up. seconds: None for no limit."""

    def __init__(self, cancel: Cancel, seconds: float | None) -> None:
        self._cancel = cancel
        self._deadline = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; an hour stands for no limit."""
        return 3600.0 if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def is_late(self) -> bool:
        """Whether its time is up, and nobody cancelled it before."""
        return self.left <= 0.0 and not self._cancel.is_set()

    def is_set(self) -> bool:
        return self._cancel.is_set() or self.left <= 0.0

    def wait(self, timeout: float | None = None) -> bool:
        return self._cancel.wait(self.left if timeout is None else min(timeout, self.left)) or self.is_set()


@dataclass(frozen=True, slots=True)
class Work:
    """leaf: the step, rendered, and its scope. key: of the step it belongs to. identity: the id of its
    cluster. until: the site's cancel with the step's time limit."""

    leaf: Leaf
    resource: StepResource
    key: str
    site: Site
    files: Files
    identity: str
    until: Until

    @property
    def step(self) -> Step:
        return self.leaf.step

    @property
    def cluster(self) -> str:
        return self.resource.cluster

    @property
    def kube(self) -> Kube:
        return self.site.kube(self.cluster)

    @property
    def name(self) -> str:
        """What it is called in errors: `wait in stack base of cluster east`."""
        return f"{self.leaf.name} in stack {self.resource.stack} of cluster {self.cluster}"

    def stopped(self) -> Interrupted:
        return Interrupted("FG0757", f"{self.name} was stopped", signal_number=2)

    def apply(self, documents: Sequence[Document]) -> Done:
        """Applies them as this step's."""
        refs = self.kube.apply(
            [_marked(d.object, self.key) for d in documents],
            owner=self.site.owner,
            places=[d.place for d in documents],
            intend=lambda refs: self.site.intend(Intent(self.identity, refs)),
            progress=self.site.progress,
            cancel=self.until,
        )
        return Done(objects=refs)


@dataclass(frozen=True, slots=True)
class Done:
    """objects: what it applied. captures: by key. expires_at: Unix seconds when it must be done anew.
    releases: what it had helm install."""

    objects: tuple[ObjectRef, ...] = ()
    captures: Mapping[str, str] = field(default_factory=dict)
    expires_at: float | None = None
    releases: tuple[Release, ...] = ()

    def __add__(self, other: Done) -> Done:
        expiries = [e for e in (self.expires_at, other.expires_at) if e is not None]
        captures = {**self.captures, **other.captures}
        objects, releases = (*self.objects, *other.objects), (*self.releases, *other.releases)
        return Done(objects, captures, min(expiries, default=None), releases)


def _marked(thing: Object, key: str) -> Object:
    meta = dict(thing.get("metadata") or {})
    meta["annotations"] = {**(meta.get("annotations") or {}), MADE_BY: key}
    return {**thing, "metadata": meta}


def is_made_by(thing: Object, key: str) -> bool:
    """Whether the step with that key was the last to apply it."""
    annotations = (thing.get("metadata") or {}).get("annotations") or {}
    return bool(annotations.get(MADE_BY) == key)
