"""Whoever asks for an explanation is led to the replica that leads, or told why not."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from grid.kube.port import LEASE, POD, KubeFault
from grid.reconcile.asking import NotAnswered, Question, ask, leader
from grid.telemetry import admin
from tests.kit.fake_kube import FakeKube
from tests.kit.operators import free_port

SYSTEM = "grid-system"
QUESTION = Question("production", "edge-us-east", "shared-model")


@contextlib.asynccontextmanager
async def answering(code: int, text: str) -> AsyncIterator[tuple[str, list[Any]]]:
    """An operator's page, and what it was asked."""
    asked: list[Any] = []

    def answer(body: bytes) -> admin.Answer:
        asked.append(json.loads(body))
        return admin.text(text, code)

    server = await admin.serve([admin.Page("/explain", answer, "POST")], "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.port}/", asked
    finally:
        await server.close()


async def test_an_answer_is_its_text() -> None:
    async with answering(200, "0  here") as (url, asked):
        assert await ask(url, QUESTION) == "0  here\n"
    assert asked == [{"network": "production", "gateway": "edge-us-east", "model": "shared-model"}]


async def test_a_replica_that_follows_says_who_leads() -> None:
    async with answering(409, "this replica does not lead; pod-b-1 does") as (url, _):
        with pytest.raises(NotAnswered, match="pod-b-1 does"):
            await ask(url, QUESTION)


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "not an address", "http://[::1"])
async def test_nobody_there_is_said(url: str) -> None:
    with pytest.raises(NotAnswered, match="does not answer"):
        await ask(url.format(port=free_port()), QUESTION)


async def led(holder: str, status: dict[str, Any], spec: dict[str, Any] | None = None) -> FakeKube:
    kube = FakeKube()
    await kube.apply(
        LEASE,
        {"metadata": {"name": "grid-operator", "namespace": SYSTEM}, "spec": {"holderIdentity": holder}},
    )
    metadata = {"name": "grid-operator-abc-x1", "namespace": SYSTEM}
    await kube.apply(POD, {"metadata": metadata, "spec": spec or {}})
    await kube.apply(POD, {"metadata": metadata, "status": status}, "status")
    return kube


ADMIN = {
    "containers": [
        {"ports": [{"name": "swim", "containerPort": 1}, {"name": "admin", "containerPort": 9191}]}
    ]
}


@pytest.mark.parametrize(
    ("address", "spec", "url"),
    [
        pytest.param("10.0.0.7", None, "http://10.0.0.7:9090", id="the usual port"),
        pytest.param("10.0.0.7", ADMIN, "http://10.0.0.7:9191", id="the port its pod names"),
        pytest.param("fd00::7", None, "http://[fd00::7]:9090", id="IPv6"),
    ],
)
async def test_the_leader_is_where_its_pod_is(address: str, spec: dict[str, Any] | None, url: str) -> None:
    kube = await led("grid-operator-abc-x1-17", {"podIP": address}, spec)
    assert await leader(kube, SYSTEM) == url


@pytest.mark.parametrize(
    ("holder", "status", "why"),
    [
        pytest.param("", {"podIP": "10.0.0.7"}, "no operator leads", id="nobody leads"),
        pytest.param("another-9", {}, "cannot find the leader", id="its pod is gone"),
        pytest.param("grid-operator-abc-x1-17", {}, "no address yet", id="its pod has no address"),
    ],
)
async def test_what_keeps_it_from_being_found_is_said(holder: str, status: dict[str, Any], why: str) -> None:
    with pytest.raises(NotAnswered, match=why):
        await leader(await led(holder, status), SYSTEM)


async def test_an_api_that_refuses_is_said() -> None:
    kube = FakeKube(faults=[KubeFault(403, "Forbidden")])
    with pytest.raises(NotAnswered, match="403 Forbidden; give its address with --url"):
        await leader(kube, SYSTEM)
