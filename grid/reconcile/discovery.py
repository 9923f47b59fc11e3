"""GridSites from the mesh: a gateway's address as its own site gossips it, and sites nobody declared.

A site is made up only where its network says so by label, and only named and placed: whom to trust is a
person's decision, so it stays Connecting until somebody pins its certificate. Of a declared site only the
address is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from grid.contract.names import (
    LABEL_AUTO_DISCOVER,
    LABEL_AUTO_DISCOVERED,
    LABEL_MANAGED_BY,
    LABEL_NETWORK,
    label_value,
)
from grid.crd.site import GridSite
from grid.reconcile.actions import WriteSite
from grid.reconcile.world import Member, Membership, World

MANAGER = "grid-operator"
# A Kubernetes name (RFC 1123 subdomain), and `host:port`.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_ADDRESS = re.compile(r"[A-Za-z0-9.\-:\[\]]{1,253}:[0-9]{1,5}", re.ASCII)
_ROLES = {"provider", "edge", "combined"}


def site_writes(world: World) -> Iterator[WriteSite]:
    """What should be written of GridSites."""
    sites = {site.metadata.name: site for site in world.sites}
    yield from _own(sites.get(world.site), world.gateway)
    open_networks = {
        network.metadata.name
        for network in world.networks
        if network.metadata.labels.get(LABEL_AUTO_DISCOVER) == "true"
    }
    for (network, name), member in sorted(world.members.items()):
        if name == world.site or member.state is not Membership.ALIVE:
            continue
        site = sites.get(name)
        if site is None:
            if network in open_networks and _NAME.fullmatch(name):
                yield WriteSite(name, _found(network, member), _labels(network))
        elif site.spec.grid_network_ref == network:
            yield from _kept(site, network, member)


def _own(site: GridSite | None, address: str) -> Iterator[WriteSite]:
    """Our own site's address is our gateway's Service's, unless somebody names another."""
    if site is None or site.spec.egress is not None or not _ADDRESS.fullmatch(address):
        return
    known = site.spec.gateway_endpoint.address if site.spec.gateway_endpoint else ""
    if address != known:
        yield WriteSite(site.metadata.name, {"gatewayEndpoint": {"address": address}}, {})


def _kept(site: GridSite, network: str, member: Member) -> Iterator[WriteSite]:
    """A found site follows what it gossips; a declared one its address, unless somebody else names that,
    and the name of its certificate, where nobody has said it. Whether it is that site, its pins decide."""
    if site.metadata.labels.get(LABEL_AUTO_DISCOVERED) == "true":
        wanted = _found(network, member)
        if not _holds(site, wanted):
            yield WriteSite(site.metadata.name, wanted, _labels(network))
        return
    if site.spec.egress is None and (address := _address(member)):
        endpoint: dict[str, Any] = {"address": address}
        named = site.endpoint.tls.server_name if site.endpoint else None
        said = member.facts.server_name[:253]
        # A name we gave is given again with each address, or it would be taken away with it.
        if said and named in {None, said}:
            endpoint["tls"] = {"serverName": said}
        if not _holds(site, {"gatewayEndpoint": endpoint}):
            yield WriteSite(site.metadata.name, {"gatewayEndpoint": endpoint}, {})


def _found(network: str, member: Member) -> dict[str, Any]:
    facts = member.facts
    spec: dict[str, Any] = {
        "gridNetworkRef": network,
        "role": facts.role if facts.role in _ROLES else "provider",
    }
    said = {"region": facts.region, "zone": facts.zone, "sovereigntyZone": facts.sovereignty_zone}
    spec.update({field: value for field, value in said.items() if value})
    if address := _address(member):
        tls = {"mode": "Mutual", **({"serverName": facts.server_name[:253]} if facts.server_name else {})}
        spec["gatewayEndpoint"] = {"address": address, "tls": tls}
    return spec


def _address(member: Member) -> str:
    return member.address if _ADDRESS.fullmatch(member.address) else ""


def _holds(site: GridSite, wanted: Mapping[str, Any]) -> bool:
    """Whether the site says all that is wanted, whatever else it says."""
    return _within(wanted, site.spec.model_dump(by_alias=True))


def _within(wanted: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    for field, value in wanted.items():
        there = held.get(field)
        if isinstance(value, dict):
            if not isinstance(there, dict) or not _within(value, there):
                return False
        elif there != value:
            return False
    return True


def _labels(network: str) -> dict[str, str]:
    return {
        LABEL_MANAGED_BY: MANAGER,
        LABEL_NETWORK: label_value(network),
        LABEL_AUTO_DISCOVERED: "true",
    }
