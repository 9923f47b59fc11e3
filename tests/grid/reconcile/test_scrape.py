"""Whatever a provider answers, hangs on or lies about costs its own round, and becomes health and a reading."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from grid.crd.base import EndpointTls
from grid.crd.network import read_network
from grid.crd.provider import MetricsConfig, read_provider
from grid.reconcile.exposition import MAX_BYTES
from grid.reconcile.identity import Identity
from grid.reconcile.scrape import Probe, Prober, plans, session
from grid.scoring.health import Phase, Thresholds
from grid.scoring.signals import Signals
from tests.kit.certs import Authority, server_context
from tests.kit.eventually import eventually
from tests.kit.operators import identity
from tests.kit.resources import network, provider

ONCE = Thresholds(failures=1, successes=1)
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def said(status: str, body: bytes = b"") -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    return answer


async def hang(_: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def flood(writer: asyncio.StreamWriter) -> None:
    """A hundred mebibytes of metrics, as far as anybody reads them."""
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        for _ in range(1600):
            writer.write(b"x" * 65536)
            await writer.drain()


async def rubbish(writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\xff" * 100)


@contextlib.asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                await answer(writer)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def asking(**wanted: Probe) -> AsyncIterator[Prober]:
    """A prober that has asked everything once."""
    async with session() as http, asyncio.TaskGroup() as group:
        outcomes: list[str] = []
        prober = Prober(http, lambda: 7.0, lambda: None, lambda: 0.0, outcomes.append)
        prober.keep(
            group, {(name, "metrics" if probe.config else "health"): probe for name, probe in wanted.items()}
        )
        try:
            await eventually(prober.heard, "everything asked once")
            yield prober
        finally:
            prober.stop()


def health(url: str, timeout_s: float = 5.0) -> Probe:
    return Probe(url, 0.02, timeout_s, ONCE)


def metrics(url: str, timeout_s: float = 5.0) -> Probe:
    return Probe(url, 0.02, timeout_s, ONCE, MetricsConfig())


@pytest.mark.parametrize(
    ("answer", "phase"),
    [
        pytest.param(said("200 OK"), Phase.AVAILABLE, id="success"),
        pytest.param(said("204 No Content"), Phase.AVAILABLE, id="success without a body"),
        pytest.param(said("503 Service Unavailable"), Phase.DEGRADED, id="an error"),
        pytest.param(
            said("302 Found\r\nLocation: http://169.254.169.254/"), Phase.DEGRADED, id="sent elsewhere"
        ),
        pytest.param(hang, Phase.UNAVAILABLE, id="no answer in time"),
        pytest.param(rubbish, Phase.UNAVAILABLE, id="no HTTP"),
    ],
)
async def test_health(answer: Answer, phase: Phase) -> None:
    async with serving(answer) as url, asking(p=health(url, 0.5)) as prober:
        await eventually(lambda: prober.health["p"].phase is phase, f"{phase}")


async def test_nobody_there_and_no_address_are_no_answer() -> None:
    async with asking(a=health("http://127.0.0.1:1/"), b=health("http://[/"), c=health("ftp://x/")) as prober:
        assert {each.phase for each in prober.health.values()} == {Phase.UNAVAILABLE}


@pytest.mark.parametrize(
    ("answer", "phase", "signals"),
    [
        pytest.param(
            said("200 OK", b"praxis_sim_queue_ratio 0.5\n"), Phase.AVAILABLE, Signals(queue=0.5), id="sound"
        ),
        pytest.param(
            said("200 OK", b"vllm:kv_cache_usage_perc NaN\npraxis_sim_queue_ratio -1\n"),
            Phase.AVAILABLE,
            Signals(),
            id="lies",
        ),
        pytest.param(
            said("200 OK", b"# x\n" * 30_000 + b"praxis_sim_queue_ratio 0.5\n"),
            Phase.AVAILABLE,
            Signals(queue=0.5),
            id="large, but within the bound",
        ),
        pytest.param(said("200 OK", b"praxis_sim_error_ratio 1\n"), Phase.DEGRADED, Signals(), id="all fail"),
        pytest.param(said("200 OK", b"x" * (MAX_BYTES + 1)), Phase.DEGRADED, None, id="over the bound"),
        pytest.param(flood, Phase.DEGRADED, None, id="a flood"),
        pytest.param(said("404 Not Found"), Phase.DEGRADED, None, id="no metrics"),
        pytest.param(said("200 OK", b"\xff"), Phase.DEGRADED, None, id="no text"),
        pytest.param(hang, Phase.UNAVAILABLE, None, id="no answer in time"),
    ],
)
async def test_scrapes(answer: Answer, phase: Phase, signals: Signals | None) -> None:
    async with serving(answer) as url, asking(p=metrics(url, 1.0)) as prober:
        assert prober.health["p"].phase is phase
        reading = prober.readings.get("p")
        assert (reading.signals if reading else None) == signals


HISTOGRAM = """\
vllm:e2e_request_latency_seconds_bucket{{le="0.1"}} {fast}
vllm:e2e_request_latency_seconds_bucket{{le="1.0"}} {all}
vllm:e2e_request_latency_seconds_bucket{{le="+Inf"}} {all}
"""


async def test_a_p99_is_that_of_the_requests_between_two_scrapes() -> None:
    """An engine that was slow all its life, and is quick now."""
    counts = iter([(0, 1000), (1000, 2000)])
    last = [0, 0]

    async def answer(writer: asyncio.StreamWriter) -> None:
        last[:] = next(counts, last)
        body = HISTOGRAM.format(fast=last[0], all=last[1]).encode()
        await said("200 OK", body)(writer)

    async with serving(answer) as url, session() as http, asyncio.TaskGroup() as group:
        found: dict[int, float | None] = {}

        def keep() -> None:
            if reading := prober.readings.get("p"):
                found[reading.number] = reading.signals.p99_ms

        prober = Prober(http, lambda: 7.0, keep, lambda: 0.0)
        prober.keep(group, {("p", "metrics"): metrics(url)})
        await eventually(lambda: len(found) >= 3, "three readings")
        prober.stop()
    assert [round(found[number] or 0) for number in (1, 2, 3)] == [991, 99, 99]


async def test_a_sample_with_a_time_of_its_own_is_as_old_as_it_says_and_counts_once() -> None:
    body = b"praxis_sim_queue_ratio 0.5 3000\n"
    outcomes: list[str] = []
    async with serving(said("200 OK", body)) as url, session() as http, asyncio.TaskGroup() as group:
        prober = Prober(http, lambda: 7.0, lambda: None, lambda: 0.0, outcomes.append)
        prober.keep(group, {("p", "metrics"): metrics(url)})
        await eventually(lambda: outcomes.count("ok") >= 3, "three scrapes")
        assert (prober.readings["p"].at, prober.readings["p"].number) == (3.0, 1)
        prober.stop()


async def test_scrapes_that_fail_in_a_row_are_a_reason_and_one_is_none() -> None:
    answers = iter([b"", b"\xff", b"", b"\xff", b"\xff", b"\xff"])
    seen: list[dict[str, str]] = []

    async def answer(writer: asyncio.StreamWriter) -> None:
        seen.append(dict(prober.unread()))
        await said("200 OK", next(answers, b""))(writer)

    async with serving(answer) as url, session() as http, asyncio.TaskGroup() as group:
        prober = Prober(http, lambda: 7.0, lambda: None, lambda: 0.0)
        prober.keep(group, {("p", "metrics"): metrics(url)})
        await eventually(lambda: len(seen) >= 8, "eight scrapes")
        prober.stop()
    assert seen[:8] == [{}, {}, {}, {}, {}, {}, {"p": "malformed"}, {}]


async def test_a_sample_from_the_future_is_one_of_now() -> None:
    async with (
        serving(said("200 OK", b"praxis_sim_queue_ratio 0.5 99000\n")) as url,
        asking(p=metrics(url)) as prober,
    ):
        assert prober.readings["p"].at == 7.0


async def test_one_that_hangs_holds_nobody_up() -> None:
    async with (
        serving(hang) as stuck,
        serving(said("200 OK", b"praxis_sim_queue_ratio 0.5\n")) as quick,
        session() as http,
        asyncio.TaskGroup() as group,
    ):
        prober = Prober(http, lambda: 7.0, lambda: None, lambda: 0.0)
        prober.keep(group, {("a", "metrics"): metrics(stuck, 60.0), ("b", "metrics"): metrics(quick)})
        await eventually(
            lambda: prober.readings.get("b") is not None and prober.readings["b"].number >= 3, "rounds"
        )
        assert not prober.heard()
        prober.stop()


async def test_what_is_not_wanted_any_more_is_forgotten() -> None:
    async with (
        serving(said("200 OK", b"")) as url,
        session() as http,
        asyncio.TaskGroup() as group,
    ):
        prober = Prober(http, lambda: 7.0, lambda: None, lambda: 0.0)
        prober.keep(group, {("a", "metrics"): metrics(url), ("b", "health"): health(url)})
        await eventually(prober.heard, "both asked")
        prober.keep(group, {("b", "health"): health(url)})
        assert (set(prober.health), set(prober.readings)) == ({"b"}, set())
        prober.stop()


async def test_only_what_is_new_wakes_anybody() -> None:
    async with (
        serving(said("200 OK")) as url,
        session() as http,
        asyncio.TaskGroup() as group,
    ):
        woken: list[int] = []
        prober = Prober(http, lambda: 7.0, lambda: woken.append(prober.health["p"].successes), lambda: 0.0)
        prober.keep(group, {("p", "health"): Probe(url, 0.001, 5.0, Thresholds(3, 2))})
        await eventually(lambda: "p" in prober.health and prober.health["p"].successes > 10, "many rounds")
        prober.stop()
    assert woken == [1, 2], "the first answer, and the one that made it healthy"


MOUNTED = {"namespace": "grid-system", "name": "site-tls"}


@pytest.mark.parametrize(
    ("trusted", "shown", "phase"),
    [
        pytest.param(True, True, Phase.AVAILABLE, id="the grid's CA, and our certificate shown"),
        pytest.param(True, False, Phase.UNAVAILABLE, id="nothing shown where it is asked for"),
        pytest.param(False, True, Phase.UNAVAILABLE, id="another CA's"),
    ],
)
async def test_probes_over_the_grids_tls(tmp_path: Path, *, trusted: bool, shown: bool, phase: Phase) -> None:
    (tmp_path / "other").mkdir()
    ours = Authority(tmp_path)
    theirs = ours if trusted else Authority(tmp_path / "other", "other-ca")
    mine = Identity(identity(tmp_path / "mine", ours, ours.leaf("mine")))
    context = server_context(theirs.leaf("127.0.0.1"), clients=ours)
    tls = {"caSecretRef": MOUNTED, **({"clientCertificateSecretRef": MOUNTED} if shown else {})}
    async with serving(said("200 OK"), context) as url, session() as http, asyncio.TaskGroup() as group:
        prober = Prober(http, lambda: 7.0, lambda: None, lambda: 0.0, identity=mine)
        probe = dataclasses.replace(health(url), tls=EndpointTls.model_validate(tls))
        prober.keep(group, {("p", "health"): probe})
        await eventually(prober.heard, "asked once")
        prober.stop()
    assert prober.health["p"].phase is phase


async def test_without_an_identity_the_grids_tls_is_no_answer() -> None:
    probe = dataclasses.replace(
        health("https://127.0.0.1:1"), tls=EndpointTls.model_validate({"caSecretRef": MOUNTED})
    )
    async with asking(p=probe) as prober:
        assert prober.health["p"].phase is Phase.UNAVAILABLE


def test_plans_are_the_resources() -> None:
    declared = read_provider(
        provider(
            "p",
            endpoint="http://p:8000/",
            healthCheck={"path": "live", "interval": "300ms", "timeout": "1s", "failureThreshold": 5},
            metricsConfig={"metricsEndpoint": "http://m:9", "path": "/m", "timeout": "soon"},
        )
    )
    grid = read_network(network("production", metricsRefreshInterval="1s"))
    found = plans([declared, read_provider(provider("bare"))], {"production": grid})
    assert found["p", "health"] == Probe("http://p:8000/live", 0.3, 1.0, Thresholds(5, 2))
    scrape = found["p", "metrics"]
    assert (scrape.url, scrape.every_s, scrape.timeout_s, scrape.judges_health) == (
        "http://m:9/m",
        1.0,
        2.0,
        False,
    )
    assert {name for name, _ in found} == {"p"}
    alone = read_provider(provider("q", metricsConfig={}))
    assert plans([alone], {})["q", "metrics"].judges_health
