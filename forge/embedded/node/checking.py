"""Asking one container: probes, and what its hooks do. The shell round `probing.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from forge.embedded.api.values import Json
from forge.embedded.node import probing
from forge.embedded.node.probing import Kind, Standing
from forge.embedded.process import beside, probes
from forge.embedded.process.probes import Verdict
from forge.embedded.process.supervisor import Supervisor
from forge.errors import OperationFailed

Report = Callable[[Kind, Standing, Standing, Verdict], None]
"""(kind, the standing before, and after this answer, the answer)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """process: its name with the supervisor. address: the pod's."""

    supervisor: Supervisor
    process: str
    container: Json
    address: str


async def watch(asked: Asked, report: Report) -> None:
    """Asks as the container's probes say, until cancelled: startup alone at first, then the others."""
    if "startupProbe" in asked.container:
        await _watch(asked, Kind.STARTUP, asked.container["startupProbe"], report)
    async with asyncio.TaskGroup() as group:
        for kind, name in ((Kind.READINESS, "readinessProbe"), (Kind.LIVENESS, "livenessProbe")):
            if name in asked.container:
                group.create_task(_watch(asked, kind, asked.container[name], report))


async def _watch(asked: Asked, kind: Kind, probe: Json, report: Report) -> None:
    """Until cancelled; a startup probe's until it passed."""
    rule, standing = probing.rule(probe), probing.begin(kind)
    await asyncio.sleep(rule.delay_s)
    while True:
        verdict = await check(asked, probe, rule.timeout_s)
        before = standing
        standing = probing.judge(standing, rule, time.monotonic(), ok=verdict.ok)
        report(kind, before, standing, verdict)
        if kind is Kind.STARTUP and standing.passed:
            return
        await asyncio.sleep(probing.wait_s(standing, rule))


async def check(asked: Asked, action: Json, timeout_s: float) -> Verdict:
    """One question."""
    if "httpGet" in action:
        wanted = action["httpGet"]
        headers = {h["name"]: h["value"] for h in wanted.get("httpHeaders") or []}
        return await probes.http(
            wanted.get("host") or asked.address,
            port_of(asked.container, wanted["port"]),
            wanted.get("path") or "/",
            timeout_s,
            headers=headers,
            tls=wanted.get("scheme") == "HTTPS",
        )
    if "tcpSocket" in action:
        wanted = action["tcpSocket"]
        port = port_of(asked.container, wanted["port"])
        return await probes.tcp(wanted.get("host") or asked.address, port, timeout_s)
    if "exec" in action:
        return await _execute(asked, action["exec"].get("command") or [], timeout_s)
    return Verdict(ok=False, detail="a probe of this kind is not supported by this node")


async def _execute(asked: Asked, argv: list[str], timeout_s: float) -> Verdict:
    try:
        command = asked.supervisor.command(asked.process, argv)
    except OperationFailed as error:
        return Verdict(ok=False, detail=error.why)
    return await probes.command(asked.process, command, timeout_s)


async def hook(asked: Asked, handler: Json, timeout_s: float) -> str:
    """Runs a lifecycle handler to its end; why it failed, or empty."""
    if "sleep" in handler:
        await asyncio.sleep(min(float(handler["sleep"].get("seconds") or 0), timeout_s))
        return ""
    if "exec" in handler:
        try:
            command = asked.supervisor.command(asked.process, handler["exec"].get("command") or [])
            ended = await beside.run(asked.process, command, timeout_s)
        except OperationFailed as error:
            return error.why
        return "" if ended.code == 0 else f"exited with {ended.code}"
    verdict = await check(asked, handler, timeout_s)
    return "" if verdict.ok else verdict.detail


def port_of(container: Json, port: int | str) -> int:
    """A number, or the number of the container's port of that name; 0 when it has none."""
    if isinstance(port, int) or port.isdigit():
        return int(port)
    named = (p["containerPort"] for p in container.get("ports") or [] if p.get("name") == port)
    return int(next(named, 0))
