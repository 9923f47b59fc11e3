"""The daemon's command line: flags into Settings; what cannot be is refused before anything is touched."""

from __future__ import annotations

import argparse
import ipaddress
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import NoReturn, TypeVar

from forge.embedded import daemon
from forge.embedded.lb import pools

T = TypeVar("T")
Range = tuple[int, int]
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME = 63
_NARROWEST = 29


def parse(arguments: list[str]) -> daemon.Settings:
    """The settings that the command line names. Ends the process with code 2 where they cannot be."""
    parser = argparse.ArgumentParser("python -m forge.embedded", description="Runs one embedded cluster.")
    add = parser.add_argument
    add("--name", required=True, type=_typed(name), help="the cluster's name, also of its kubeconfig context")
    add("--dir", required=True, type=Path, help="where it keeps its files")
    add(
        "--listen",
        default="127.0.0.1:0",
        type=_typed(listen),
        help="address and port of the API (0: any free)",
    )
    add("--pod-cidr", default=daemon.POD_CIDR, type=_typed(cidr), help="loopback addresses for pods")
    add(
        "--service-cidr",
        default=daemon.SERVICE_CIDR,
        type=_typed(cidr),
        help="loopback addresses for Services",
    )
    add(
        "--lb-pool",
        default="",
        type=_typed(pool),
        help="addresses for Services of type LoadBalancer: A-B or CIDR",
    )
    add("--images", type=Path, help="file that maps images to commands")
    add("--api-only", action="store_true", help="no node: nothing is run, nothing is reachable")
    add("--lb-interface", default="", help="put load-balancer addresses there, to be reached from outside")
    given = parser.parse_args(arguments)
    for first, second in combinations(_ranges(given.pod_cidr, given.service_cidr, given.lb_pool), 2):
        _refuse_overlap(parser.error, first, second)
    host, port = given.listen
    return daemon.Settings(
        given.name, given.dir, host, port, given.pod_cidr, given.service_cidr,
        given.lb_pool, given.images, not given.api_only, given.lb_interface,
    )  # fmt: skip


def _typed(check: Callable[[str], T]) -> Callable[[str], T]:
    """For argparse: its own words for a ValueError do not say what is wrong."""

    def read(text: str) -> T:
        try:
            return check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def name(text: str) -> str:
    """Raises ValueError for what the Node and the context could not be called."""
    if not _NAME.fullmatch(text) or len(text) > _LONGEST_NAME:
        raise ValueError(f"{text!r} is no name: small letters, digits, - and ., at most {_LONGEST_NAME}")
    return text


def listen(text: str) -> tuple[str, int]:
    """`HOST:PORT` or `:PORT`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} does not end with :PORT, 0 to 65535")
    return host or "127.0.0.1", int(port)


def cidr(text: str) -> str:
    """An IPv4 network with room. Raises ValueError."""
    network = ipaddress.IPv4Network(text)
    if network.prefixlen > _NARROWEST:
        raise ValueError(f"{text} has too few addresses: /{_NARROWEST} is the least")
    return text


def pool(text: str) -> str:
    """Ranges and networks, separated by commas. Raises ValueError."""
    pools.parse_pool(text)
    return text


def _ranges(pods: str, services: str, lb_pool: str) -> list[tuple[str, Range]]:
    found = [("--pod-cidr", pools.parse_range(pods)), ("--service-cidr", pools.parse_range(services))]
    chosen = pools.parse_pool(lb_pool)
    return found + [("--lb-pool", one) for one in (chosen.ranges if chosen else ())]


def _refuse_overlap(
    refuse: Callable[[str], NoReturn], first: tuple[str, Range], second: tuple[str, Range]
) -> None:
    if first[1][0] <= second[1][1] and second[1][0] <= first[1][1]:
        refuse(f"{first[0]} and {second[0]} share addresses: give each its own")
