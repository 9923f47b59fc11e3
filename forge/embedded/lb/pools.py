"""Which address a Service of type LoadBalancer gets: MetalLB's rules, on values. Pure.

Pools come from the cluster's start (`default`) and from IPAddressPool objects. A Service may name a pool
or the address itself; an address once given stays with its Service for as long as it is allowed, and is
never on two Services at once.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forge.embedded.api import selectors
from forge.embedded.api.values import Json, dig

DEFAULT = "default"
_MOST = 65_536
"""Addresses looked at in one pool: a lab's pool has tens."""

_POOL = ("metallb.io/address-pool", "metallb.universe.tf/address-pool")
_ADDRESSES = ("metallb.io/loadBalancerIPs", "metallb.universe.tf/loadBalancerIPs")


@dataclass(frozen=True, slots=True)
class Pool:
    """ranges: first and last address, inclusive, as numbers. automatic: used without being named.
    advertised: reachable; an address of a pool nobody advertises is given but leads nowhere.
    namespaces: whose Services it serves; None for all. priority: lower ones first."""

    name: str
    ranges: tuple[tuple[int, int], ...]
    automatic: bool = True
    advertised: bool = True
    namespaces: frozenset[str] | None = None
    priority: int = 0

    def holds(self, address: str) -> bool:
        number = int(ipaddress.IPv4Address(address))
        return any(first <= number <= last for first, last in self.ranges)

    def addresses(self) -> Iterable[str]:
        for first, last in self.ranges:
            for number in range(first, min(last, first + _MOST) + 1):
                yield str(ipaddress.IPv4Address(number))


@dataclass(frozen=True, slots=True)
class Given:
    """address: empty when there is none to give, and *why* says so. pool: where it is from."""

    address: str = ""
    pool: str = ""
    why: str = ""


def parse_range(text: str) -> tuple[int, int]:
    """`A-B` or CIDR as numbers. Raises ValueError."""
    first, dash, last = text.strip().partition("-")
    if dash:
        pair = int(ipaddress.IPv4Address(first.strip())), int(ipaddress.IPv4Address(last.strip()))
        if pair[0] > pair[1]:
            raise ValueError(f"the range {text!r} ends before it begins")
        return pair
    network = ipaddress.IPv4Network(text.strip(), strict=False)
    return int(network[0]), int(network[-1])


def parse_pool(text: str) -> Pool | None:
    """The pool of the cluster's start: ranges, comma separated; None for an empty text. Raises
    ValueError."""
    parts = [part for part in text.split(",") if part.strip()]
    return Pool(DEFAULT, tuple(parse_range(part) for part in parts), priority=_MOST) if parts else None


def of_objects(objects: Sequence[Json], advertisements: Sequence[Json]) -> tuple[Pool, ...]:
    """Pools of IPAddressPool objects. Ranges that cannot be read are left out, since their webhook
    would have refused them."""
    return tuple(
        _pool(one, advertisements) for one in objects if not dig(one, "metadata", "deletionTimestamp")
    )


def _pool(one: Json, advertisements: Sequence[Json]) -> Pool:
    spec = one.get("spec") or {}
    ranges = []
    for text in spec.get("addresses") or []:
        try:
            ranges.append(parse_range(text))
        except ValueError:
            continue
    allocation = spec.get("serviceAllocation") or {}
    namespaces = allocation.get("namespaces")
    return Pool(
        one["metadata"]["name"],
        tuple(ranges),
        automatic=spec.get("autoAssign") is not False,
        advertised=any(_advertises(a, one) for a in advertisements),
        namespaces=frozenset(namespaces) if namespaces else None,
        priority=int(allocation.get("priority") or _MOST - 1),
    )


def _advertises(advertisement: Json, pool: Json) -> bool:
    """One that names no pool at all is for every pool."""
    spec = advertisement.get("spec") or {}
    if advertisement["metadata"].get("namespace") != pool["metadata"].get("namespace"):
        return False
    names, chosen = spec.get("ipAddressPools") or [], spec.get("ipAddressPoolSelectors") or []
    if not names and not chosen:
        return True
    labels = pool["metadata"].get("labels") or {}
    return pool["metadata"]["name"] in names or any(
        selectors.label_selector(one).matches(labels) for one in chosen
    )


def choose(service: Json, pools: Sequence[Pool], taken: Mapping[str, str]) -> Given:
    """The address of *service*. taken: addresses to the `namespace/name` that has each."""
    namespace, me = service["metadata"].get("namespace", ""), _me(service)
    fit = sorted(
        (p for p in pools if p.namespaces is None or namespace in p.namespaces),
        key=lambda p: (p.priority, p.name),
    )
    asked = _asked(service)
    named = _annotation(service, _POOL)
    if asked:
        return _exactly(asked, named, fit, taken, me)
    if named and named not in {p.name for p in fit}:
        return Given(why=f'unknown pool "{named}"')
    usable = [p for p in fit if (p.name == named if named else p.automatic)]
    held = next((a for a in current(service) if taken.get(a, me) == me), "")
    for pool in fit:
        if held and pool.holds(held) and (not named or pool.name == named):
            return Given(held, pool.name)
    for pool in usable:
        for address in pool.addresses():
            if address not in taken:
                return Given(address, pool.name)
    return Given(why=f'no available IPs in pool "{named}"' if named else "no available IPs")


def _exactly(asked: str, named: str, pools: Sequence[Pool], taken: Mapping[str, str], me: str) -> Given:
    try:
        pool = next((p for p in pools if p.holds(asked) and named in ("", p.name)), None)
    except ValueError:
        return Given(why=f'invalid spec.loadBalancerIP "{asked}"')
    if pool is None:
        return Given(why=f'"{asked}" is not allowed in config')
    if taken.get(asked, me) != me:
        return Given(why=f'can\'t change sharing key for "{me}", address also in use by {taken[asked]}')
    return Given(asked, pool.name)


def _me(service: Json) -> str:
    return f"{service['metadata'].get('namespace', '')}/{service['metadata']['name']}"


def current(service: Json) -> list[str]:
    """The addresses that its status says it has."""
    return [str(i["ip"]) for i in dig(service, "status", "loadBalancer", "ingress") or [] if i.get("ip")]


def wants_address(service: Json) -> bool:
    """Whether it is ours to serve."""
    spec = service["spec"]
    return spec.get("type") == "LoadBalancer" and spec.get("loadBalancerClass") in (
        None,
        "",
        "metallb.io/metallb",
    )


def _asked(service: Json) -> str:
    text = _annotation(service, _ADDRESSES) or service["spec"].get("loadBalancerIP") or ""
    return str(text).split(",", maxsplit=1)[0].strip()


def _annotation(service: Json, names: Sequence[str]) -> str:
    held = service["metadata"].get("annotations") or {}
    return next((str(held[name]) for name in names if held.get(name)), "")
