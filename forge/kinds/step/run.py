"""One step from its begin to its end: its rounds, their retries and limits, what is no longer wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from forge.errors import ForgeError, OperationFailed, Unhealthy
from forge.kinds.step import applied, dns, looked, made, ran, written
from forge.kinds.step.work import Done, Until, Work, is_made_by
from forge.plan.kind import Site
from forge.plan.lab_ports import Files, ObjectRef, Release
from forge.plan.lab_resources import StepResource
from forge.spec import steps
from forge.spec.shape import seconds
from forge.stack.expand import Leaf, leaves
from forge.stack.named import named
from forge.stack.template import Scope

_LONGEST_PAUSE_S = 10.0


def run(key: str, resource: StepResource, site: Site, files: Files, identity: str) -> Done:
    """Does the step. What it made before (site.previous, site.installed) and makes no more is taken away at
    the end. identity: of its cluster."""
    captured: dict[str, str] = {}
    done = Done()
    until = Until(
        site.cancel, _limit(resource.step) if isinstance(resource.step, steps.ForEachStep) else None
    )
    for leaf in leaves(resource.step, lambda: _scope(resource, captured)):
        whole = partial(Work, leaf, resource, key, site, files, identity)
        result = _tried(leaf, whole, until)
        captured.update(result.captures)
        done += result
    objects, releases = _pruned(key, done, resource, site, files)
    return replace(done, objects=objects, releases=releases)


def _scope(resource: StepResource, captured: Mapping[str, str]) -> Scope:
    """The settled scope with what the step has captured itself since."""
    if not captured:
        return resource.scope
    known = resource.scope.get("captures")
    captures = dict(known) if isinstance(known, Mapping) else {}
    captures[resource.cluster] = {**captures.get(resource.cluster, {}), **captured}
    return {**resource.scope, "captures": captures}


def _limit(step: steps.StepShape) -> float | None:
    return None if step.timeout is None else seconds(step.timeout)


def _tried(leaf: Leaf, work: Callable[[Until], Work], outer: Until) -> Done:
    """The round, again as often as `retries` says. Its time limit is for all tries together, but for steps
    that wait, where it is of each wait."""
    attempt = 0
    until = Until(outer, _limit(leaf.step))
    while True:
        attempt += 1
        now = work(until)
        try:
            return do(now)
        except (OperationFailed, Unhealthy) as error:
            if attempt > leaf.step.retries or outer.is_set():
                raise
            now.site.progress(f"{error.why or error.what}; trying again ({attempt} of {leaf.step.retries})")
        except ForgeError as error:
            if until.is_late or outer.is_late:
                raise _late(now, error) from error
            raise
        if outer.wait(min(0.5 * 2 ** (attempt - 1), _LONGEST_PAUSE_S)):
            raise now.stopped()
        if until.is_set():
            until = Until(outer, _limit(leaf.step))


def _late(work: Work, error: ForgeError) -> Unhealthy:
    return Unhealthy(
        "FG0758",
        f"{work.name} took too long",
        why=f"it was stopped after its timeout of {work.step.timeout or 'the for-each'}: {error.what}",
        hint="give the step a longer timeout",
        changed=True,
    )


def do(work: Work) -> Done:
    """The step, by its type."""
    return DOERS[type(work.step)](work, work.step)


DOERS: Mapping[type[steps.StepShape], Callable[[Work, Any], Done]] = {
    steps.ManifestStep: applied.manifest,
    steps.TemplateManifestStep: applied.template_manifest,
    steps.KustomizeStep: applied.kustomize,
    steps.UrlStep: applied.url,
    steps.DeleteStep: applied.delete,
    steps.DeploymentStep: made.deployment,
    steps.ServiceStep: made.service,
    steps.ConfigMapStep: made.config_map,
    steps.SecretStep: made.secret,
    steps.MetallbAutoPoolStep: made.metallb_pool,
    steps.WaitStep: looked.wait,
    steps.CaptureStep: looked.capture,
    steps.HttpWaitStep: looked.http_wait,
    steps.ExecStep: ran.exec_,
    steps.HelmStep: ran.helm,
    steps.TemplateFileStep: written.template_file,
    steps.KubeconfigStep: written.kubeconfig,
    steps.CoreDnsForwardStep: dns.core_dns_forward,
}
"""What does each type of step; a for-each is taken apart before (forge/stack/expand.py)."""


def _pruned(
    key: str, done: Done, resource: StepResource, site: Site, files: Files
) -> tuple[tuple[ObjectRef, ...], tuple[Release, ...]]:
    """Takes away what the step made before and makes no more, but for what another step of the cluster
    names. Gives the objects and releases that are the step's now: those it made, and those that a step of
    its type may be about to take over whose names cannot be known now; these go with the step."""
    wanted = {ref.identity for ref in done.objects}
    dropped = [ref for ref in site.previous if ref.identity not in wanted]
    releases = tuple(r for r in site.installed if r not in done.releases)
    if not (dropped or releases):
        return done.objects, done.releases
    elsewhere = named(
        resource.others(), files, lambda step: applied.built(step, site, files, site.cancel, "another step")
    )
    left = [ref for ref in dropped if not elsewhere.has(ref)]
    if resource.step.type in elsewhere.unknown:
        return (*done.objects, *left), (*done.releases, *releases)
    take_away(key, left, resource.cluster, site)
    kept = tuple(r for r in releases if r in elsewhere.releases)
    ran.uninstall([r for r in releases if r not in kept], resource.cluster, site)
    return done.objects, (*done.releases, *kept)


def take_away(key: str, refs: Iterable[ObjectRef], cluster: str, site: Site) -> None:
    """Deletes those of the objects that this step was the last to apply."""
    mine = []
    for ref in refs:
        found = site.kube(cluster).get(ref.api_version, ref.kind, ref.namespace, ref.name)
        if found is not None and is_made_by(found, key):
            mine.append(ref)
    if mine:
        count = "an object that is" if len(mine) == 1 else f"{len(mine)} objects that are"
        site.progress(f"removing {count} no longer wanted")
        site.kube(cluster).delete(mine, owner=site.owner, cancel=site.cancel)
