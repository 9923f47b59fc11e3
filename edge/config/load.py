"""The gateway's file: text to a Gateway, and the rules that hold between its parts.

Nothing is opened here but the file itself. What the chains' filters make of their options is `edge.catalog`'s
to say.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilesystemPath
from typing import Any

from pydantic import Field

from edge.config import document, validate
from edge.config.document import Document
from edge.config.expand import Surroundings
from edge.config.model import Cluster, Gateway, Listener, split_address
from edge.config.problems import ConfigRejected, Path, Problem, did_you_mean
from edge.config.validate import Understood


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration whose own rules hold; or what is left of one without its faults, to find more.

    problems: every one so far; `edge.build` adds its own and refuses. left_out: the file's paths of what
    *gateway* does not have as it was written.
    """

    gateway: Gateway
    document: Document
    surroundings: Surroundings
    left_out: frozenset[Path] = frozenset()
    problems: tuple[Problem, ...] = ()

    def is_whole(self, path: Path, depth: int = 100) -> bool:
        """Whether everything at *path* of *gateway*, and so many steps below, is as it was written."""
        here = self.document.origin(path)
        return not any(out[: len(here)] == here and len(out) <= len(here) + depth for out in self.left_out)

    def names_left_out(self, kind: str) -> frozenset[str] | None:
        """The names of what *kind* (`clusters`, `filter_chains`) has in the file and not here; None when one
        cannot be told."""
        here = self.document.origin((kind,))
        listed = self.document.value.get(here[0]) if isinstance(self.document.value, Mapping) else None
        names: set[str] = set()
        for out in self.left_out:
            if out[:1] != here or not (len(out) < 3 or out[2:] == ("name",)):
                continue
            at = out[1] if len(out) > 1 else None
            item = listed[at] if isinstance(listed, list) and isinstance(at, int) else None
            name = item.get("name") if isinstance(item, Mapping) else None
            if not isinstance(name, str):
                return None
            names.add(name)
        return frozenset(names)


class _Rest(Gateway):
    """What is left of a file may have no listener."""

    listeners: list[Listener] = Field(default_factory=list)


_STAND_INS = {"name": "unnamed-{}", "address": "127.0.0.1:0"}


def load(file: FilesystemPath, environ: Mapping[str, str]) -> Loaded:
    """Reads and checks *file*. Raises ConfigRejected, also when it cannot be read."""
    return _sound(look(file, environ))


def parse(file: str, text: str, surroundings: Surroundings) -> Loaded:
    """As `load`, from text."""
    return _sound(understand(file, text, surroundings))


def _sound(loaded: Loaded) -> Loaded:
    if loaded.problems:
        raise ConfigRejected(loaded.problems)
    return loaded


def look(file: FilesystemPath, environ: Mapping[str, str]) -> Loaded:
    """What *file* says, whatever is wrong with it. Raises ConfigRejected when too little can be understood to
    look further."""
    try:
        with file.open("rb") as opened:
            content = opened.read(document.MAX_BYTES + 1)
        text = content.decode() if len(content) <= document.MAX_BYTES else content.decode(errors="replace")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigRejected([Problem(str(file), 0, 0, "", f"cannot be read: {why}")]) from None
    return understand(str(file), text, Surroundings(environ, file.parent))


def understand(file: str, text: str, surroundings: Surroundings) -> Loaded:
    """As `look`, from text."""
    read = document.read(file, text)
    first = validate.understand(Gateway, read.value, read, surroundings, stand_ins=_STAND_INS)
    rest: Understood[Any] = first
    if first.model is None:
        rest = validate.understand(_Rest, read.value, read, surroundings, stand_ins=_STAND_INS)
    problems = [*read.problems, *first.problems, *rest.problems]
    if rest.model is None:
        raise ConfigRejected(problems)
    loaded = Loaded(rest.model, rest.document, surroundings, rest.left_out)
    problems += [loaded.document.problem(path, why) for rule in RULES for path, why in rule(loaded.gateway)]
    problems += [loaded.document.problem(path, why) for path, why in _chains_exist(loaded)]
    return replace(loaded, problems=tuple(dict.fromkeys(problems)))


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


def _chains_exist(loaded: Loaded) -> Iterator[tuple[Path, str]]:
    left_out = loaded.names_left_out("filter_chains")
    if left_out is None:
        return
    known = [*(chain.name for chain in loaded.gateway.filter_chains), *left_out]
    for index, listener in enumerate(loaded.gateway.listeners):
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
    _admin_is_private,
    _tls_names_the_server,
)
