"""Routing by an overlay in a running gateway: what it costs, what a reload does to requests, how fast it fails
over.

python -m tests.bench.edge_overlay

- cost: the production chain with `router`, and with `grid_route` and affinity, beside nginx: CPU per request in
  interleaved rounds, medians of ratios. Goal: 2.2, a tenth over the bound without them. Every request has one
  of 500 sessions, so that no two heads in a row are alike.
- reload: requests at a steady pace while an overlay of 1,024 candidates is replaced four times a second, and
  while it is not, in turns: the slowest of a thousand. Goal: below 5 ms. What the machine itself does to a
  process shows in the turns without reloads.
- failover: a backend is killed; how long until a request has been answered by the other. Goal: 50 ms.

Needs wrk, nginx and two cores; EDGE_BENCH_ROUNDS (4) and EDGE_BENCH_S (2) make it longer.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.edge_overlay_configs import (
    CHAIN,
    FAILOVER,
    GRID_ROUTE,
    NGINX,
    PROXY,
    ROUTER,
    STATIC,
    WRK,
)
from tests.kit.backends import free_port
from tests.kit.overlays import Json, candidate, current, put

ROUNDS = int(os.environ.get("EDGE_BENCH_ROUNDS", "4"))
ROUND_S = int(os.environ.get("EDGE_BENCH_S", "2"))
TARGET_CPU, LOAD_CPU = "1", "0"
KEY = "bench-key"
PACE = "delay = function() return math.random(2, 8) end"
TIERS = ("same_site", "same_zone", "same_region", "cross_region")
RELOADS_A_SECOND = 4


@dataclass(frozen=True)
class Target:
    """A proxy under measurement."""

    name: str
    port: int
    pid: int


def world(turn: int) -> list[Json]:
    """1,024 candidates in 50 models; every model's order is another at every turn. `m1` is asked for."""
    return [
        candidate(f"site-{n % 21}", name=f"m{n // 21}", cluster="backend", rank=(n + turn) % 21, selection_tier=TIERS[n % 21 * 4 // 21])
        for n in range(1_024)
    ]  # fmt: skip


def main() -> None:
    if missing := [name for name in ("wrk", "nginx", "taskset") if tool(name) is None]:
        print(f"skipped: {', '.join(missing)} not installed")
        return
    print(f"Python {sys.version.split()[0]}; load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder = Path(name)
        (folder / "affinity").write_bytes(bytes(range(32)))
        put(folder / "grid" / "grid-config.json", current(world(0), 1))
        backend = free_port()
        running.enter_context(
            nginx(folder, "static", STATIC.format(port=backend, text="y" * 740), backend, LOAD_CPU)
        )
        port = free_port()
        proxy = PROXY.format(port=port, backend=backend)
        pid = running.enter_context(nginx(folder, "proxy", proxy, port, TARGET_CPU))
        targets = [Target("nginx", port, pid)]
        for kind, route in (("router", ROUTER), ("grid_route", GRID_ROUTE.format(folder=folder))):
            targets.append(running.enter_context(gateway(folder, kind, route, backend)))
        cost(folder, targets)
        reload(folder, targets[-1])
    failover()


def cost(folder: Path, targets: list[Target]) -> None:
    """targets: what the others are compared to first."""
    script = folder / "full.lua"
    script.write_text(WRK.format(key=KEY, delay=""))
    spent: dict[str, list[float]] = {target.name: [] for target in targets}
    for _ in range(ROUNDS):
        for target in targets:
            before = cpu_us(target.pid)
            done, failed = (int(part) for part in wrk(script, target.port, 64)[:2])
            assert not failed, f"{failed} failed"
            spent[target.name].append((cpu_us(target.pid) - before) / done)
    base = spent[targets[0].name]
    for name, values in spent.items():
        ratio = statistics.median(value / other for value, other in zip(values, base, strict=True))
        spread = f"{min(values):.1f}..{max(values):.1f}"
        print(f"  {name:12} {statistics.median(values):7.1f} us/request ({spread})  {ratio:.2f} x nginx")


def reload(folder: Path, grid: Target) -> None:
    script = folder / "paced.lua"
    script.write_text(WRK.format(key=KEY, delay=PACE))
    revision = 1
    for turn in range(2 * ROUNDS):
        reloads = bool(turn % 2)
        stop = threading.Event()
        writer = threading.Thread(target=keep_writing, args=(folder, revision, stop))
        if reloads:
            writer.start()
        requests, failed, p50, p99, p999, most = wrk(script, grid.port, 16)
        stop.set()
        if reloads:
            writer.join()
            revision += 10_000
        what = f"{RELOADS_A_SECOND} reloads/s" if reloads else "no reloads"
        print(
            f"  {what:14} {requests:.0f} requests, {failed:.0f} failed: p50 {p50:.2f}, p99 {p99:.2f},"
            f" p99.9 {p999:.2f}, max {most:.2f} ms"
        )


def keep_writing(folder: Path, revision: int, stop: threading.Event) -> None:
    turn = 0
    while not stop.wait(1 / RELOADS_A_SECOND):
        turn += 1
        put(folder / "grid" / "grid-config.json", current(world(turn), revision + turn))


def wrk(script: Path, port: int, connections: int) -> list[float]:
    flags = ["-t1", f"-c{connections}", f"-d{ROUND_S}s", "-s", str(script), "--latency"]
    argv = ["taskset", "-c", LOAD_CPU, "wrk", *flags, f"http://127.0.0.1:{port}/v1"]
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return [float(part) for part in out.rpartition("RESULT")[2].split()]


@contextmanager
def gateway(folder: Path, name: str, route: str, backend: int) -> Iterator[Target]:
    port, config = free_port(), folder / name / "praxis.yaml"
    config.parent.mkdir()
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    config.write_text(CHAIN.format(port=port, digest=digest, route=route, backend=backend))
    with process([sys.executable, "-m", "edge", "-c", str(config)], port, TARGET_CPU) as running:
        yield Target(name, port, running.pid)


@contextmanager
def nginx(folder: Path, name: str, rest: str, port: int, cpu: str) -> Iterator[int]:
    config = folder / f"{name}.conf"
    config.write_text(NGINX.format(folder=folder, name=name, rest=rest))
    with process([str(tool("nginx")), "-c", str(config)], port, cpu) as running:
        yield running.pid


@contextmanager
def process(argv: list[str], port: int, cpu: str) -> Iterator[subprocess.Popen[bytes]]:
    """Listening on *port*, on one core."""
    running = subprocess.Popen(
        ["taskset", "-c", cpu, *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while not listens(port):
            assert time.monotonic() < deadline, f"nothing listens on port {port}"
            time.sleep(0.05)
        yield running
    finally:
        running.kill()
        running.wait()


def listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def tool(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin")


def cpu_us(pid: int) -> float:
    """What the scheduler has charged to all threads."""
    stats = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in stats) / 1000


def failover() -> None:
    """From the kill to the first answer of the other, in new requests one after another."""
    found = [_fail_over_once() for _ in range(max(5, ROUNDS))]
    print(f"  failover: {statistics.median(found):.2f} ms ({min(found):.2f}..{max(found):.2f}), every request answered")  # fmt: skip


def _fail_over_once() -> float:
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder, port, a, b = Path(name), free_port(), free_port(), free_port()
        put(folder / "grid" / "grid-config.json", current([candidate("a"), candidate("b", rank=1)], 1))
        (folder / "praxis.yaml").write_text(FAILOVER.format(port=port, folder=folder, a=a, b=b))
        dying = nginx(folder, "a", STATIC.format(port=a, text="a"), a, LOAD_CPU)
        pid = running.enter_context(dying)
        running.enter_context(nginx(folder, "b", STATIC.format(port=b, text="b"), b, LOAD_CPU))
        argv = [sys.executable, "-m", "edge", "-c", str(folder / "praxis.yaml")]
        running.enter_context(process(argv, port, TARGET_CPU))
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        assert all(_ask(client) == "a" for _ in range(20))
        os.kill(pid, signal.SIGKILL)
        while listens(a):
            time.sleep(0.001)
        began = time.perf_counter()
        assert _ask(client) == "b"
        spent = (time.perf_counter() - began) * 1000
        assert all(_ask(client) == "b" for _ in range(20))
        client.close()
        return spent


def _ask(client: http.client.HTTPConnection) -> str:
    client.request(
        "POST", "/v1/chat/completions", b'{"model":"shared-model"}', {"content-type": "application/json"}
    )
    reply = client.getresponse()
    body = reply.read().decode()
    assert reply.status == 200, body
    return body.split('"')[3]


if __name__ == "__main__":
    main()
