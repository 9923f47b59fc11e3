"""What is deployed is accepted by a real API, and each account may do exactly what its program does."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from grid.kube.client import Client, connect
from grid.kube.port import (
    CONFIG_MAP,
    EVENT,
    GRID_NETWORK,
    GRID_SITE,
    INFERENCE_PROVIDER,
    LEASE,
    Kind,
    KubeFault,
)
from tests.kit.embedded_api import SYSTEM, EmbeddedApi, embedded_api
from tests.kit.resources import gateway, network, provider, site

DEPLOY = Path(__file__).parents[3] / "grid" / "deploy"
SECRET = Kind("Secret", "", "v1", "secrets", namespaced=True)
DEPLOYMENT = Kind("Deployment", "apps", "v1", "deployments", namespaced=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedApi]:
    """An API with everything applied as `kubectl apply -k` does it."""
    async with embedded_api(tmp_path_factory.mktemp("cluster")) as running:
        code, said = await kubectl(running, "apply", "-k", str(DEPLOY))
        assert code == 0, said
        yield running


pytestmark = [
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine"),
    pytest.mark.asyncio(loop_scope="module"),
]


async def kubectl(api: EmbeddedApi, *arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *("kubectl", "--kubeconfig", str(api.kubeconfig), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, said.decode()


async def account(api: EmbeddedApi, name: str, folder: Path) -> Client:
    """A client with a token of the service account *name*."""
    path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{name}/token"
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600},
    }
    token = (await api.client._call("POST", path, {}, body))["status"]["token"]
    config = yaml.safe_load(api.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file = folder / f"{name}.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return await connect("", str(file))


async def test_applied_again_nothing_changes(api: EmbeddedApi) -> None:
    code, said = await kubectl(api, "apply", "-k", str(DEPLOY))
    assert code == 0
    assert [line for line in said.splitlines() if not line.endswith("unchanged")] == []


async def test_kubectl_knows_the_short_names_and_columns(api: EmbeddedApi) -> None:
    await api.client.apply(GRID_SITE, {"metadata": {"name": "shown"}, "spec": site("shown")["spec"]})
    _, said = await kubectl(api, "get", "gsite", "shown")
    assert said.splitlines()[0].split() == ["NAME", "PHASE", "NETWORK", "ROLE", "READY", "AGE"]


async def test_overlay_sync_reads_configmaps_and_nothing_else(api: EmbeddedApi, tmp_path: Path) -> None:
    await api.client.apply(CONFIG_MAP, {"metadata": {"name": "a", "namespace": SYSTEM}, "data": {}})
    await api.client.apply(SECRET, {"metadata": {"name": "s", "namespace": SYSTEM}, "data": {}})
    client = await account(api, "overlay-sync", tmp_path)
    try:
        assert (await client.get(CONFIG_MAP, "a", SYSTEM))["metadata"]["name"] == "a"
        assert (await client.list(CONFIG_MAP, SYSTEM)).items
        for attempt in (
            client.get(SECRET, "s", SYSTEM),
            client.list(SECRET, SYSTEM),
            client.list(CONFIG_MAP),
            client.list(GRID_SITE),
            client.apply(CONFIG_MAP, {"metadata": {"name": "a", "namespace": SYSTEM}, "data": {"x": "y"}}),
            client.delete(CONFIG_MAP, "a", SYSTEM),
        ):
            with pytest.raises(KubeFault) as fault:
                await attempt
            assert fault.value.status == 403
    finally:
        await client.close()


async def test_the_operator_may_do_what_it_does_and_read_one_secret(api: EmbeddedApi, tmp_path: Path) -> None:
    await api.client.apply(GRID_SITE, {"metadata": {"name": "mine"}, "spec": site("mine")["spec"]})
    client = await account(api, "grid-operator", tmp_path)
    metadata = {"name": "owned", "namespace": SYSTEM}
    try:
        for kind in (GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER):
            await client.list(kind)
        await client.apply(GRID_SITE, {"metadata": {"name": "mine"}, "status": {"phase": "Active"}}, "status")
        kept = await client.apply(CONFIG_MAP, {"metadata": metadata, "data": {"k": "v"}})
        await client.replace(CONFIG_MAP, kept)
        await client.delete(CONFIG_MAP, "owned", SYSTEM)
        with pytest.raises(KubeFault, match="404"):
            await client.get(SECRET, "grid-swim-key", SYSTEM)
        lease = await client.create(LEASE, {"metadata": metadata, "spec": {}})
        await client.replace(LEASE, lease)
        event = {
            "metadata": {"name": "e", "namespace": "default"},
            "eventTime": "2026-07-25T12:00:00.000000Z",
            "reportingController": "grid-operator",
            "reportingInstance": "one",
            "action": "Reconcile",
            "reason": "TlsVerified",
            "note": "x",
            "type": "Normal",
            "regarding": {"apiVersion": GRID_SITE.api_version, "kind": "GridSite", "name": "mine"},
        }
        await client.create(EVENT, event)
        for attempt in (
            client.get(SECRET, "site-tls", SYSTEM),
            client.list(SECRET, SYSTEM),
            client.delete(GRID_SITE, "mine"),
            client.list(CONFIG_MAP, "default"),
            client.list(DEPLOYMENT, SYSTEM),
        ):
            with pytest.raises(KubeFault) as fault:
                await attempt
            assert fault.value.status == 403
    finally:
        await client.close()


def pressure(**changes: Any) -> dict[str, Any]:
    return network(admissionPolicy={"pressure": changes})


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(pressure(enterThreshold=0.5, exitThreshold=0.5), id="exit not below enter"),
        pytest.param(pressure(enterThreshold=0.5), id="exit not below enter, by its default"),
        pytest.param(
            network(scoringPolicy={"strategy": "queueDepth", "weights": {}}), id="weights beside a preset"
        ),
        pytest.param(
            site("a", egress={"address": "a:1"}, gatewayEndpoint={"address": "b:1"}),
            id="two addresses for one site",
        ),
        pytest.param(site("a", role="hub"), id="an unknown role"),
        pytest.param(site("a", trust={"canonicalFingerprints": ["A" * 64]}), id="a fingerprint in capitals"),
        pytest.param(site("a", trust={"canonicalFingerprints": ["a" * 64] * 3}), id="three pins"),
        pytest.param(network("n", gateway(statusEndpoint="http://a")), id="a status endpoint in the clear"),
        pytest.param(network("n", gateway(profile="open")), id="an unknown profile"),
        pytest.param(network("n", gateway(maxAge="soon")), id="no duration"),
        pytest.param(network(staleCandidateTtlSeconds=0), id="no time to live"),
        pytest.param(provider(trafficPolicy={"drain": "soon"}), id="an unknown drain"),
        pytest.param(provider(healthCheck={"failureThreshold": 0}), id="no threshold"),
        pytest.param(provider(auth={"strategy": "password"}), id="an unknown strategy"),
    ],
)
async def test_the_api_refuses(api: EmbeddedApi, made: dict[str, Any]) -> None:
    kind = next(k for k in (GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER) if k.name == made["kind"])
    with pytest.raises(KubeFault) as fault:
        await api.client.apply(kind, {"metadata": {"name": "refused"}, "spec": made["spec"]})
    assert fault.value.status == 422


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(network(), id="a network that says nothing"),
        pytest.param(pressure(enterThreshold=0.9, exitThreshold=0.5), id="thresholds in order"),
        pytest.param(network(scoringPolicy={"weights": {"cost": 5}}), id="weights of its own"),
        pytest.param(network("n", gateway(statusEndpoint="https://a:9901/status")), id="a status endpoint"),
        pytest.param(
            site("a", egress={"address": "a:1"}, gatewayEndpoint={"address": "a:1"}),
            id="one address, said twice",
        ),
        pytest.param(site("a", role="combined"), id="a combined site"),
        pytest.param(
            provider(trafficPolicy={"drain": "existingOnly"}, auth=None), id="a drain, and auth null"
        ),
    ],
)
async def test_the_api_takes(api: EmbeddedApi, made: dict[str, Any]) -> None:
    kind = next(k for k in (GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER) if k.name == made["kind"])
    stored = await api.client.apply(kind, {"metadata": {"name": "taken"}, "spec": made["spec"]})
    assert stored["spec"]
    await api.client.delete(kind, "taken")
