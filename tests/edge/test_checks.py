"""Probes and real outcomes make endpoints unhealthy and healthy again, as the thresholds say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge.checks import CheckSettings, HealthCheck
from edge.health import Thresholds
from edge.tls import UpstreamContext, UpstreamFiles
from edge.wire.pool import Cluster, Endpoint, UpstreamTls
from tests.kit.backends import OK, Answer, Received, Wire, backend, free_port
from tests.kit.certs import Authority, server_context
from tests.kit.eventually import eventually

ONCE = Thresholds(1, 1)


@asynccontextmanager
async def _checking(cluster: Cluster, settings: CheckSettings) -> AsyncIterator[list[bool]]:
    changes: list[bool] = []
    check = HealthCheck(cluster, settings, lambda _, endpoint: changes.append(endpoint.healthy))
    task = asyncio.ensure_future(check.run())
    try:
        yield changes
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _settings(**changes: Any) -> CheckSettings:
    return replace(CheckSettings(interval_s=0.01, active=ONCE), **changes)


async def test_an_endpoint_that_stops_answering_is_taken_out_and_comes_back() -> None:
    answers = [OK]

    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(answers[0])
        wire.finish()

    async with backend(answer) as up:
        cluster = Cluster("a", [Endpoint("127.0.0.1", up.port)])
        async with _checking(cluster, _settings(path="/health")) as changes:
            await eventually(lambda: bool(up.received), "a probe")
            answers[0] = b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"
            await eventually(lambda: changes == [False], "unhealthy")
            answers[0] = OK
            await eventually(lambda: changes == [False, True], "healthy again")
    assert up.received[0].head == b"GET /health HTTP/1.1\r\nHost: health-check\r\nConnection: close\r\n\r\n"


async def _silent(_: Received, wire: Wire) -> None:
    await wire.until_closed()


async def _nonsense(_: Received, wire: Wire) -> None:
    await wire.send(b"SSH-2.0-OpenSSH\r\n")


@pytest.mark.parametrize("answer", [_silent, _nonsense], ids=["silence", "another protocol"])
async def test_what_is_no_answer_is_a_failure(answer: Answer) -> None:
    async with backend(answer) as up:
        cluster = Cluster("a", [Endpoint("127.0.0.1", up.port)])
        async with _checking(cluster, _settings(timeout_s=0.2)) as changes:
            await eventually(lambda: changes == [False], "unhealthy")


async def test_tcp_asks_for_a_connection_only() -> None:
    async with backend(_silent) as up:
        good, bad = Endpoint("127.0.0.1", up.port), Endpoint("127.0.0.1", free_port())
        async with _checking(Cluster("a", [good, bad]), _settings(type="tcp")):
            await eventually(lambda: not bad.healthy, "the closed port unhealthy")
            await eventually(lambda: up.opened > 2, "probes")
        assert good.healthy


async def test_a_tls_endpoint_is_probed_with_tls(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    async with backend(OK, tls=server_context(ca.leaf("localhost"))) as up:
        tls = UpstreamTls(UpstreamContext(UpstreamFiles(ca=ca.path)), "localhost")
        good = Endpoint("127.0.0.1", up.port)
        async with _checking(Cluster("a", [good], tls=tls), _settings()):
            await eventually(lambda: len(up.received) > 1, "probes over TLS")
        assert good.healthy


def test_real_outcomes_speak_where_passive_thresholds_are_set() -> None:
    endpoint = Endpoint("127.0.0.1", 1)
    cluster = Cluster("a", [endpoint])
    HealthCheck(cluster, CheckSettings(type=None, passive=Thresholds(2, 1)))
    seen = []
    for ok in (False, False, True):
        cluster.tell(endpoint, ok=ok)
        seen.append(endpoint.healthy)
    assert seen == [True, False, True]


async def test_without_a_type_nothing_is_probed() -> None:
    async with backend(OK) as up:
        await HealthCheck(Cluster("a", [Endpoint("127.0.0.1", up.port)]), CheckSettings(type=None)).run()
        assert up.opened == 0
