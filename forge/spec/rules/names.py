"""Names: each once, and short enough for what is derived from it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from forge.spec.model import Cluster, Environment
from forge.spec.nodes import Path
from forge.spec.problems import Problem
from forge.spec.rules.walk import all_steps
from forge.spec.source import Source
from forge.spec.steps import ConfigMapStep, SecretStep

MAX_DERIVED = 63
"""Names of containers and nodes are host names on the lab network: one DNS label (RFC 1035, 2.3.4)."""


def names_are_unique(environment: Environment, source: Source) -> Iterator[Problem]:
    spec = environment.spec
    certificates = spec.certificates
    authorities = certificates.authorities if certificates else ()
    leaves = certificates.leaves if certificates else ()
    yield from _unique(source, "cluster", ("spec", "clusters"), [c.name for c in spec.clusters])
    yield from _unique(source, "service", ("spec", "services"), [s.name for s in spec.services])
    yield from _unique(source, "image", ("spec", "images"), [i.name for i in spec.images])
    yield from _unique(source, "secret", ("spec", "secrets"), [s.name for s in spec.secrets])
    yield from _unique(source, "input", ("spec", "inputs"), [i.name for i in spec.inputs])
    under = ("spec", "certificates")
    yield from _unique(source, "authority", (*under, "authorities"), [a.name for a in authorities])
    yield from _unique(source, "leaf", (*under, "leaves"), [leaf.name for leaf in leaves])
    for index, leaf in enumerate(leaves):
        if leaf.name in {a.name for a in authorities}:
            message = f'the leaf "{leaf.name}" has the name of an authority, and both want its folder'
            yield source.problem("FG0115", message, (*under, "leaves", index, "name"))


def _unique(source: Source, what: str, path: Path, names: Sequence[str]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            line = source.place((*path, first[name], "name")).line
            message = f'a second {what} is called "{name}"; the first is in line {line}'
            yield source.problem("FG0115", message, (*path, index, "name"), help="give it another name")
        first.setdefault(name, index)


def mounts_have_their_own_place(environment: Environment, source: Source) -> Iterator[Problem]:
    """No two volumes of a service at one target: the engine would refuse, or hide one."""
    for index, service in enumerate(environment.spec.services):
        seen: set[str] = set()
        for entry, volume in enumerate(service.volumes):
            target = posixpath.normpath(volume.target)
            if target in seen:
                message = f'"{service.name}" mounts two volumes at "{target}"'
                path = ("spec", "services", index, "volumes", entry, "target")
                yield source.problem("FG0115", message, path, help="give each its own target")
            seen.add(target)


def entries_have_one_source(environment: Environment, source: Source) -> Iterator[Problem]:
    """An entry of a ConfigMap or Secret step comes from data, a file or a secret, not from two."""
    for path, step in all_steps(environment):
        if isinstance(step, (ConfigMapStep, SecretStep)):
            seen: dict[str, str] = {}
            for origin in ("data", "files", "secrets"):
                for key in getattr(step, origin, ()):
                    if key in seen:
                        message = f'the entry "{key}" stands under {seen[key]} too'
                        yield source.problem("FG0115", message, (*path, origin, key), on_key=True)
                    seen.setdefault(key, origin)


def derived_names_fit(environment: Environment, source: Source) -> Iterable[Problem]:
    name, spec = environment.metadata.name, environment.spec
    for index, service in enumerate(spec.services):
        container = f"{name}-{service.name}"
        if len(container) > MAX_DERIVED:
            path = ("spec", "services", index, "name")
            yield _too_long(
                source, "container", container, path, "the name of the environment or the service"
            )
    for index, cluster in enumerate(spec.clusters):
        if spec.runtime.provider == "embedded" or cluster.driver in ("existing", "embedded"):
            continue
        node = _longest_node(spec.runtime.cluster_prefix, cluster)
        if len(node) > MAX_DERIVED:
            path = ("spec", "clusters", index, "name")
            yield _too_long(source, "node", node, path, "the cluster's name or spec.runtime.clusterPrefix")


def _too_long(source: Source, what: str, derived: str, path: Path, shorten: str) -> Problem:
    message = (
        f'its {what} would be called "{derived}": {len(derived)} characters, and {MAX_DERIVED} is the limit'
    )
    return source.problem("FG0116", message, path, help=f"shorten {shorten} by {len(derived) - MAX_DERIVED}")


def _longest_node(prefix: str, cluster: Cluster) -> str:
    """KIND counts from the second node of a role: control-plane, control-plane2."""
    planes, workers = cluster.nodes.control_planes, cluster.nodes.workers
    role = "control-plane" + (str(planes) if planes > 1 else "")
    if planes > 1:
        return max(
            f"{prefix}-{cluster.name}-{role}", f"{prefix}-{cluster.name}-external-load-balancer", key=len
        )
    worker = f"worker{workers}" if workers > 1 else "worker"
    return f"{prefix}-{cluster.name}-{max(role, worker, key=len)}"
