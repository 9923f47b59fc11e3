"""Sets of addresses, asked about for every request: parsed once, answered from a bounded memory."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

_REMEMBERED = 4096  # addresses; the busiest few thousand clients make nearly all requests


def _cidr(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(str(error)) from None
    return text


Cidr = Annotated[str, AfterValidator(_cidr)]
"""`10.0.0.0/8` or one address; host bits must be zero."""


class Networks:
    """Membership of an address in any of the networks."""

    __slots__ = ("_known", "_networks")

    def __init__(self, cidrs: Iterable[str]) -> None:
        self._networks = tuple(ipaddress.ip_network(cidr) for cidr in cidrs)
        self._known: dict[str, bool] = {}

    def __contains__(self, address: str) -> bool:
        known = self._known.get(address)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[address] = self._look(address)
        return known

    def __bool__(self) -> bool:
        return bool(self._networks)

    def _look(self, text: str) -> bool:
        address = parse(text)
        return address is not None and any(
            address.version == network.version and address in network for network in self._networks
        )


def parse(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address, IPv4-mapped IPv6 as IPv4 and without a zone; None when it is none."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def truncated(text: str) -> str:
    """The address without what names one person: /24 of IPv4, /48 of IPv6; empty when it is none."""
    address = parse(text)
    if address is None:
        return ""
    network = ipaddress.ip_network((address, 24 if address.version == 4 else 48), strict=False)
    return str(network.network_address)
