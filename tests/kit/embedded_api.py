"""A real API to test against: an embedded cluster in this process, with its kubeconfig and Grid's CRDs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from forge.embedded import daemon
from grid.kube.client import Client, connect
from grid.kube.port import Kind

NAMESPACE = Kind("Namespace", "", "v1", "namespaces")
CRD = Kind("CustomResourceDefinition", "apiextensions.k8s.io", "v1", "customresourcedefinitions")
CRDS = Path(__file__).parents[2] / "grid" / "deploy" / "crds"
SYSTEM = "grid-system"


@dataclass(frozen=True)
class EmbeddedApi:
    """kubeconfig: as administrator. client: one that is connected."""

    kubeconfig: Path
    client: Client


@contextlib.asynccontextmanager
async def embedded_api(folder: Path, port: int = 0) -> AsyncIterator[EmbeddedApi]:
    """Runs until left; a folder used before goes on with what it held."""
    ready = asyncio.Event()
    settings = daemon.Settings("edge-control", folder, port=port)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(daemon.serve(settings, ready=ready))
        await asyncio.wait_for(ready.wait(), 30)
        kubeconfig = folder / "admin.kubeconfig"
        client = await connect("", str(kubeconfig))
        try:
            yield EmbeddedApi(kubeconfig, client)
        finally:
            await client.close()
            serving.cancel()


async def prepare(client: Client) -> None:
    """The namespace and the CRDs."""
    await client.apply(NAMESPACE, {"metadata": {"name": SYSTEM}})
    for file in sorted(CRDS.glob("*.yaml")):
        await client.apply(CRD, yaml.safe_load(file.read_text(encoding="utf-8")))
