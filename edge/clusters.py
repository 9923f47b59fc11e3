"""Configured clusters to live ones: the pool, its timeouts, its TLS, and what must stay when a reload changes
nothing.

A cluster may stand at the top of the file, inside a `load_balancer`, or in both places with the health check
at the top, as the reference's files have it. The two must then name the same endpoints.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilesystemPath
from typing import Any

from edge.config import validate
from edge.config.load import Loaded, lacks_sni
from edge.config.model import Cluster as Model
from edge.config.model import split_address
from edge.config.problems import Path, Problem
from edge.filters import load_balancer
from edge.tls import TlsUnusable, UpstreamContext, UpstreamFiles
from edge.wire.balance import KeyFrom, strategy_of
from edge.wire.pool import Balancing, Caps, Cluster, Endpoint, Timeouts, UpstreamTls

_SESSIONS = frozenset(("grid_route", "intelligent_route"))


@dataclass(slots=True)
class Context:
    """The TLS context of a cluster's next connection; exchanged when its files were renewed."""

    now: UpstreamContext

    def __call__(self) -> ssl.SSLContext:
        return self.now()


@dataclass(frozen=True, slots=True)
class Live:
    """context: None without TLS. renewed: what *context* becomes when this configuration is taken into
    use."""

    model: Model
    cluster: Cluster
    context: Context | None = None
    renewed: UpstreamContext | None = None

    def take_over(self) -> None:
        if self.context is not None and self.renewed is not None:
            self.context.now = self.renewed


@dataclass(slots=True)
class Found:
    """live: by name. unusable: names of clusters that are in the file and cannot be live; None when one has
    no name that can be told. problems: of all of them."""

    live: dict[str, Live] = field(default_factory=dict)
    unusable: set[str] | None = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def lacks(self, names: Iterable[str] | None) -> None:
        self.unusable = None if names is None or self.unusable is None else self.unusable.union(names)


def find_clusters(loaded: Loaded, previous: Mapping[str, Live], idle: int) -> Found:
    """Each one live; where its configuration did not change it is the previous one, with its connections."""
    found = Found()
    found.lacks(loaded.names_left_out("clusters"))
    sessions = _knows_sessions(loaded)
    for path, model in _models(loaded, found):
        if model.load_balancer_strategy.key == "session" and not sessions:
            at = (*path, "load_balancer_strategy")
            found.problems.append(
                loaded.document.problem(at, "key: session needs a grid_route with affinity")
            )
        try:
            found.live[model.name] = _live(model, previous.get(model.name), idle)
        except TlsUnusable as unusable:
            found.problems.append(loaded.document.problem((*path, "tls"), str(unusable)))
            found.lacks((model.name,))
    return found


def _models(loaded: Loaded, result: Found) -> Iterator[tuple[Path, Model]]:
    """Every cluster once, with its place; what stands twice is merged or is a problem."""
    found: dict[str, tuple[Path, Model]] = {
        model.name: (("clusters", index), model) for index, model in enumerate(loaded.gateway.clusters)
    }
    document, top = loaded.document, set(found)
    for path, options in _inline(loaded):
        read = validate.understand(load_balancer.Options, options, document, loaded.surroundings, path)
        if read.left_out or read.model is None:  # told by the filter's own building
            result.lacks(_named(options))
        for index, model in enumerate(read.model.clusters if read.model else ()):
            at = (*path, "clusters", index)
            if lacks_sni(model) and not loaded.gateway.insecure_options.allow_tls_without_sni:
                result.problems.append(
                    read.document.problem((*at, "tls"), "sni is required while certificates are verified")
                )
            if model.name not in found:
                found[model.name] = at, model
                continue
            known = found[model.name][1]
            merged = _merged(known, model) if model.name in top else known
            if merged is None or (model.name not in top and model != known):
                where = "at the top of the file" if model.name in top else "in another load_balancer"
                why = f"{model.name} has other endpoints or settings {where}"
                result.problems.append(read.document.problem(at, why))
            else:
                found[model.name] = found[model.name][0], merged
    yield from found.values()


def _named(options: Mapping[str, Any]) -> set[str] | None:
    """The names of the clusters in a load_balancer that is not sound; None when one cannot be told."""
    listed = options.get("clusters")
    names = [item.get("name") if isinstance(item, dict) else None for item in listed or ()]
    return None if None in names else {str(name) for name in names}


def _inline(loaded: Loaded) -> Iterator[tuple[Path, dict[str, Any]]]:
    for index, chain in enumerate(loaded.gateway.filter_chains):
        for at, entry in enumerate(chain.filters):
            if entry.filter == "load_balancer":
                yield ("filter_chains", index, "filters", at), entry.options


def _knows_sessions(loaded: Loaded) -> bool:
    """Whether some filter finds out a request's session."""
    entries = (entry for chain in loaded.gateway.filter_chains for entry in chain.filters)
    asked = [entry.options.get("affinity") for entry in entries if entry.filter in _SESSIONS]
    return any(isinstance(affinity, dict) and affinity.get("enabled", True) for affinity in asked)


def _merged(top: Model, inline: Model) -> Model | None:
    """*inline* with what only *top* says; None when they disagree."""
    if top.endpoints != inline.endpoints:
        return None
    both = top.model_fields_set & inline.model_fields_set
    if any(getattr(top, name) != getattr(inline, name) for name in both):
        return None
    return inline.model_copy(update={name: getattr(top, name) for name in top.model_fields_set - both})


def _live(model: Model, before: Live | None, idle: int) -> Live:
    """Raises TlsUnusable."""
    renewed = None if model.tls is None else UpstreamContext(_files(model))
    if before is not None and before.model == model:
        return Live(model, before.cluster, before.context, renewed)
    context = None if renewed is None else Context(renewed)
    endpoints = [Endpoint(*split_address(e.address), weight=e.weight) for e in model.endpoints]
    server_name = (model.tls.sni if model.tls else None) or endpoints[0].host
    cluster = Cluster(
        model.name,
        endpoints,
        authority=model.host,
        timeouts=_timeouts(model),
        caps=Caps(model.max_connections, idle, _idle_s(model), model.max_attempts),
        balancing=_balancing(model, endpoints),
        tls=None if context is None else UpstreamTls(context, server_name),
    )
    return Live(model, cluster, context, renewed)


def _balancing(model: Model, endpoints: Sequence[Endpoint]) -> Balancing:
    wanted, key_from = model.load_balancer_strategy, None
    if wanted.name == "consistent_hash":
        key_from = KeyFrom(wanted.hashes, (wanted.header or "").lower().encode())
    panic_percent = model.health_check.panic_threshold_percent if model.health_check else 0
    return Balancing(strategy_of(wanted.name, endpoints), key_from, panic_percent)


def _files(model: Model) -> UpstreamFiles:
    tls = model.tls
    if tls is None:
        return UpstreamFiles()
    client = tls.client_cert
    return UpstreamFiles(
        ca=FilesystemPath(tls.ca.ca_path) if tls.ca else None,
        certificate=FilesystemPath(client.cert_path) if client else None,
        key=FilesystemPath(client.key_path) if client else None,
        verify=tls.verify,
    )


def _timeouts(model: Model) -> Timeouts:
    default = Timeouts()

    def seconds(millis: int | None, otherwise: float) -> float:
        return otherwise if millis is None else millis / 1000

    connect = model.total_connection_timeout_ms or model.connection_timeout_ms
    return Timeouts(
        connect_s=seconds(connect, default.connect_s),
        first_byte_s=seconds(model.first_byte_timeout_ms, default.first_byte_s),
        idle_s=seconds(model.read_timeout_ms, default.idle_s),
        total_s=None if model.total_timeout_ms is None else model.total_timeout_ms / 1000,
    )


def _idle_s(model: Model) -> float:
    return Caps().idle_s if model.idle_timeout_ms is None else model.idle_timeout_ms / 1000


def tls_files(model: Model) -> Iterator[FilesystemPath]:
    """What a renewal of this cluster's material would change."""
    files = _files(model)
    yield from (path for path in (files.ca, files.certificate, files.key) if path is not None)
