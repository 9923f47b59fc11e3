"""A loaded configuration becomes everything the server needs, or nothing: what `-t` checks and a reload
builds.

Key material, secrets and other files are read here and nowhere later. Nothing that serves is touched until
the server takes a Built into use.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path as FilesystemPath

from edge.built import Built, Outside, digest
from edge.catalog import build_chains
from edge.chain import Chain
from edge.clusters import Found, Live, find_clusters, tls_files
from edge.config.load import Loaded
from edge.config.model import ListenerTls as TlsModel
from edge.config.problems import ConfigRejected, Path, Problem
from edge.setup import Files, Setup
from edge.tls import CertificateFiles, ListenerFiles, ListenerTls, TlsUnusable
from edge.wire.pool import Cluster, Endpoint

_VERSIONS = {"tls12": ssl.TLSVersion.TLSv1_2, "tls13": ssl.TLSVersion.TLSv1_3}


def build(loaded: Loaded, outside: Outside, previous: Built | None = None) -> Built:
    """Raises ConfigRejected with every problem, those of *loaded* among them; then nothing was changed but
    state nobody uses yet."""
    files = Files()
    chains: dict[str, Chain] = {}
    pool = loaded.gateway.runtime.upstream_keepalive_pool_size
    found = find_clusters(loaded, previous.clusters if previous else {}, pool)
    problems, clusters = [*loaded.problems, *found.problems], found.live
    outside.kept.begin()
    setup = Setup(
        "",
        outside.kept,
        files,
        outside.metrics,
        {**_stand_ins(found), **{name: live.cluster for name, live in clusters.items()}},
        outside.now,
        outside.wall,
        outside.new_id,
        outside.access,
    )
    try:
        chains = build_chains(loaded, setup)
    except ConfigRejected as rejected:
        problems += [p for p in rejected.problems if found.unusable is not None or "no cluster" not in p.why]
    tls = _listeners_tls(loaded, problems)
    status_tls = _status_tls(loaded, problems)
    if problems:
        raise ConfigRejected(problems)
    read = frozenset((FilesystemPath(loaded.document.file), *files.seen, *_tls_paths(loaded, clusters)))
    return Built(loaded, chains, clusters, tls, read, _digest(loaded, read), status_tls)


def _stand_ins(found: Found) -> dict[str, Cluster]:
    """That a cluster is missing for reasons of its own is no second problem of what names it."""
    return {name: Cluster(name, [Endpoint("127.0.0.1", 1)]) for name in found.unusable or ()}


def _digest(loaded: Loaded, read: frozenset[FilesystemPath]) -> str:
    """Of what was built; empty, which no contents have, when the configuration was replaced meanwhile."""
    found = digest(read)
    try:
        is_same = FilesystemPath(loaded.document.file).read_text() == loaded.document.text
    except (OSError, UnicodeDecodeError):
        is_same = False
    return found if is_same else ""


def _listeners_tls(loaded: Loaded, problems: list[Problem]) -> dict[str, ListenerTls]:
    made: dict[str, ListenerTls] = {}
    for index, listener in enumerate(loaded.gateway.listeners):
        if listener.tls is None:
            continue
        found = _tls(listener.tls, loaded, ("listeners", index, "tls"), problems)
        if found is not None:
            made[listener.name] = found
    return made


def _status_tls(loaded: Loaded, problems: list[Problem]) -> ListenerTls | None:
    status = loaded.gateway.admin.status if loaded.gateway.admin else None
    return _tls(status.tls, loaded, ("admin", "status", "tls"), problems) if status else None


def _tls(model: TlsModel, loaded: Loaded, path: Path, problems: list[Problem]) -> ListenerTls | None:
    try:
        return ListenerTls(_tls_files(model))
    except TlsUnusable as unusable:
        problems.append(loaded.document.problem(path, str(unusable)))
        return None


def _tls_files(tls: TlsModel) -> ListenerFiles:
    return ListenerFiles(
        tuple(
            CertificateFiles(
                FilesystemPath(c.cert_path), FilesystemPath(c.key_path), tuple(c.server_names), c.default
            )
            for c in tls.certificates
        ),
        FilesystemPath(tls.client_ca.ca_path) if tls.client_ca else None,
        tls.client_cert_mode,
        _VERSIONS[tls.min_version],
    )


def _tls_paths(loaded: Loaded, clusters: dict[str, Live]) -> Iterator[FilesystemPath]:
    admin = loaded.gateway.admin
    models = [listener.tls for listener in loaded.gateway.listeners]
    for model in (*models, admin.status.tls if admin and admin.status else None):
        if model is None:
            continue
        files = _tls_files(model)
        for certificate in files.certificates:
            yield certificate.certificate
            yield certificate.key
        if files.client_ca is not None:
            yield files.client_ca
    for live in clusters.values():
        yield from tls_files(live.model)
