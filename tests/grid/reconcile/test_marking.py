"""One pod is marked: the leader's, whoever was before it and whatever else its label says."""

from __future__ import annotations

from pathlib import Path

from grid.kube.client import Client
from grid.kube.port import POD, Kind
from grid.reconcile.marking import LABEL_MESH, Marking
from tests.kit.embedded_api import SYSTEM, embedded_api, prepare

ACCOUNT = Kind("ServiceAccount", "", "v1", "serviceaccounts", namespaced=True)


async def pod(client: Client, name: str) -> None:
    spec = {"containers": [{"name": "main", "image": "server:1"}]}
    metadata = {"name": name, "namespace": SYSTEM, "labels": {"app": "grid-operator"}}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    await client._call("POST", POD.path(SYSTEM), {"fieldManager": "kubelet"}, document)


async def marked(client: Client) -> list[str]:
    pods = (await client.list(POD, SYSTEM)).items
    assert all(each["metadata"]["labels"]["app"] == "grid-operator" for each in pods)
    return [str(each["metadata"]["name"]) for each in pods if LABEL_MESH in each["metadata"]["labels"]]


async def test_a_new_leader_takes_the_mark_from_the_one_before(tmp_path: Path) -> None:
    async with embedded_api(tmp_path) as api:
        await prepare(api.client)
        await api.client.apply(ACCOUNT, {"metadata": {"name": "default", "namespace": SYSTEM}})
        for name in ("a", "b", "c"):
            await pod(api.client, name)
        for name in ("a", "b", "b", "a"):
            await Marking(api.client, SYSTEM, name).hold()
            assert await marked(api.client) == [name]
        await Marking(api.client, SYSTEM, "").hold()
        assert await marked(api.client) == ["a"], "a process outside a cluster marks nobody"
