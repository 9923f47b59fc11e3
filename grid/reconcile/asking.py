"""`grid-operator explain`: asks the replica that leads why a gateway's candidates stand as they do.

Only the leader decides, so only it can say. Who that is stands in the Lease, and where it is in its pod.
"""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp

from grid.kube.port import LEASE, POD, Kube, KubeFault

LEASE_NAME = "grid-operator"
_ADMIN_PORT = 9090
_TIMEOUT_S = 10.0


class NotAnswered(Exception):
    """Nobody could be asked, or the answer is no explanation; the message says which and what to do."""


@dataclass(frozen=True, slots=True)
class Question:
    """model: "" is all of them."""

    network: str
    gateway: str
    model: str = ""


async def ask(url: str, question: Question) -> str:
    """The explanation of the operator whose admin pages are at *url*. Raises NotAnswered."""
    asked = {"network": question.network, "gateway": question.gateway, "model": question.model}
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(_TIMEOUT_S)) as http:
            answer = await http.post(f"{url.rstrip('/')}/explain", json=asked)
            text = await answer.text()
    except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
        raise NotAnswered(f"{url} does not answer: {str(fault) or type(fault).__name__}") from None
    if answer.status != 200:
        raise NotAnswered(f"{url}: {text.strip()}")
    return text


async def leader(kube: Kube, namespace: str) -> str:
    """The URL of the leader's admin pages. Raises NotAnswered."""
    try:
        lease = await kube.get(LEASE, LEASE_NAME, namespace)
        holder = str(lease.get("spec", {}).get("holderIdentity") or "")
        pod_name = holder.rpartition("-")[0]
        if not pod_name:
            raise NotAnswered(f"no operator leads in {namespace} now")
        pod = await kube.get(POD, pod_name, namespace)
    except KubeFault as fault:
        raise NotAnswered(
            f"cannot find the leader in {namespace}: {fault}; give its address with --url"
        ) from None
    address = str(pod.get("status", {}).get("podIP") or "")
    if not address:
        raise NotAnswered(f"the leader {pod_name} has no address yet")
    return f"http://{f'[{address}]' if ':' in address else address}:{_port(pod)}"


def _port(pod: dict[str, object]) -> int:
    spec = pod.get("spec")
    containers = spec.get("containers", []) if isinstance(spec, dict) else []
    for container in containers:
        for port in container.get("ports") or ():
            if port.get("name") == "admin":
                return int(port["containerPort"])
    return _ADMIN_PORT
