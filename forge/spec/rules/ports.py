"""Published ports: no two listeners on one port of this machine.

A wildcard address takes the port on every address of its family, `::` and a port without an address
on all. So 0.0.0.0:80 and 127.0.0.1:80 cannot both be had.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from forge.spec.model import Environment
from forge.spec.nodes import Path
from forge.spec.problems import Problem, Severity
from forge.spec.source import Source


@dataclass(frozen=True, slots=True)
class _Listener:
    """bind: None for every address. published: False for what a host-network service is checked on."""

    service: str
    bind: str | None
    port: int
    path: Path
    published: bool = True

    def __str__(self) -> str:
        return f"{self.bind or '*'}:{self.port}"


def ports_do_not_meet(environment: Environment, source: Source) -> Iterator[Problem]:
    taken: dict[tuple[int, str], _Listener] = {}
    for listener in _listeners(environment):
        asked = [(listener.port, group) for group in _groups(listener.bind)]
        other = next((taken[key] for key in asked if key in taken), None)
        if other is not None:
            yield _conflict(listener, other, source)
        for group in _claims(listener.bind):
            taken.setdefault((listener.port, group), listener)


def _listeners(environment: Environment) -> Iterator[_Listener]:
    for index, service in enumerate(environment.spec.services):
        path: Path = ("spec", "services", index)
        if service.network != "host":
            for entry, port in enumerate(service.ports):
                yield _Listener(service.name, port.bind_address, port.host, (*path, "ports", entry, "host"))
        elif service.health_check and service.health_check.port:
            at = (*path, "healthCheck", "port")
            yield _Listener(service.name, None, service.health_check.port, at, published=False)


def _groups(bind: str | None) -> list[str]:
    """What must be free: of a wildcard everything of its family, of an address it and its wildcards."""
    if bind is None:
        return ["v4", "v6"]
    address = ipaddress.ip_address(bind)
    family = f"v{address.version}"
    if address.is_unspecified:  # a socket on :: takes IPv4 too, unless it is told not to
        return ["v4", "v6"] if address.version == 6 else ["v4"]
    return [str(address), f"all {family}"]


def _claims(bind: str | None) -> list[str]:
    """What is taken for others: the counterpart of _groups."""
    if bind is None:
        return ["v4", "v6", "all v4", "all v6"]
    address = ipaddress.ip_address(bind)
    if address.is_unspecified:
        return ["v4", "v6", "all v4", "all v6"] if address.version == 6 else ["v4", "all v4"]
    return [str(address), f"v{address.version}"]


def _conflict(listener: _Listener, other: _Listener, source: Source) -> Problem:
    place = source.place(other.path)
    who = "this service" if other.service == listener.service else f'"{other.service}"'
    message = f"port {listener} is also taken by {who}, as {other} in line {place.line}"
    sure = listener.published and other.published
    return source.problem(
        "FG0120",
        message,
        listener.path,
        help="choose another port, or two different addresses in bindAddress",
        severity=Severity.ERROR if sure else Severity.WARNING,
    )
