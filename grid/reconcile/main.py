"""Entry point of `grid-operator`: runs the operator, or asks a running one to explain itself.

Exit codes: 0 after a signal, 1 when it cannot begin (or nobody answers), 2 for wrong flags or environment.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Sequence

import aiohttp

from grid.kube.client import Client, connect
from grid.kube.lease import Candidacy
from grid.kube.port import Kube, KubeFault
from grid.mesh.metrics import MeshMetrics
from grid.reconcile.act import Actor
from grid.reconcile.asking import LEASE_NAME, NotAnswered, Question, ask, leader
from grid.reconcile.identity import Identity
from grid.reconcile.loop import Loop
from grid.reconcile.mesh import Mesh
from grid.reconcile.meshing import Meshing
from grid.reconcile.metrics import OperatorMetrics
from grid.reconcile.observe import Observer
from grid.reconcile.reach import Reacher
from grid.reconcile.scrape import Prober, session
from grid.reconcile.settings import Settings, SettingsInvalid, read_settings
from grid.seal.aead import NONCE_BYTES
from grid.telemetry import admin, logs

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = parser().parse_args(sys.argv[1:] if argv is None else argv)
    if given.command == "explain":
        return asyncio.run(_explain(given))
    pod = os.environ.get("POD_NAME") or socket.gethostname()
    try:
        settings = read_settings(os.environ, f"{pod}-{os.getpid()}")
    except SettingsInvalid as invalid:
        return _failed(str(invalid), 2)
    logs.configure()
    return asyncio.run(_run(settings, given.context, given.kubeconfig))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser("grid-operator", description=__doc__.splitlines()[0] if __doc__ else "")
    made.add_argument(
        "--context", default="", help="context of the kubeconfig; without it, the Pod's own account"
    )
    made.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG", ""), help="default: KUBECONFIG")
    commands = made.add_subparsers(dest="command")
    explain = commands.add_parser("explain", help="why a gateway's candidates stand as they stand")
    explain.add_argument("--network", required=True)
    explain.add_argument("--gateway", required=True)
    explain.add_argument("--model", default="")
    explain.add_argument("--namespace", default=os.environ.get("GRID_NAMESPACE", "grid-system"))
    explain.add_argument(
        "--url", default="", help="the leader's admin pages; default: looked up by its Lease"
    )
    return made


async def _run(settings: Settings, context: str, kubeconfig: str) -> int:
    try:
        kube = await connect(context, kubeconfig)
    except KubeFault as fault:
        return _failed(fault.reason)
    try:
        async with session() as http:
            return await _operate(settings, kube, http)
    finally:
        await kube.close()


async def _operate(settings: Settings, kube: Client, http: aiohttp.ClientSession) -> int:
    woken = asyncio.Event()
    candidacy = Candidacy(
        kube,
        settings.namespace,
        LEASE_NAME,
        settings.instance,
        clock=time.monotonic,
        now=time.time,
        terms=settings.lease,
        changed=woken.set,
    )
    mesh = Meshing(
        kube,
        settings.mesh,
        settings.site,
        settings.namespace,
        wake=woken.set,
        now=time.time,
        chance=random.SystemRandom(),
        nonce=lambda: os.urandom(NONCE_BYTES),
    )
    loop = assemble(settings, kube, http, candidacy, woken, mesh)
    MeshMetrics(loop.metrics.metrics, lambda: mesh.opened)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        pages = [*_pages(loop, candidacy), *([_severing(mesh)] if settings.mesh.faults else [])]
        server = await admin.serve(pages, settings.admin_host, settings.admin_port)
    except OSError as fault:
        return _failed(f"cannot listen on {settings.admin_host}:{settings.admin_port}: {fault.strerror}")
    # What is loaded by now lives as long as the process: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    log.info("operator started", extra={"site": settings.site, "instance": settings.instance})
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(candidacy.run()), group.create_task(loop.run())]
        await stop.wait()
        for task in tasks:
            task.cancel()
    await candidacy.release()
    await server.close()
    return 0


def assemble(
    settings: Settings,
    kube: Kube,
    http: aiohttp.ClientSession,
    candidacy: Candidacy,
    woken: asyncio.Event,
    mesh: Mesh,
) -> Loop:
    """The parts of an operator, put together."""
    identity = Identity(settings.tls)
    metrics = OperatorMetrics(lambda: candidacy.leads)
    prober = Prober(http, time.time, woken.set, random.random, metrics.scrapes.add, identity)
    reacher = Reacher(identity, time.time, woken.set, random.random, settings.reach_every_s)
    observer = Observer(
        kube,
        settings.site,
        settings.namespace,
        mesh,
        prober,
        reacher,
        identity,
        wake=woken.set,
        now=time.time,
        random=random.random,
        gateway=settings.mesh.gateway,
    )
    actor = Actor(kube, observer, settings.instance, time.time, random.random, metrics.actions.add)
    return Loop(observer, actor, mesh, metrics, lambda: candidacy.leads, time.time, woken)


def _pages(loop: Loop, candidacy: Candidacy) -> list[admin.Page]:
    return [
        admin.livez(),
        admin.readyz(loop.not_ready),
        admin.scrape(loop.metrics.metrics),
        admin.status(loop.status),
        admin.Page("/explain", lambda body: _explained(loop, candidacy, body), "POST"),
    ]


def _severing(mesh: Meshing) -> admin.Page:
    """For tests of partitions: a JSON list of advertised addresses that are neither heard nor spoken to."""

    def sever(body: bytes) -> admin.Answer:
        try:
            mesh.sever(frozenset(str(address) for address in json.loads(body)))
        except (ValueError, TypeError):
            return admin.text("a JSON list of addresses", 400)
        return admin.text("severed")

    return admin.Page("/mesh/sever", sever, "POST")


def _explained(loop: Loop, candidacy: Candidacy, body: bytes) -> admin.Answer:
    if not candidacy.leads:
        return admin.text(f"this replica does not lead; {candidacy.holder or 'nobody'} does", 409)
    try:
        asked = json.loads(body)
        lines = list(
            loop.explained(str(asked["network"]), str(asked["gateway"]), str(asked.get("model", "")))
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return admin.text("a JSON object with network, gateway and perhaps model", 400)
    return admin.text("\n".join(lines)) if lines else admin.text("no such gateway here", 404)


async def _explain(given: argparse.Namespace) -> int:
    question = Question(given.network, given.gateway, given.model)
    try:
        url = given.url or await _leader(given.context, given.kubeconfig, given.namespace)
        sys.stdout.write(await ask(url, question))
    except NotAnswered as why:
        return _failed(str(why))
    return 0


async def _leader(context: str, kubeconfig: str, namespace: str) -> str:
    try:
        kube = await connect(context, kubeconfig)
    except KubeFault as fault:
        raise NotAnswered(f"no cluster to find the leader in, and no --url: {fault.reason}") from None
    try:
        return await leader(kube, namespace)
    finally:
        await kube.close()


def _failed(why: str, code: int = 1) -> int:
    sys.stderr.write(f"grid-operator: {why}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
