"""Entry point of `grid-overlay-sync`: flags, clock, signals; one follower until SIGTERM or SIGINT.

Exit codes: 0 after a signal or a good `--once`, 1 without a valid overlay at the start, 2 for wrong flags.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from grid.contract.names import OVERLAY_KEY
from grid.contract.overlay import Scope
from grid.kube.client import Client, connect
from grid.kube.port import KubeFault
from grid.sync import metrics
from grid.sync.follow import Following, Outcome
from grid.sync.shell import Source, Syncer
from grid.telemetry import admin, logs

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = parser().parse_args(sys.argv[1:] if argv is None else argv)
    host, port = _address(given.health_addr)
    if given.health_addr and not admin.may_bind(host):
        parser().error("--health-addr: a loopback or private address, never a wildcard")
    logs.configure()
    return asyncio.run(_run(given, host, port))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        "grid-overlay-sync", description="Follows one overlay from its ConfigMap to a file."
    )
    add = made.add_argument
    add("--context", default="", help="context of the kubeconfig; without it, a Pod's own account")
    add("--kubeconfig", default=os.environ.get("KUBECONFIG", ""), help="default: KUBECONFIG")
    add("--namespace", default="grid-system")
    add("--configmap", required=True)
    add("--key", default=OVERLAY_KEY)
    add("--output", required=True, type=Path, help="the file that is kept")
    add("--expect-network", default="", help="refuse an overlay of another network")
    add("--expect-gateway", default="", help="refuse an overlay of another gateway")
    add("--expect-site", default="", help="refuse an overlay for another site")
    add("--health-addr", default="", help="host:port of /livez /readyz /status /metrics")
    add("--once", action="store_true", help="write it once and end")
    return made


async def _run(given: argparse.Namespace, host: str, port: int) -> int:
    try:
        kube = await connect(given.context, given.kubeconfig)
    except KubeFault as fault:
        return _failed(fault.reason)
    try:
        return await _with(kube, given, host, port)
    finally:
        await kube.close()


async def _with(kube: Client, given: argparse.Namespace, host: str, port: int) -> int:
    expected = Scope(given.expect_network, given.expect_gateway, given.expect_site)
    source = Source(given.namespace, given.configmap, given.key, expected)
    holder: list[Syncer] = []
    counted = metrics.SyncMetrics(lambda: holder[0].following if holder else Following(), time.time)
    syncer = Syncer(kube, source, given.output, counted, time.time, random.random)
    holder.append(syncer)
    try:
        syncer.begin()
        step = await syncer.first()
    except KubeFault as fault:
        return _failed(f"cannot read ConfigMap {source.namespace}/{source.configmap}: {fault}")
    except OSError as fault:
        return _failed(f"cannot read {given.output}: {fault.strerror}")
    if step.outcome is Outcome.REJECTED or syncer.write_failed:
        return _failed(
            f"no valid overlay in {source.namespace}/{source.configmap}: {step.detail or 'not written'}"
        )
    return 0 if given.once else await _serve(syncer, host, port)


async def _serve(syncer: Syncer, host: str, port: int) -> int:
    """Follows, with the admin pages beside it, until a signal comes; then everything is joined."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        server = await admin.serve(_pages(syncer), host, port) if host else None
    except OSError as fault:
        return _failed(f"cannot listen on {host}:{port}: {fault.strerror}")
    async with asyncio.TaskGroup() as group:
        following = group.create_task(syncer.run())
        await stop.wait()
        following.cancel()
    if server is not None:
        await server.close()
    return 0


def _pages(syncer: Syncer) -> list[admin.Page]:
    return [
        admin.livez(),
        admin.readyz(lambda: metrics.not_ready(syncer.following, write_failed=syncer.write_failed)),
        admin.scrape(syncer.metrics.metrics),
        admin.status(lambda: metrics.status(syncer.following, time.time())),
    ]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port) if port.isdigit() else 0


def _failed(why: str) -> int:
    sys.stderr.write(f"grid-overlay-sync: {why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
