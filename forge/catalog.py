"""KINDS: every kind of resource, in one visible place. There is no discovery of plug-ins.

Modules of kinds that a lab does not use are not imported: a lab of services alone starts as if
there were no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, cast

from forge.plan.kind import Context, Kind
from forge.plan.lab_ports import Files
from forge.plan.lab_resources import ClusterResource, StepResource
from forge.plan.values import Desired, Key

if TYPE_CHECKING:  # reading the model takes longer than everything a run without changes does
    from forge.spec.model import Environment

Settle: TypeAlias = "Callable[[Environment, Context, Key], Desired]"
"""What a kind whose values may come late has beside its four verbs."""

KINDS: Mapping[str, str] = {
    "network": "forge.kinds.network",
    "image": "forge.kinds.image",
    "authority": "forge.kinds.authority",
    "certificate": "forge.kinds.certificate",
    "secret": "forge.kinds.secret",
    "cluster": "forge.kinds.cluster",
    "balancer": "forge.kinds.load_balancer",
    "load": "forge.kinds.image_load",
    "certificate-secret": "forge.kinds.certificate_secret",
    "step": "forge.kinds.step.kind",
    "service": "forge.kinds.service",
}
"""kind -> its module, in the order in which plans list them."""


class _ByName(Mapping[str, Kind]):
    """kind -> its module, imported when it is asked for."""

    def __getitem__(self, name: str) -> Kind:
        return cast("Kind", import_module(KINDS[name]))  # a module with the four verbs

    def __iter__(self) -> Iterator[str]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)


BY_NAME: Mapping[str, Kind] = _ByName()


def desire(spec: Environment, context: Context) -> dict[Key, Desired]:
    """Everything the file asks for, by key, in the order of KINDS, with all it waits for."""
    from forge.stack.edges import with_edges

    desired = {d.key: d for name in _used(spec) for d in BY_NAME[name].desire(spec, context)}
    return with_edges(spec, desired, steps(spec, context.files))


def steps(spec: Environment, files: Files | None = None) -> tuple[tuple[Key, StepResource], ...]:
    """Every step of every cluster, as the file has it, in the order in which it is applied. files: where
    template files are read for what they read in turn."""
    if not spec.spec.clusters:
        return ()
    from forge.stack.flatten import flatten

    return flatten(spec, files)


def settle(spec: Environment, context: Context, desired: Desired) -> Desired:
    """The thing with all its values, now that what it is made of is there. Raises ForgeError."""
    settled: Settle | None = getattr(BY_NAME[desired.key.kind], "settled", None)
    return desired if settled is None else _kept(settled(spec, context, desired.key), desired)


def clusters(desired: Mapping[Key, Desired]) -> dict[Key, ClusterResource]:
    """The clusters among what is wanted."""
    return {k: d.resource for k, d in desired.items() if isinstance(d.resource, ClusterResource)}


def looks(desired: Desired) -> bool:
    """Whether doing it again may find something new although its own text is the same: a certificate's
    authority may be another one now."""
    if desired.key.kind == "certificate":
        return True
    from forge.stack.edges import LOOKS

    return (
        desired.key.kind == "step"
        and isinstance(desired.resource, StepResource)
        and (desired.resource.step.type in LOOKS)
    )


def _kept(settled: Desired, planned: Desired) -> Desired:
    """With the edges that were planned."""
    return replace(
        settled,
        needs=planned.needs,
        follows=planned.follows,
        replaces_with=planned.replaces_with,
        start=planned.start,
    )


def _used(spec: Environment) -> Iterator[str]:
    wanted = spec.spec
    used = {
        "authority": bool(wanted.certificates and wanted.certificates.authorities),
        "certificate": bool(wanted.certificates and wanted.certificates.leaves),
        "certificate-secret": bool(wanted.certificates and wanted.certificates.leaves),
        "secret": bool(wanted.secrets),
        "cluster": bool(wanted.clusters),
        "balancer": bool(wanted.clusters),
        "load": bool(wanted.clusters),
        "step": bool(wanted.clusters),
    }
    yield from (name for name in KINDS if used.get(name, True))
