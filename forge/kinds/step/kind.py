"""Steps of stacks as resources: settled when all they read is known, done again when what they say differs.

A step's fingerprint is the hash of what it would do (forge/stack/content.py). It is empty while a value it
reads is not there yet; `settled` gives it once it is. Nothing of a step is ever replaced: doing it again
mends it in place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from forge.errors import ForgeError
from forge.plan.kind import Context, Intent, Made, Site
from forge.plan.lab_resources import StepResource
from forge.plan.values import Change, Desired, Key, Observed
from forge.spec.expression import holds
from forge.spec.model import Cluster, Environment
from forge.spec.rules.uses import known_text
from forge.spec.steps import (
    ExecStep,
    ForEachStep,
    HelmStep,
    KubeconfigStep,
    KustomizeStep,
    Step,
    TemplateFileStep,
)
from forge.stack.content import fingerprint
from forge.stack.expand import leaves
from forge.stack.flatten import flatten
from forge.stack.template import scope

if TYPE_CHECKING:
    from forge.errors import ToolMissing

KIND: Final = "step"
_WIDEST: Final = "../" * 8
"""spec.root of a file that is not there any more: the path was inside it when the step wrote it."""


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    return tuple(_desired(key, step, spec, context, sure=False) for key, step in flatten(spec, context.files))


def settled(spec: Environment, context: Context, key: Key) -> Desired:
    """The step with all it reads. Raises ForgeError where that cannot be rendered or read."""
    for found, step in flatten(spec, context.files):
        if found == key:
            return _desired(key, step, spec, context, sure=True)
    raise KeyError(str(key))


def _desired(key: Key, step: StepResource, spec: Environment, context: Context, *, sure: bool) -> Desired:
    """sure: whether everything must be known now."""
    resource = _complete(step, spec, context)
    name, digest = "", ""
    try:
        if context.files is not None:
            digest = fingerprint(resource, context.files.within(resource.root))
            name = _target(resource)
    except ForgeError:
        if sure:
            raise
    return Desired(key=key, name=name, fingerprint=digest, resource=resource, in_place=True)


def _complete(step: StepResource, spec: Environment, context: Context) -> StepResource:
    clusters = {c.name: c for c in spec.spec.clusters}
    cluster = clusters[step.cluster]
    prefix = spec.spec.runtime.cluster_prefix
    names = [step.cluster, *(name for name in clusters if name != step.cluster)]
    return replace(
        step,
        scope=scope(spec, context.facts, cluster, step.stack),
        root=spec.spec.root,
        contexts={name: f"kind-{prefix}-{name}" for name in names},
        embedded=_is_embedded(cluster, context),
        others=lambda: _others(step, spec, context),
    )


def _others(step: StepResource, spec: Environment, context: Context) -> tuple[StepResource, ...]:
    """The other steps of its cluster."""
    found = (other for _, other in flatten(spec, context.files) if other.cluster == step.cluster)
    places = ((other, (other.stack, other.index)) for other in found)
    return tuple(
        _complete(other, spec, context) for other, place in places if place != (step.stack, step.index)
    )


def _is_embedded(cluster: Cluster, context: Context) -> bool:
    return cluster.driver == "embedded" or (cluster.driver is None and context.runtime == "embedded")


def _target(resource: StepResource) -> str:
    """The file that the step writes; empty for none, and for a for-each, which may write several."""
    if isinstance(resource.step, ForEachStep):
        return ""
    for leaf in leaves(resource.step, lambda: resource.scope):
        if isinstance(leaf.step, (TemplateFileStep, KubeconfigStep)):
            return leaf.step.target
    return ""


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> Made:
    from forge.kinds.step.run import run

    resource = desired.resource
    if not isinstance(resource, StepResource):
        raise TypeError(f"{desired.key} is no step")
    identity = site.kube(resource.cluster).identity()
    files = site.files.within(resource.root)
    if desired.name:
        site.intend(Intent(identity))  # the file that a failed step wrote is known by its cluster too
    done = run(str(desired.key), resource, site, files, identity)
    if site.wrote not in ("", desired.name):
        files.remove(site.wrote)
    return Made(identity, desired.fingerprint, done.captures, done.objects, done.releases, done.expires_at)


def remove(observed: Observed, site: Site) -> None:
    """Takes away what it applied, if it was the last to apply it, what it had helm install, and the file
    that it wrote."""
    from forge.kinds.step.ran import uninstall
    from forge.kinds.step.run import take_away

    cluster = str(observed.key.cluster)
    uninstall(site.installed, cluster, site)
    take_away(str(observed.key), site.previous, cluster, site)
    if site.wrote:
        site.files.within(_WIDEST).remove(site.wrote)


def missing_tool(
    spec: Environment, find: Callable[[str], str | None], among: Collection[Key] | None = None
) -> ToolMissing | None:
    """The error for the first program that a step needs and *find* does not know; None for none. A plan
    asks, so that nothing is made before. among: steps that are looked at; None for all."""
    for program, where in tools(spec, among).items():
        if find(program) is None:
            from forge.errors import ToolMissing

            return ToolMissing(
                "FG0741",
                f"the command {program!r} is missing",
                why=f"{where} runs it, and it is not on PATH",
                hint="install it, or write the step without it: `manifest` needs no command at all",
                changed=False,
            )
    return None


def tools(spec: Environment, among: Collection[Key] | None = None) -> Mapping[str, str]:
    """Every program that steps of the file need -> the first step that does, by its key."""
    found: dict[str, str] = {}
    clusters = {c.name: c for c in spec.spec.clusters}
    for key, resource in flatten(spec):
        if (among is None or key in among) and not _never(resource, clusters[resource.cluster]):
            for program in _programs(resource.step):
                found.setdefault(program, str(key))
    return found


def _never(resource: StepResource, cluster: Cluster) -> bool:
    """Whether its `when` is known now not to hold."""
    known = {
        "cluster": {"name": cluster.name, "properties": cluster.properties},
        "stack": {"name": resource.stack},
    }
    when = resource.step.when
    return when is not None and holds(when, lambda text: known_text(text, known)) is False


def _programs(step: Step) -> tuple[str, ...]:
    match step:
        case HelmStep():
            return ("helm",)
        case KustomizeStep():
            return ("kubectl",)
        case ExecStep() if "{{" not in step.command[0] and "/" not in step.command[0]:
            return (step.command[0],)
        case ForEachStep():
            return tuple(p for inner in step.steps for p in _programs(inner))
        case _:
            return ()
