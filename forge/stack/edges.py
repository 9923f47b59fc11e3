"""What waits for what in a lab: the edges that list order, captures, files and places make.

    in a cluster    cluster > load balancer, images, certificates as Secrets > stacks, step by step
    across          a step or service that reads captures.X.k waits for the step that makes it
    on disk         certificates and secrets before any stack; a service waits for the steps that
                    write into a folder it mounts, and for the stacks it names under `after`

A thing also *follows* what its values come from: when that is made anew, it is looked at again.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forge.plan.lab_resources import StepResource
from forge.plan.values import Desired, Key, Need
from forge.spec.expression import TemplateBroken, expressions
from forge.spec.model import Cluster, Environment
from forge.spec.services import Service
from forge.stack.template import Scope, TemplateFailed, render

LOOKS = frozenset({"wait", "capture", "exec", "http-wait", "helm", "kustomize", "url"})
"""Steps that do something although their own text is the same: what they look at may have changed.
helm, kustomize and url take in files that Forge does not read when it plans."""

_MADE_ON_DISK = frozenset({"authority", "certificate", "secret"})
_BEFORE_STACKS = frozenset({"balancer", "load", "certificate-secret"})


@dataclass
class _Edges:
    needs: set[Need] = field(default_factory=set)
    follows: set[Key] = field(default_factory=set)


def with_edges(
    spec: Environment, desired: Mapping[Key, Desired], steps: Sequence[tuple[Key, StepResource]]
) -> dict[Key, Desired]:
    """The same, each with all it waits for and follows. steps: every step of every cluster, those of
    one cluster in the order in which they are applied."""
    makers = _makers(steps)
    found: dict[Key, _Edges] = {key: _Edges() for key in desired}
    for key in desired:
        if key.cluster is not None:
            _inside(key, desired, found[key])
    for cluster in spec.spec.clusters:
        own = [(key, step) for key, step in steps if step.cluster == cluster.name and key in desired]
        _chain(own, desired, makers, found)
    for service in spec.spec.services:
        edges = found.get(Key("service", service.name))
        if edges is not None:
            _service(service, spec, desired, steps, edges)
            _read(texts(service), makers, desired, edges)
    return {key: _with(d, found[key]) for key, d in desired.items()}


def _with(desired: Desired, edges: _Edges) -> Desired:
    inside = (Key("cluster", desired.key.cluster),) if desired.key.cluster is not None else ()
    return replace(
        desired,
        needs=tuple(sorted({*desired.needs, *edges.needs} - {Need(desired.key)})),
        follows=tuple(sorted({*desired.follows, *edges.follows} - {desired.key})),
        replaces_with=tuple(dict.fromkeys((*desired.replaces_with, *inside))),
    )


def _inside(key: Key, desired: Mapping[Key, Desired], edges: _Edges) -> None:
    """In a cluster: after it, and looked at again when it was started or made anew."""
    cluster = Key("cluster", str(key.cluster))
    edges.needs.add(Need(cluster))
    edges.follows.add(cluster)
    edges.follows |= {n.key for n in desired[key].needs if n.key.kind in _MADE_ON_DISK}


def _chain(
    own: Sequence[tuple[Key, StepResource]],
    desired: Mapping[Key, Desired],
    makers: Mapping[tuple[str, str], tuple[Key, ...]],
    found: Mapping[Key, _Edges],
) -> None:
    """The steps of one cluster, one after the other."""
    before: list[Key] = []
    for key, step in own:
        edges = found[key]
        if before:
            edges.needs.add(Need(before[-1]))
        else:
            edges.needs |= {Need(k) for k in desired if k.kind in _MADE_ON_DISK}
            edges.needs |= {
                Need(k) for k in desired if k.kind in _BEFORE_STACKS and k.cluster == step.cluster
            }
        if step.step.type in LOOKS:
            edges.follows |= {k for k in before if k.name.split("/")[1] == step.stack}
        _read(texts(step.step.model_dump(by_alias=True)), makers, desired, edges)
        for capture in step.reads:
            made = makers.get(capture, ())
            edges.needs |= {Need(k) for k in made if k != key}
            edges.follows |= {k for k in made if k != key}
        if step.step.type in ("template-manifest", "template-file", "for-each"):
            edges.follows |= {k for k in desired if k.kind in ("certificate", "secret")}
        before.append(key)


def _read(
    found: Iterable[str],
    makers: Mapping[tuple[str, str], tuple[Key, ...]],
    desired: Mapping[Key, Desired],
    edges: _Edges,
) -> None:
    """What texts read: captures, and hashes of certificates and secrets."""
    for words in _paths(found):
        match words:
            case ("captures", cluster, key):
                keys = makers.get((cluster, key), ())
            case ("certificates", leaf, _):
                keys = (Key("certificate", leaf),)
            case ("secrets", name, _):
                keys = (Key("secret", name),)
            case _:
                keys = ()
        edges.needs |= {Need(k) for k in keys if k in desired}
        edges.follows |= {k for k in keys if k in desired}


def reads_what_is_made(service: Service) -> bool:
    """Whether the service's texts read a value that only making the lab brings about."""
    return any(words[0] in ("captures", "certificates", "secrets") for words in _paths(texts(service)))


def _paths(found: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for text in found:
        try:
            yield from (e.words for e in expressions(text) if e.words)
        except TemplateBroken:
            continue


def texts(value: object) -> Iterator[str]:
    """Every text in a value that may hold a template. Of a service, its args and env."""
    match value:
        case str():
            if "{{" in value:
                yield value
        case Service():
            yield from texts([*value.args, *value.env.values()])
        case Mapping():
            yield from (t for inner in value.values() for t in texts(inner))
        case list() | tuple():
            yield from (t for inner in value for t in texts(inner))
        case _:
            return


def _makers(steps: Sequence[tuple[Key, StepResource]]) -> Mapping[tuple[str, str], tuple[Key, ...]]:
    made: dict[tuple[str, str], tuple[Key, ...]] = {}
    for key, step in steps:
        for name in step.writes:
            made[step.cluster, name] = (*made.get((step.cluster, name), ()), key)
    return made


def _service(
    service: Service,
    spec: Environment,
    desired: Mapping[Key, Desired],
    steps: Sequence[tuple[Key, StepResource]],
    edges: _Edges,
) -> None:
    for name in service.after:
        cluster, _, stack = name.partition("/")
        own = [key for key, s in steps if s.cluster == cluster and s.stack == stack]
        edges.needs |= {Need(key) for key in own[-1:]}
    sources = [_normal(volume.source) for volume in service.volumes]
    for path, key in _written(spec, steps):
        if key in desired and any(_touch(path, source) for source in sources):
            edges.needs.add(Need(key))


def _written(spec: Environment, steps: Sequence[tuple[Key, StepResource]]) -> Iterator[tuple[str, Key]]:
    """Files and folders that Forge writes, with what writes each."""
    certificates = spec.spec.certificates
    for leaf in certificates.leaves if certificates else ():
        yield _normal(leaf.directory or f".forge/runtime/certs/{leaf.name}"), Key("certificate", leaf.name)
    for authority in certificates.authorities if certificates else ():
        yield f".forge/runtime/certs/{authority.name}", Key("authority", authority.name)
    for secret in spec.spec.secrets:
        yield f".forge/secrets/{secret.name}", Key("secret", secret.name)
    clusters = {c.name: c for c in spec.spec.clusters}
    for key, step in steps:
        target = getattr(step.step, "target", None)
        if isinstance(target, str):
            path = _known(target, clusters[step.cluster], step.stack)
            if path is not None:
                yield _normal(path), key


def _known(text: str, cluster: Cluster, stack: str) -> str | None:
    """The text, if what it says is known before anything runs."""
    scope: Scope = {
        "cluster": {"name": cluster.name, "properties": cluster.properties},
        "stack": {"name": stack},
    }
    try:
        return render(text, scope)
    except TemplateFailed:
        return None


def _normal(path: str) -> str:
    return posixpath.normpath(path)


def _touch(path: str, mounted: str) -> bool:
    """Whether one is the other, or lies in it."""
    return path == mounted or path.startswith(f"{mounted}/") or mounted.startswith(f"{path}/")
