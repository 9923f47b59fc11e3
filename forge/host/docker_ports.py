"""Who holds a port of this machine: a container by its name, or a process by its number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from forge.host import docker_labels, survey
from forge.host.engine import Engine
from forge.plan.ports import PortHolder
from forge.plan.resources import ServiceResource

_REFUSED = re.compile(
    r"(?:[Bb]ind for |listen tcp[46]? |bind host port (?:for )?)"
    r"(\[[0-9a-fA-F:]*\]|\d+(?:\.\d+){3}|[0-9a-fA-F:]*):(\d+)(?=[ /:]|$)"
)
_TAKEN = ("port is already allocated", "address already in use", "ports are not available")


def held(engine: Engine, asked: Collection[tuple[str, int]]) -> tuple[PortHolder, ...]:
    """Those of the asked (bind, port) pairs that are held, in their order."""
    published = list(_published(engine)) if asked else []
    found = (_holder(published, bind, port) for bind, port in asked)
    return tuple(holder for holder in found if holder is not None)


def holder_of_refused(engine: Engine, wanted: ServiceResource, message: str) -> PortHolder | None:
    """Who holds the port that an engine's message says it could not have; None when it says none.

    The engine's own ports are looked at first: its proxy is the process that listens for them.
    """
    place = refused_port(message)
    if place is None:
        return None
    bind, port = place
    asked = next((p.bind for p in wanted.ports if p.host == port), bind)
    holder = _holder(list(_published(engine)), asked, port)
    return holder or PortHolder(asked, port, "another process")


def refused_port(message: str) -> tuple[str, int] | None:
    """(bind, port) that an engine says it could not listen on; None where it says something else."""
    match = _REFUSED.search(message)
    if match is None or not any(words in message for words in _TAKEN):
        return None
    return match[1].strip("[]") or "0.0.0.0", int(match[2])  # noqa: S104 - what nothing means


def _holder(
    published: Collection[tuple[str, int, Mapping[str, Any]]], bind: str, port: int
) -> PortHolder | None:
    for held_bind, held_port, container in published:
        if held_port == port and clash(bind, held_bind):
            labels = container.get("Labels")
            name = str(container["Names"][0]).removeprefix("/")
            owner, key = docker_labels.owner_of(labels), docker_labels.key_of(labels)
            return PortHolder(bind, port, f"container {name}", owner, key)
    return survey.port_holder(bind, port)


def _published(engine: Engine) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """(bind, port, container) of all TCP ports that running containers publish."""
    for container in engine.get("/containers/json"):
        for port in container.get("Ports") or ():
            if port.get("PublicPort") and port.get("Type") == "tcp":
                yield port.get("IP") or "0.0.0.0", int(port["PublicPort"]), container  # noqa: S104 - all


def clash(one: str, other: str) -> bool:
    a, b = ip_address(one), ip_address(other)
    return a.version == b.version and (a == b or a.is_unspecified or b.is_unspecified)
