"""Names that must lead somewhere: stacks, clusters, authorities, secrets."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator

from forge.spec.known import did_you_mean
from forge.spec.model import Environment
from forge.spec.nodes import Path
from forge.spec.problems import Problem
from forge.spec.rules.mounts import CERTIFICATE_FOLDER
from forge.spec.rules.paths import used_paths
from forge.spec.rules.walk import all_steps
from forge.spec.source import Source
from forge.spec.steps import SecretStep

_CLUSTERS: Path = ("spec", "clusters")
_STACKS: Path = ("spec", "stacks")


def stacks_exist(environment: Environment, source: Source) -> Iterator[Problem]:
    declared = source.names(_STACKS)
    for index, cluster in enumerate(environment.spec.clusters):
        for entry, stack in enumerate(cluster.stacks):
            if stack not in declared:
                message = f'cluster "{cluster.name}" uses the stack "{stack}", which is not in spec.stacks'
                yield _unknown(source, message, stack, declared, (*_CLUSTERS, index, "stacks", entry))


def clusters_exist(environment: Environment, source: Source) -> Iterator[Problem]:
    declared = source.names(_CLUSTERS)
    for path, cluster in _named_clusters(environment):
        if cluster not in declared:
            message = f'there is no cluster "{cluster}"'
            yield _unknown(source, message, cluster, declared, path)


def stacks_waited_for_are_applied(environment: Environment, source: Source) -> Iterator[Problem]:
    clusters = {c.name: c for c in environment.spec.clusters}
    declared = source.names(_CLUSTERS)
    for index, service in enumerate(environment.spec.services):
        for entry, after in enumerate(service.after):
            path: Path = ("spec", "services", index, "after", entry)
            name, _, stack = after.partition("/")
            if name not in declared:
                yield _unknown(source, f'there is no cluster "{name}"', name, declared, path)
            elif name in clusters and stack not in clusters[name].stacks:
                message = f'cluster "{name}" does not use a stack "{stack}"'
                yield _unknown(source, message, stack, clusters[name].stacks, path)


def authorities_exist(environment: Environment, source: Source) -> Iterator[Problem]:
    certificates = environment.spec.certificates
    declared = source.names(("spec", "certificates", "authorities"))
    for index, leaf in enumerate(certificates.leaves if certificates else ()):
        if leaf.authority not in declared:
            path: Path = ("spec", "certificates", "leaves", index, "authority")
            message = f'leaf "{leaf.name}" is to be signed by "{leaf.authority}", which is no authority'
            yield _unknown(source, message, leaf.authority, declared, path)


def secrets_exist(environment: Environment, source: Source) -> Iterator[Problem]:
    declared = source.names(("spec", "secrets"))
    for path, step in all_steps(environment):
        if isinstance(step, SecretStep):
            for key, name in step.secrets.items():
                if name not in declared:
                    message = "this names no secret of spec.secrets"  # unquoted: it may be one itself
                    yield _unknown(source, message, name, declared, (*path, "secrets", key))


def forges_own_files_are_made(environment: Environment, source: Source) -> Iterator[Problem]:
    """What lies under .forge/secrets and .forge/runtime/certs is made from the file, or by nobody."""
    secrets = source.names(("spec", "secrets"))
    certificates = source.names(("spec", "certificates", "leaves"))
    certificates |= source.names(("spec", "certificates", "authorities"))
    for used in used_paths(environment):
        parts = posixpath.normpath(used.path).split("/")
        if parts[:2] == [".forge", "secrets"] and len(parts) > 2 and parts[2] not in secrets:
            message = f'spec.secrets has no "{parts[2]}", so nothing makes this file'
            yield _unknown(source, message, parts[2], secrets, used.at)
        made_elsewhere = used.made or len(parts) < 4 or "{{" in used.path
        if parts[:3] == CERTIFICATE_FOLDER.split("/") and not made_elsewhere and parts[3] not in certificates:
            message = f'spec.certificates has no "{parts[3]}", so Forge does not make this file'
            help_ = did_you_mean(parts[3], certificates)
            yield source.warning("FG0121", message, used.at, help=help_)


def _named_clusters(environment: Environment) -> Iterator[tuple[Path, str]]:
    spec = environment.spec
    for index, service in enumerate(spec.services):
        if service.from_cluster is not None:
            yield ("spec", "services", index, "fromCluster"), service.from_cluster
    for index, image in enumerate(spec.images):
        if image.load != ("all",):
            for entry, name in enumerate(image.load):
                yield ("spec", "images", index, "load", entry), name
    for index, leaf in enumerate(spec.certificates.leaves if spec.certificates else ()):
        for entry, target in enumerate(leaf.secrets):
            yield ("spec", "certificates", "leaves", index, "secrets", entry, "cluster"), target.cluster


def _unknown(source: Source, message: str, name: str, declared: Collection[str], path: Path) -> Problem:
    return source.problem("FG0121", message, path, help=did_you_mean(name, declared))
