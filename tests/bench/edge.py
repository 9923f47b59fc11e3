"""The gateway beside nginx, haproxy and Envoy: CPU per request and per chunk, interleaved rounds, medians of
ratios.

The proxies take turns on one core each round; load and backend share the other. CPU is what the scheduler has
charged to a target's whole process tree, so waiting for a core does not count. Two loads of the same requests
are measured: `full`, as fast as 64 connections go, and `paced`, where every target gets the same requests a
second: a faster proxy keeps the load's core awake and saves its own wake-ups, which flatters whoever is
fastest. On a machine whose cores share one pipeline the load slows the target down, interpreted code most.

nginx and the bare engine do not look at the body; all others route by its `model`. Needs two cores, nginx and
wrk. EDGE_BENCH_ROUNDS (4) and EDGE_BENCH_S (2) make it longer, EDGE_BENCH_STREAMS (5000) is for the last
part, EDGE_BENCH_ONLY names parts (full, paced, tls, large, sse, first, streams). See `edge_peers` for
EDGE_BENCH_INSTALL and EDGE_BENCH_LITELLM, and for EDGE_BENCH_PYTHON and EDGE_BENCH_COMPILED, which choose the
build of our gateway and a second one to measure beside it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.bench.edge_configs import WRK
from tests.bench.edge_peers import KEY, LOAD_CPU, PEERS, NotHere, Site, Target, build, site, tool

ROUNDS = int(os.environ.get("EDGE_BENCH_ROUNDS", "4"))
ROUND_S = int(os.environ.get("EDGE_BENCH_S", "2"))
STREAMS = 64
MANY_STREAMS = int(os.environ.get("EDGE_BENCH_STREAMS", "5000"))
WINDOW_S = 8
PARTS = os.environ.get("EDGE_BENCH_ONLY", "full,paced,tls,large,sse,first,streams").split(",")
US = ("whole chain", "whole chain, compiled")
AT_LEAST = {"Envoy, json": 1.0, "LiteLLM": 100.0}
"""How many times our CPU a peer is expected to take for a request."""


@dataclass(frozen=True)
class Load:
    """run: sends for a round to a target, from the load's core, and returns how many units were done.
    goal: the most our whole chain may cost, as a ratio to nginx."""

    key: str
    name: str
    unit: str
    goal: float
    run: Callable[[Target], int]
    fits: Callable[[Target], bool] = lambda _: True


def main() -> None:
    try:
        tool("nginx"), tool("wrk"), tool("taskset")
    except NotHere as missing:
        print(f"skipped: {missing}")
        return
    if (os.cpu_count() or 1) < 2:
        print("skipped: needs two cores, one for the proxy and one for the load")
        return
    _allow_files()
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder = Path(name)
        behind = running.enter_context(site(folder))
        targets = _start(running, behind)
        print(f"{ROUNDS} rounds of {ROUND_S} s; load average {os.getloadavg()[0]:.1f}", flush=True)
        for load in _loads(folder):
            if load.key in PARTS:
                fit = [target for target in targets if load.fits(target)]
                _report(load, _measure(load, fit), [t.name for t in targets if t not in fit])
        if "first" in PARTS:
            _first_chunk(behind, targets)
        if "streams" in PARTS:
            _many_streams(behind, targets)


def _start(running: ExitStack, behind: Site) -> list[Target]:
    targets = []
    for make in PEERS:
        try:
            targets.append(running.enter_context(make(behind)))
        except NotHere as missing:
            print(f"left out: {missing}")
    for name in US:
        if name in {target.name for target in targets}:
            print(f"{name}: {build(compiled=name != US[0])}")
    return targets


def _measure(load: Load, targets: list[Target]) -> Mapping[str, list[float]]:
    """CPU microseconds a unit, by target, one number a round; the targets take turns within a round."""
    spent: dict[str, list[float]] = {target.name: [] for target in targets}
    for _ in range(ROUNDS):
        for target in targets:
            before = _cpu_us(target.pid)
            done = load.run(target)
            spent[target.name].append((_cpu_us(target.pid) - before) / max(done, 1))
    return spent


def _report(load: Load, spent: Mapping[str, list[float]], without: list[str]) -> None:
    base = spent["nginx"]
    print(f"\n  {load.name}" + (f" (not for {', '.join(without)})" if without else ""))
    for name, values in spent.items():
        ratio = statistics.median(value / other for value, other in zip(values, base, strict=True))
        spread = f"{min(values):.1f}..{max(values):.1f}"
        line = f"    {name:21} {statistics.median(values):9.1f} us/{load.unit} ({spread:>15})  {ratio:6.2f} x nginx"
        print(line + (_verdict(ratio, load.goal) if name in US else ""), flush=True)

    for name, least in AT_LEAST.items():
        for us in US:
            if {name, us} <= spent.keys() and load.unit == "request":
                times = statistics.median(p / own for p, own in zip(spent[name], spent[us], strict=True))
                print(f"    {name} takes {times:.1f} x our {us}   goal {least:g}: {_met(times >= least)}")


def _verdict(found: float, goal: float) -> str:
    return f"   goal {goal:g}: {'met' if found <= goal else 'missed'}"


def _loads(folder: Path) -> list[Load]:
    """LiteLLM is only given the first."""
    paced = "delay = function() return math.random(4, 16) end"

    def quick(target: Target) -> bool:
        return not target.slow

    return [
        Load("full", "1 KB, 64 connections, full", "request", 2.0, _wrk(folder, "full", 900, 64)),
        Load(
            "paced",
            "1 KB, 64 connections, paced",
            "request",
            2.0,
            _wrk(folder, "paced", 900, 64, paced),
            quick,
        ),
        Load(
            "tls",
            "1 KB, 32 connections, TLS in, mutual TLS out",
            "request",
            2.0,
            _wrk(folder, "tls", 900, 32),
            lambda target: target.tls_port > 0,
        ),
        Load(
            "large",
            "1 MB, 4 connections",
            "request",
            1.2,
            _wrk(folder, "large", 1_000_000, 4),
            lambda target: target.large,
        ),
        Load("sse", f"SSE, {STREAMS} streams, a chunk each 10 ms", "chunk", 1.3, _chunks, quick),
    ]


def _wrk(folder: Path, name: str, size: int, connections: int, delay: str = "") -> Callable[[Target], int]:
    script = folder / f"{name}.lua"
    script.write_text(WRK.format(key=KEY, size=size, delay=delay))

    def run(target: Target) -> int:
        base = (
            f"https://127.0.0.1:{target.tls_port}/tls" if name == "tls" else f"http://127.0.0.1:{target.port}"
        )
        count = min(connections, 4) if target.slow else connections
        flags = ["-t1", f"-c{count}", f"-d{ROUND_S * (3 if target.slow else 1)}s", "-s", str(script)]
        out = _on_load_core("wrk", *flags, f"{base}/v1/chat/completions")
        requests, failed = (int(part) for part in out.rpartition("RESULT")[2].split())
        if failed:
            print(f"    {failed} of {requests} failed at {target.name}")
        return requests - failed

    return run


def _chunks(target: Target) -> int:
    return int(_part("chunks", target.port, STREAMS, ROUND_S))


def _first_chunk(behind: Site, targets: list[Target]) -> None:
    """One request after the other; what each proxy adds to asking the backend itself."""
    rounds: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        direct = float(_part("first", behind.sse, ROUND_S).split()[0])
        for target in targets:
            if not target.slow:
                rounds.setdefault(target.name, []).append(
                    float(_part("first", target.port, ROUND_S).split()[0]) - direct
                )
    added = {name: statistics.median(values) for name, values in rounds.items()}
    print("\n  first chunk of a stream, added to the backend's own (median of rounds' medians)")
    for name, values in rounds.items():
        line = (
            f"    {name:21} {added[name] * 1000:9.0f} us ({min(values) * 1000:.0f}..{max(values) * 1000:.0f})"
        )
        print(line + (f"   goal: nginx's, {_met(added[name] <= added['nginx'])}" if name in US else ""))


def _many_streams(behind: Site, targets: list[Target]) -> None:
    """One round each, not interleaved: the memory of a proxy that has served is no longer what it was."""
    print(f"\n  {MANY_STREAMS} streams, an event a second each (PSS a stream; delay of an event)")
    median, p99 = _delays(behind.sse, None)[1:]
    print(f"    {'backend itself':21} {'':13} median {median:7.1f} ms, 99th percentile {p99:7.1f} ms")
    for target in targets:
        if target.slow:
            continue
        kib, median, p99 = _delays(target.port, target)
        line = f"    {target.name:21} {kib:9.1f} KiB median {median:7.1f} ms, 99th percentile {p99:7.1f} ms"
        goal = f"   goals 10 KiB: {_met(kib <= 10)}, 10 ms: {_met(p99 <= 10)}"
        print(line + (goal if target.name in US else ""), flush=True)


def _delays(port: int, target: Target | None) -> tuple[float, float, float]:
    """KiB a stream, median and 99th percentile of delay in milliseconds."""
    before = _pss_kib(target.pid) if target else 0
    argv = _argv("delays", port, MANY_STREAMS, WINDOW_S)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        if running.stdout.readline().strip() != "ready":
            return (float("nan"),) * 3
        grown = (_pss_kib(target.pid) if target else 0) - before
        _, median, p99 = running.stdout.read().split()
    return grown / MANY_STREAMS, float(median), float(p99)


def _met(holds: bool) -> str:
    return "met" if holds else "missed"


def _part(name: str, port: int, *rest: object) -> str:
    return subprocess.run(_argv(name, port, *rest), stdout=subprocess.PIPE, text=True, check=True).stdout


def _argv(name: str, port: int, *rest: object) -> list[str]:
    argv = [sys.executable, "-m", "tests.bench.edge_parts", name, str(port), KEY, *map(str, rest)]
    return ["taskset", "-c", LOAD_CPU, *argv]


def _on_load_core(name: str, *flags: str) -> str:
    argv = ["taskset", "-c", LOAD_CPU, tool(name), *flags]
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout


def _tree(pid: int) -> list[int]:
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [pid, *(each for child in children.split() for each in _tree(int(child)))]


def _cpu_us(pid: int) -> float:
    stats = [path for each in _tree(pid) for path in Path(f"/proc/{each}/task").glob("*/schedstat")]
    return sum(int(path.read_text().split()[0]) for path in stats) / 1000


def _pss_kib(pid: int) -> float:
    total = 0
    for each in _tree(pid):
        rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
        total += int(rollup.partition("\nPss:")[2].split()[0])
    return total


def _allow_files() -> None:
    """As many descriptors as may be had, for this process and all it starts."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
