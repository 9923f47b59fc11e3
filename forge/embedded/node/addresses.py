"""Which loopback address a new pod gets. Pure.

Addresses are given in turn, so that one that was let go is not given again while clients may still hold
it. The first of the range is the node's own, unless the API listens where other machines reach it.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Container


def node_address(cidr: str, host: str = "") -> str:
    """The node's own. host: where the API listens; a name or a wildcard is no address."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        if not address.is_loopback and not address.is_unspecified:
            return host
    return str(ipaddress.IPv4Network(cidr)[1])


def next_address(cidr: str, taken: Container[str], last: str = "") -> str | None:
    """The first free address after *last*; None when the range is full."""
    network = ipaddress.IPv4Network(cidr)
    usable = network.num_addresses - 3  # without the network's, the node's and the last
    if usable <= 0:
        return None
    begin = 0
    if last and ipaddress.IPv4Address(last) in network:
        begin = int(ipaddress.IPv4Address(last)) - int(network[2]) + 1
    for step in range(usable):
        address = str(network[2 + (begin + step) % usable])
        if address not in taken:
            return address
    return None
