"""A grid of three clusters for tests: an API each in a process of its own, an operator each, one shared key.

Operators speak to each other on loopback addresses of their own; provider sites have a gateway as far as a TLS
handshake goes. edge-control is an edge site, and the only one that renders an overlay.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from grid.kube.client import Client, connect
from grid.kube.port import GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER, SECRET, Kind, KubeFault
from tests.kit.certs import Authority, Leaf
from tests.kit.embedded_api import SYSTEM, EmbeddedApi, prepare
from tests.kit.embedded_cluster import EmbeddedCluster
from tests.kit.operators import Operator, door, identity, operator, told
from tests.kit.resources import gateway

EAST, WEST, CONTROL, EDGE = "provider-east", "provider-west", "edge-control", "edge-us-east"
REGIONS = {EAST: "us-east", WEST: "eu-west", CONTROL: "us-east", EDGE: "us-east"}
KEY = bytes(range(1, 33))
SWIM = {"probeInterval": "300ms", "suspicionTimeout": "1500ms", "gossipNodes": 3}
ADMISSION = {"pressure": {"minimumStateDuration": "300ms", "recoveryHoldDown": "1s", "successThreshold": 2}}
TTL_S = 300


@dataclass(slots=True)
class Site:
    """One cluster and what runs for it. address: where its operator is spoken to. wanted: its network's spec."""

    name: str
    api: EmbeddedApi
    tls: Path
    address: str
    leaf: Leaf
    operator: Operator | None = None
    wanted: dict[str, Any] = field(default_factory=dict)
    life: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    @property
    def client(self) -> Client:
        return self.api.client

    def network_spec(self, *, ttl_s: int) -> dict[str, Any]:
        """As it was declared, with another time to live of what is stale."""
        return {**self.wanted, "staleCandidateTtlSeconds": ttl_s}

    async def start(self, **env: str) -> Operator:
        """Its operator, anew."""
        swim = {"GRID_SWIM_BIND": self.address, "GRID_TEST_FAULTS": "1", "GRID_LEASE_S": "6", **env}
        self.operator = await self.life.enter_async_context(operator(self.api, self.tls, self.name, **swim))
        return self.operator

    async def provide(self, name: str, **spec: Any) -> None:
        """Declares a provider that needs no probes."""
        whole = {
            "gridNetworkRef": "production",
            "providerKind": "self_hosted",
            "backendKind": "local",
            "endpoint": f"http://{name}:8000",
            "models": [{"name": "shared-model"}],
            "routingClusterRef": f"gateway-{name}",
            **spec,
        }
        await declare(self.client, INFERENCE_PROVIDER, name, whole)

    async def phase(self, site: str) -> str:
        """What this cluster holds of a site."""
        try:
            return str((await self.client.get(GRID_SITE, site)).get("status", {}).get("phase"))
        except KubeFault as fault:
            return fault.reason

    async def condition(self, name: str, site: str = "") -> tuple[str, str]:
        """(status, reason) of a condition of the network, or of a site."""
        found = await self.client.get(*((GRID_SITE, site) if site else (GRID_NETWORK, "production")))
        for each in (found.get("status") or {}).get("conditions", []):
            if each["type"] == name:
                return each["status"], each["reason"]
        return "", ""

    async def certificate(self, site: str) -> str:
        """What this cluster shows as a site's certificate."""
        return str((await self.client.get(GRID_SITE, site)).get("status", {}).get("publicCertPem"))

    async def members(self) -> dict[str, str]:
        """By site, as its operator's mesh has them."""
        assert self.operator is not None
        try:
            shown = (await self.operator.get("/status")).json()["mesh"]
        except httpx.HTTPError:
            return {}
        return dict(shown[0]["members"]) if shown else {}

    async def sever(self, addresses: Iterable[str]) -> None:
        """Its operator neither hears nor speaks to these from now on."""
        assert self.operator is not None
        async with httpx.AsyncClient(base_url=self.operator.url, trust_env=False) as http:
            assert (await http.post("/mesh/sever", json=list(addresses))).is_success


@dataclass(slots=True)
class Grid:
    """Three sites, and the doors of the two that provide."""

    east: Site
    west: Site
    control: Site
    doors: dict[str, contextlib.AsyncExitStack]

    async def told(self) -> list[str]:
        """The candidates of the edge, by cluster; `=` before those open to existing sessions only."""
        return sorted(await told(self.control.api, EDGE))

    async def revision(self) -> str:
        assert self.control.operator is not None
        overlays = (await self.control.operator.get("/status")).json()["overlays"]
        return str(overlays[0]["revision"]) if overlays else ""


async def declare(client: Client, kind: Kind, name: str, spec: dict[str, Any], **metadata: Any) -> None:
    """As a person declares it: what an operator writes beside it stays, and is not a person's."""
    document = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }
    query = {"fieldManager": "person", "force": "true"}
    await client._call("PATCH", kind.path("", name), query, document, "application/apply-patch+yaml")


def pins(leaf: Leaf) -> dict[str, list[str]]:
    return {"canonicalFingerprints": [hashlib.sha256(leaf.der).hexdigest()]}


async def seal(client: Client, key: bytes = KEY, previous: bytes = b"") -> None:
    """The Secret that networks name as their key."""
    data = {"key": base64.b64encode(key).decode()}
    if previous:
        data["previous"] = base64.b64encode(previous).decode()
    metadata = {"name": "grid-swim-key", "namespace": SYSTEM}
    await client.apply(SECRET, {"metadata": metadata, "type": "Opaque", "data": data})


def network_spec(*seeds: str, gateways: bool = False, **spec: Any) -> dict[str, Any]:
    return {
        "seeds": list(seeds),
        "swim": SWIM,
        "tls": {"swimKeyRef": {"namespace": SYSTEM, "name": "grid-swim-key"}},
        "admissionPolicy": ADMISSION,
        "staleCandidateTtlSeconds": TTL_S,
        "metricsRefreshInterval": "200ms",
        "gatewayRefs": [gateway(EDGE)] if gateways else [],
        **spec,
    }


@contextlib.asynccontextmanager
async def grid(folder: Path, *, declared: bool = True) -> AsyncIterator[Grid]:
    """Everything up but the operators. declared: whether provider sites are, in edge-control."""
    authority = Authority(folder)
    leaves = {name: authority.leaf(name, names=(f"{name}.grid.internal",)) for name in REGIONS}
    block = f"127.{20 + os.getpid() % 70}.{os.getpid() // 70 % 250}"
    async with contextlib.AsyncExitStack() as stack:
        doors, ports = {}, {}
        for name in (EAST, WEST):
            doors[name] = await stack.enter_async_context(contextlib.AsyncExitStack())
            ports[name] = await doors[name].enter_async_context(door(authority, leaves[name]))
        sites = {}
        clusters = {name: EmbeddedCluster(folder / name) for name in (EAST, WEST, CONTROL)}
        for cluster in clusters.values():
            stack.callback(cluster.stop)
        await asyncio.gather(*(asyncio.to_thread(cluster.start) for cluster in clusters.values()))
        for number, (name, cluster) in enumerate(clusters.items(), 1):
            client = await connect("", str(cluster.kubeconfig))
            stack.push_async_callback(client.close)
            tls = identity(folder / f"{name}-tls", authority, leaves[name])
            site = Site(
                name, EmbeddedApi(cluster.kubeconfig, client), tls, f"{block}.{number}:7946", leaves[name]
            )
            sites[name] = site
            stack.push_async_callback(site.life.aclose)
        seeds = [site.address for site in sites.values()]
        for site in sites.values():
            await prepare(site.client)
            await seal(site.client)
            for name, region in REGIONS.items():
                if name in (EAST, WEST) and site.name == CONTROL and not declared:
                    continue
                spec: dict[str, Any] = {
                    "gridNetworkRef": "production",
                    "role": "provider" if name in doors else "edge",
                    "region": region,
                    "trust": pins(leaves[name]),
                }
                if name == site.name and name in doors:
                    spec["gatewayEndpoint"] = {"address": f"127.0.0.1:{ports[name]}"}
                await declare(site.client, GRID_SITE, name, spec)
            labels = {} if declared else {"grid.praxis-proxy.io/auto-discover-sites": "true"}
            site.wanted = network_spec(*seeds, gateways=site.name == CONTROL)
            await declare(site.client, GRID_NETWORK, "production", site.wanted, labels=labels)
        yield Grid(sites[EAST], sites[WEST], sites[CONTROL], doors)
