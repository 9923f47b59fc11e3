"""One allocator for a lab: its subnet, its services' addresses, its clusters' blocks and pools.

What was given once is kept as long as its owner is in the file, whatever is inserted before it;
what is new takes the first place that is free. A container engine's subnet is cut into quarters:

    first      gateway, and what the engine hands out itself (nodes of clusters)
    second     services, fixed
    the rest   pools of load-balancer addresses, one a cluster

The embedded runtime gets a block of loopback addresses, 127.x.0.0/16, cut into sixteen /20:

    first      services, from 127.x.1.1 on
    the rest   one a cluster, see `places`
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_network

from forge.errors import OperationFailed, UsageError
from forge.plan.values import Allocation

ENGINE_PREFIX = 22
"""1,022 addresses: 250 nodes, 250 services, 25 pools of 20. A docker default network is 65,534 and
there are only about thirty of those."""

_ENGINE_RANGE = IPv4Network("10.64.0.0/10")
_LOOPBACK_BLOCKS = range(16, 255)
"""Second octets of loopback blocks. Below 16 live 127.0.x.x and what systems use (127.0.1.1)."""


_BLOCK = 4096
"""Addresses of one cluster's block: a /20. Half of it are pods, far more than one machine runs."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """environment: its name, which seeds the search. subnet: as the file fixes it, or None.
    network: whether there is a lab network at all. services: those that get an address. clusters:
    those that get a pool; embedded: those that get a block too. pool_size: addresses in each pool,
    0 for none."""

    environment: str
    runtime: str
    network: bool
    services: tuple[str, ...] = ()
    subnet: str | None = None
    clusters: tuple[str, ...] = ()
    embedded: tuple[str, ...] = ()
    pool_size: int = 0


def is_settled(wanted: Wanted, recorded: Allocation) -> bool:
    """Whether *recorded* already holds all that is wanted, so that nobody need look for room."""
    if not wanted.network:
        return True
    fixed = recorded.subnet is not None and wanted.subnet in (None, recorded.subnet)
    pooled = set(wanted.clusters) if wanted.pool_size else set()
    return (
        fixed
        and set(wanted.services) <= set(recorded.addresses)
        and set(wanted.embedded) <= set(recorded.blocks)
        and all(_size(recorded.pools.get(name)) == wanted.pool_size for name in pooled)
    )


def allocate(wanted: Wanted, recorded: Allocation, taken: Mapping[str, str]) -> Allocation:
    """The lab's addresses: recorded ones kept, new ones chosen. taken: CIDR -> who has it, without
    this environment's own.

    Raises UsageError when the file's own subnet is too small, OperationFailed when it is taken or
    no room is left; nothing was changed.
    """
    if not wanted.network:
        return Allocation()
    subnet = _subnet(wanted, recorded, taken)
    kept = recorded if recorded.subnet == str(subnet) else Allocation()
    addresses = _addresses(wanted, subnet, kept.addresses)
    blocks = _blocks(wanted, subnet, kept.blocks)
    return Allocation(str(subnet), addresses, _pools(wanted, subnet, kept.pools, blocks), blocks)


def dynamic_range(subnet: str) -> str:
    """The part of an engine's subnet from which it may hand out addresses itself."""
    return str(next(IPv4Network(subnet).subnets(prefixlen_diff=2)))


def service_range(runtime: str, subnet: str) -> Iterator[IPv4Address]:
    """Addresses for services, lowest first."""
    network = IPv4Network(subnet)
    if runtime == "embedded":
        return (network[i] for i in range(257, _BLOCK) if i % 256 not in (0, 255))
    quarter = network.num_addresses // 4
    return (network[i] for i in range(quarter, 2 * quarter))


@dataclass(frozen=True, slots=True)
class Places:
    """How an embedded cluster's /20 is used. api, node: addresses. services, pods: CIDRs. Between
    services and pods lies its pool of load-balancer addresses."""

    api: str
    node: str
    services: str
    pods: str


def places(block: str) -> Places:
    """512 addresses for the cluster itself, 512 for Services, 1,024 for the pool, 2,048 for pods."""
    network = IPv4Network(block)
    return Places(
        api=str(network[1]),
        node=str(network[2]),
        services=f"{network[512]}/23",
        pods=f"{network[2048]}/21",
    )


def _subnet(wanted: Wanted, recorded: Allocation, taken: Mapping[str, str]) -> IPv4Network:
    if wanted.subnet is not None:
        return _fixed(wanted, recorded, taken)
    if recorded.subnet is not None:
        return IPv4Network(recorded.subnet)
    for candidate in _candidates(wanted):
        if _holder(candidate, taken) is None:
            return candidate
    raise OperationFailed(
        "FG0601",
        f"no room for the network of environment {wanted.environment!r}",
        why=f"every candidate overlaps one of {len(taken)} subnets in use",
        hint="take down environments you no longer need, or set spec.network.subnet",
        changed=False,
    )


def _fixed(wanted: Wanted, recorded: Allocation, taken: Mapping[str, str]) -> IPv4Network:
    subnet = IPv4Network(str(wanted.subnet))
    room = sum(1 for _ in service_range(wanted.runtime, str(subnet)))
    if room < len(wanted.services):
        raise UsageError(
            "FG0602",
            f"spec.network.subnet {subnet} is too small",
            why=f"it has room for {room} services, and {len(wanted.services)} need an address",
            hint="use a larger subnet, such as a /22",
            changed=False,
        )
    holder = _holder(subnet, taken)
    if holder is not None and recorded.subnet != str(subnet):
        raise OperationFailed(
            "FG0601",
            f"spec.network.subnet {subnet} is taken",
            why=holder,
            hint="choose another one, or leave it out and Forge finds one",
            changed=False,
        )
    return subnet


def _blocks(wanted: Wanted, subnet: IPv4Network, kept: Mapping[str, str]) -> Mapping[str, str]:
    """A /20 for each embedded cluster, never the first one, which the services have."""
    if not wanted.embedded:
        return {}
    blocks = {name: kept[name] for name in wanted.embedded if name in kept}
    free = (str(b) for b in list(subnet.subnets(new_prefix=20))[1:] if str(b) not in set(blocks.values()))
    for name in wanted.embedded:
        if name not in blocks:
            block = next(free, None)
            if block is None:
                raise _no_room(f"no block left for cluster {name!r}", f"{subnet} holds 15 clusters")
            blocks[name] = block
    return blocks


def _pools(
    wanted: Wanted, subnet: IPv4Network, kept: Mapping[str, str], blocks: Mapping[str, str]
) -> Mapping[str, str]:
    """A range for each cluster. One that was given once stays, if it still has the size asked for."""
    size = wanted.pool_size
    if not size:
        return {}
    pools = {
        name: kept[name]
        for name in wanted.clusters
        if _size(kept.get(name)) == size and (name not in blocks or _is_in(kept[name], blocks[name]))
    }
    used = [_range(pool) for pool in pools.values()]
    for name in wanted.clusters:
        if name not in pools:
            first = _first_free(name, size, subnet, used, blocks)
            used.append((first, first + size - 1))
            pools[name] = f"{IPv4Address(first)}-{IPv4Address(first + size - 1)}"
    return pools


def _first_free(
    name: str,
    size: int,
    subnet: IPv4Network,
    used: list[tuple[int, int]],
    blocks: Mapping[str, str],
) -> int:
    """Where a pool begins. An embedded cluster's is in its own block, an engine's in the upper half
    of the subnet, without its last address, which is the broadcast."""
    if name in blocks:
        begin = int(IPv4Network(blocks[name])[1024])
        end = begin + 1023
    else:
        half = subnet.num_addresses // 2
        begin, end = int(subnet[half]), int(subnet[-1]) - 1
    for first in [begin, *(last + 1 for _, last in sorted(used))]:
        last = first + size - 1
        if begin <= first and last <= end and not any(a <= last and first <= b for a, b in used):
            return first
    raise _no_room(
        f"no room for the load-balancer addresses of cluster {name!r}",
        f"its {size} addresses do not fit beside the {len(used)} pools in {subnet}",
    )


def _range(pool: str) -> tuple[int, int]:
    first, _, last = pool.partition("-")
    return int(IPv4Address(first)), int(IPv4Address(last))


def _size(pool: str | None) -> int:
    """Addresses in a pool; 0 for none."""
    if pool is None:
        return 0
    first, last = _range(pool)
    return last - first + 1


def _is_in(pool: str, block: str) -> bool:
    network = IPv4Network(block)
    return all(IPv4Address(a) in network for a in _range(pool))


def _no_room(what: str, why: str) -> UsageError:
    return UsageError(
        "FG0602",
        what,
        why=why,
        hint="set a larger spec.network.subnet, such as a /20, or a smaller network.loadBalancer.poolSize",
        changed=False,
    )


def _candidates(wanted: Wanted) -> Iterator[IPv4Network]:
    """All candidates, beginning at a place that the name decides: the same name finds the same
    subnet again on another day, and two labs seldom ask for the same one."""
    if wanted.runtime == "embedded":
        blocks: Iterable[IPv4Network] = [IPv4Network(f"127.{x}.0.0/16") for x in _LOOPBACK_BLOCKS]
    else:
        blocks = _ENGINE_RANGE.subnets(new_prefix=ENGINE_PREFIX)
    every = list(blocks)
    start = int.from_bytes(hashlib.sha256(wanted.environment.encode()).digest()[:4], "big") % len(every)
    yield from every[start:]
    yield from every[:start]


def _holder(candidate: IPv4Network, taken: Mapping[str, str]) -> str | None:
    """Who has a part of it. A default route, or the two half worlds by which a VPN outranks one
    (0.0.0.0/1, 128.0.0.0/1), takes nothing."""
    for cidr, who in taken.items():
        other = ip_network(cidr, strict=False)
        if isinstance(other, IPv4Network) and other.prefixlen > 1 and other.overlaps(candidate):
            return f"{cidr} belongs to {who}"
    return None


def _addresses(wanted: Wanted, subnet: IPv4Network, kept: Mapping[str, str]) -> Mapping[str, str]:
    addresses = {name: kept[name] for name in wanted.services if name in kept}
    used = set(addresses.values())
    free = (str(a) for a in service_range(wanted.runtime, str(subnet)) if str(a) not in used)
    for name in wanted.services:
        if name not in addresses:
            address = next(free, None)
            if address is None:
                raise OperationFailed(
                    "FG0602",
                    f"no address left for service {name!r}",
                    why=f"{subnet} has no more room for services",
                    hint="set a larger spec.network.subnet",
                    changed=False,
                )
            addresses[name] = address
    return addresses
