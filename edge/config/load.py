"""The gateway's file: text to a Gateway, and the rules that hold between its parts.

Nothing is opened here but the file itself. What the chains' filters make of their options is `edge.catalog`'s
to say.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilesystemPath

from edge.config import document
from edge.config.document import Document
from edge.config.expand import Surroundings
from edge.config.model import Cluster, Gateway, split_address
from edge.config.problems import ConfigRejected, Path, Problem, did_you_mean
from edge.config.validate import validate


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration whose own rules hold."""

    gateway: Gateway
    document: Document
    surroundings: Surroundings


def load(file: FilesystemPath, environ: Mapping[str, str]) -> Loaded:
    """Reads and checks *file*. Raises ConfigRejected, also when it cannot be read."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigRejected([Problem(str(file), 0, 0, "", f"cannot be read: {why}")]) from None
    return parse(str(file), text, Surroundings(environ, file.parent))


def parse(file: str, text: str, surroundings: Surroundings) -> Loaded:
    """As `load`, from text."""
    read = document.read(file, text)
    gateway = validate(Gateway, read.value, read, surroundings)
    problems = [read.problem(path, why) for rule in RULES for path, why in rule(gateway)]
    if problems:
        raise ConfigRejected(problems)
    return Loaded(gateway, read, surroundings)


def _names_are_unique(gateway: Gateway) -> Iterator[tuple[Path, str]]:
    yield from _twice("listeners", [listener.name for listener in gateway.listeners])
    yield from _twice("filter_chains", [chain.name for chain in gateway.filter_chains])
    yield from _twice("clusters", [cluster.name for cluster in gateway.clusters])


def _filter_names_are_unique(gateway: Gateway) -> Iterator[tuple[Path, str]]:
    """Within a chain: a filter's name is what its state is kept by over a reload."""
    for index, chain in enumerate(gateway.filter_chains):
        seen = set[str]()
        for at, entry in enumerate(chain.filters):
            if entry.name is not None and entry.name in seen:
                yield ("filter_chains", index, "filters", at, "name"), f"{entry.name!r} stands twice"
            seen.add(entry.name or "")


def _twice(kind: str, names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    seen = set[str]()
    for index, name in enumerate(names):
        if name in seen:
            yield (kind, index, "name"), f"{name!r} stands twice"
        seen.add(name)


def _addresses_are_unique(gateway: Gateway) -> Iterator[tuple[Path, str]]:
    seen = dict[str, str]()
    for index, listener in enumerate(gateway.listeners):
        port = split_address(listener.address)[1]
        if port and listener.address in seen:
            yield ("listeners", index, "address"), f"{seen[listener.address]} listens there already"
        seen[listener.address] = listener.name


def _chains_exist(gateway: Gateway) -> Iterator[tuple[Path, str]]:
    known = [chain.name for chain in gateway.filter_chains]
    for index, listener in enumerate(gateway.listeners):
        for at, name in enumerate(listener.filter_chains):
            if name not in known:
                yield (
                    ("listeners", index, "filter_chains", at),
                    f"no chain {name!r}{did_you_mean(name, known)}",
                )


def _admin_is_private(gateway: Gateway) -> Iterator[tuple[Path, str]]:
    admin = gateway.admin
    if admin is None or gateway.insecure_options.allow_public_admin:
        return
    if not _is_private(admin.address):
        why = f"{split_address(admin.address)[0]} is not loopback or private"
        yield ("admin", "address"), f"{why} (insecure_options.allow_public_admin)"
    status = admin.status
    if status and status.tls.client_cert_mode != "require" and not _is_private(status.address):
        why = f"{split_address(status.address)[0]} is not loopback or private"
        yield ("admin", "status", "address"), f"{why}, and tls.client_cert_mode is not require"


def _is_private(address: str) -> bool:
    host = ipaddress.ip_address(split_address(address)[0])
    return not host.is_unspecified and (host.is_loopback or host.is_private)


def _tls_names_the_server(gateway: Gateway) -> Iterator[tuple[Path, str]]:
    if gateway.insecure_options.allow_tls_without_sni:
        return
    for index, cluster in enumerate(gateway.clusters):
        if lacks_sni(cluster):
            yield ("clusters", index, "tls"), "sni is required while certificates are verified"


def lacks_sni(cluster: Cluster) -> bool:
    return cluster.tls is not None and cluster.tls.verify and cluster.tls.sni is None


Rule = Callable[[Gateway], Iterator[tuple[Path, str]]]
RULES: tuple[Rule, ...] = (
    _names_are_unique,
    _filter_names_are_unique,
    _addresses_are_unique,
    _chains_exist,
    _admin_is_private,
    _tls_names_the_server,
)
