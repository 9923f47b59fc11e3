"""Asks a container's health from outside, as its users would, or by a command inside it.

A container's own address is asked where this machine has a route to it; elsewhere (an engine in a
virtual machine, one without root) the published port is.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from ipaddress import ip_address, ip_network

from forge.errors import OperationFailed
from forge.host import probe as probes
from forge.host import survey
from forge.host.engine import Engine, EngineRefused
from forge.host.unix_http import Request
from forge.plan.ports import ProbeResult
from forge.plan.resources import HealthCheck, NetworkMode, ProbeType, ServiceResource
from forge.plan.values import Observed

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a wildcard is asked as


def probe(engine: Engine, observed: Observed, wanted: ServiceResource, check: HealthCheck) -> ProbeResult:
    if check.type is ProbeType.EXEC:
        return _exec(engine, observed.id, check)
    place = endpoint(observed, wanted, check.port, survey.host_routes())
    if place is None:
        return ProbeResult(ok=False, detail=f"port {check.port} cannot be reached from here: publish it")
    address, port = place
    if check.type is ProbeType.TCP:
        return probes.tcp(address, port, check.timeout_s)
    return probes.http(address, port, check.path, check.timeout_s)


def endpoint(
    observed: Observed, wanted: ServiceResource, port: int, routes: Collection[str]
) -> tuple[str, int] | None:
    """Where this machine reaches the container's port; None where it cannot. routes: this machine's,
    as CIDRs."""
    if wanted.network is NetworkMode.HOST:
        return "127.0.0.1", port
    address = observed.address or wanted.address
    if address is not None and any(ip_address(address) in ip_network(cidr) for cidr in routes):
        return address, port
    for published in wanted.ports:
        if published.container == port:
            return _LOOPBACK.get(published.bind, published.bind), published.host
    return None


def _exec(engine: Engine, identity: str, check: HealthCheck) -> ProbeResult:
    """An engine offers no way to end a command that takes too long: it goes on inside, unheard."""
    until = time.monotonic() + check.timeout_s
    try:
        body = {"Cmd": list(check.command), "AttachStdout": True, "AttachStderr": True}
        made = engine.post(f"/containers/{identity}/exec", body=body)["Id"]
        start = Request("POST", f"/exec/{made}/start", body={"Detach": False}, timeout_s=check.timeout_s)
        with engine.stream(start) as pieces:
            for _ in pieces:
                pass
        code = engine.get(f"/exec/{made}/json").get("ExitCode")
    except EngineRefused as refused:
        return ProbeResult(ok=False, detail=refused.message[:200])
    except OperationFailed as failed:
        late = time.monotonic() >= until
        return ProbeResult(ok=False, detail=f"no answer within {check.timeout_s:g} s" if late else failed.why)
    return ProbeResult(ok=code == 0, detail=f"exit code {code}")
