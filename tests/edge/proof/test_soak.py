"""Under disconnects, resets, reloads and renewed certificates at once: no wrong byte, nothing leaked, all
accounted for.

A few seconds by default; two minutes with the long ones.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import random
import ssl
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.kit import backends
from tests.kit.backends import Backend, Received, Wire
from tests.kit.certs import Authority, client_context
from tests.kit.edges import Edge, edge, write
from tests.kit.eventually import eventually

CLIENTS = 12
MAX_GROWTH = 64 * 1024 * 1024  # resident bytes; a leak of 10 KB a request would be several times that

TEXT = """
listeners:
  - name: main
    address: "127.0.0.1:0"
    filter_chains: [main]
    tls:
      certificates: [{{cert_path: {cert}, key_path: {key}}}]
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - filter: access_log
      - {{filter: rate_limit, mode: global, rate: 100000, burst: 100000}}
      - {{filter: concurrency_limit, max_requests: 1000}}
      - {{filter: headers, response_set: [{{name: X-Version, value: "{version}"}}]}}
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: router, routes: [{{path_prefix: /, cluster: east}}]}}
      - filter: load_balancer
clusters:
  - {{name: east, endpoints: ["127.0.0.1:{port}"]}}
"""


@dataclass
class Seen:
    """What clients saw. wrong: descriptions of what must not be."""

    outcomes: Counter[str] = field(default_factory=Counter)
    versions: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


async def misbehave(request: Received, wire: Wire) -> None:
    """Echoes the body in pieces, its digest in the head; or breaks where the request asks for it."""
    fault = json.loads(request.body)["fault"]
    if fault == "no answer":
        wire.reset()
        return
    digest = hashlib.sha256(request.body).hexdigest().encode()
    await wire.send(b"HTTP/1.1 200 OK\r\nx-digest: %b\r\ntransfer-encoding: chunked\r\n\r\n" % digest)
    for start in range(0, len(request.body), 1500):
        piece = request.body[start : start + 1500]
        await wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        if fault == "half an answer":
            wire.reset()
            return
    await wire.send(b"0\r\n\r\n")


async def one(client: httpx.AsyncClient, url: str, source: random.Random, seen: Seen) -> None:
    fault = source.choices(["", "no answer", "half an answer", "leave"], [20, 1, 1, 2])[0]
    body = json.dumps({"fault": fault, "model": "m", "text": "x" * source.randint(0, 20_000)}).encode()
    try:
        async with client.stream("POST", url, content=body) as answer:
            if fault == "leave":
                seen.outcomes["left"] += 1
                return
            whole = await answer.aread()
    except httpx.TransportError as error:
        seen.outcomes["broken"] += 1
        if fault != "half an answer":
            seen.wrong.append(f"{fault or 'no fault'}: {error!r}")
        return
    seen.outcomes[str(answer.status_code)] += 1
    seen.versions.add(answer.headers["x-version"])
    if answer.status_code == 200 and (whole != body or fault):
        seen.wrong.append(f"{fault or 'no fault'}: 200 with {len(whole)} of {len(body)} bytes")
    if answer.status_code != 200 and fault != "no answer":
        seen.wrong.append(f"{fault or 'no fault'}: {answer.status_code}")


async def client(made: Edge, context: ssl.SSLContext, number: int, seen: Seen, stop: asyncio.Event) -> None:
    source = random.Random(number)
    url = made.url().replace("http:", "https:")
    while not stop.is_set():
        async with httpx.AsyncClient(verify=context, timeout=30) as http:
            for _ in range(source.randint(1, 20)):
                if not stop.is_set():
                    await one(http, url, source, seen)


async def disturb(
    folder: Path, authority: Authority, text: str, backend: Backend, stop: asyncio.Event
) -> int:
    """Another configuration and another certificate, again and again; how often. The backend forgets what it
    got."""
    count = 0
    while not stop.is_set():
        count += 1
        backend.received.clear()
        leaf = authority.leaf("api.grid.test", names=("127.0.0.1",), file="shown")
        write(folder, text.format(cert=leaf.certificate, key=leaf.key, version=count))
        with suppress(TimeoutError):
            async with asyncio.timeout(0.4):
                await stop.wait()
    return count


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    "seconds", [pytest.param(6, id="short"), pytest.param(120, id="long", marks=pytest.mark.long)]
)
async def test_soak(tmp_path: Path, seconds: int) -> None:
    authority = Authority(tmp_path)
    leaf = authority.leaf("api.grid.test", names=("127.0.0.1",), file="shown")
    context, seen, stop = client_context(authority), Seen(), asyncio.Event()
    fds = descriptors()
    async with backends.backend(misbehave) as backend:
        text = TEXT.replace("{port}", str(backend.port))
        first = text.format(cert=leaf.certificate, key=leaf.key, version=0)
        async with edge(tmp_path, first, follow=True) as made:
            tasks = len(asyncio.all_tasks())
            async with asyncio.TaskGroup() as group:
                for number in range(CLIENTS):
                    group.create_task(client(made, context, number, seen, stop))
                disturbing = group.create_task(disturb(tmp_path, authority, text, backend, stop))
                await asyncio.sleep(seconds / 3)  # the load itself, not a wait for something
                gc.collect()
                warm = resident()
                await asyncio.sleep(seconds * 2 / 3)
                stop.set()
            gc.collect()
            growth = resident() - warm
            metrics = made.outside.metrics
            await eventually(lambda: metrics.active["main",][0] == 0, "nothing is in progress")
            await eventually(lambda: not made.server.connections()["main"], "clients are gone")
            most = tasks + 1  # the watch, which began after they were counted
            await eventually(lambda: len(asyncio.all_tasks()) <= most + backend.open, "tasks are gone")
            requests = sum(cell[0] for cell in metrics.requests._cells.values())
            applied = metrics.reloads.value("applied")
        await eventually(lambda: backend.open == 0, "upstream connections are gone")
    spare = 2  # the loop's own, made on first use
    await eventually(lambda: descriptors() <= fds + spare, "descriptors are gone")
    assert seen.wrong == []
    assert len(made.lines) == requests == sum(seen.outcomes.values())
    assert growth < MAX_GROWTH
    assert {"200", "502", "broken", "left"} <= set(seen.outcomes), seen.outcomes
    assert applied >= disturbing.result() // 4, "reloads were applied while it ran"
    assert len(seen.versions) > 1
