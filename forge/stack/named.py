"""Which objects the steps of a cluster name, so that what one of them drops another may take over. Pure.

Steps are known by their place, and a step that is put in moves all after it: each then drops the objects
of the one that moved into its place. Such an object must stay: it is still named, only elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from forge.errors import ForgeError
from forge.plan.lab_ports import Files, ObjectRef, Release
from forge.plan.lab_resources import StepResource
from forge.spec.steps import (
    ConfigMapStep,
    DeploymentStep,
    HelmStep,
    KustomizeStep,
    ManifestStep,
    MetallbAutoPoolStep,
    SecretStep,
    ServiceStep,
    TemplateManifestStep,
    UrlStep,
)
from forge.stack.content import rendered
from forge.stack.expand import Leaf, leaves
from forge.stack.folders import manifests
from forge.stack.manifests import identity, read

Identity = tuple[str, str, str, str]
"""Group, kind, namespace (empty where none is said), name."""


@dataclass(frozen=True, slots=True)
class Named:
    """objects, releases: what is named. unknown: types of steps whose objects cannot be known now."""

    objects: frozenset[Identity]
    unknown: frozenset[str]
    releases: frozenset[Release] = frozenset()

    def has(self, ref: ObjectRef) -> bool:
        """Whether that object is among them; one without a namespace is in `default`, if it is in any."""
        group = ref.api_version.rpartition("/")[0]
        spaces = {ref.namespace, "" if ref.namespace in ("", "default") else ref.namespace}
        return any((group, ref.kind, space, ref.name) in self.objects for space in spaces)


Built = Callable[[UrlStep | KustomizeStep], bytes]
"""The manifest that such a step applies. Raises ForgeError where it cannot be had."""


def named(steps: Iterable[StepResource], files: Files, built: Built) -> Named:
    """What all these steps name, each with its own scope."""
    found: set[Identity] = set()
    releases: set[Release] = set()
    unknown: set[str] = set()
    for step in steps:
        try:
            for leaf in leaves(step.step, lambda step=step: step.scope):  # type: ignore[misc]  # a default keeps its own
                if isinstance(leaf.step, HelmStep):
                    releases.add(Release(leaf.step.namespace or "", leaf.step.release))
                found.update(_of(leaf, files, built))
        except ForgeError:  # it is told when its turn comes
            unknown.add(step.step.type)
    return Named(frozenset(found), frozenset(unknown), frozenset(releases))


def _of(leaf: Leaf, files: Files, built: Built) -> Iterator[Identity]:
    step = leaf.step
    match step:
        case ManifestStep():
            for name in manifests(step.path, files):
                yield from _in(files.read(name))
        case TemplateManifestStep():
            yield from _in(rendered(step.path, leaf.scope, files).encode())
        case UrlStep() | KustomizeStep():
            yield from _in(built(step))
        case DeploymentStep():
            yield "apps", "Deployment", step.namespace or "default", step.name
        case ServiceStep():
            yield "", "Service", step.namespace or "default", step.name
        case ConfigMapStep():
            yield "", "ConfigMap", step.namespace or "default", step.name
        case SecretStep():
            yield "", "Secret", step.namespace or "default", step.name
        case MetallbAutoPoolStep():
            yield "metallb.io", "IPAddressPool", "metallb-system", step.name
            yield "metallb.io", "L2Advertisement", "metallb-system", f"{step.name}-l2"
        case _:
            return


@lru_cache(maxsize=512)  # the same files are asked for by each step that drops something
def _in(data: bytes) -> tuple[Identity, ...]:
    return tuple(identity(document.object) for document in read([("manifest", data)]))
