"""Who else uses this machine's loopback: other labs of the embedded runtime, and programs of nobody's.

Names the holder of a block of addresses or of a port, as a service of an environment where it is one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from forge.embedded.process.client import Client
from forge.embedded.process.spec import Status
from forge.errors import ForgeError, OperationFailed
from forge.host import as_process, blocks, survey
from forge.plan.ports import PortHolder
from forge.plan.resources import ServiceResource


def strangers(claims: Collection[blocks.Claim], own: Collection[str | None]) -> Mapping[str, str]:
    """Blocks nobody claimed but somebody listens in: another user's lab, or none of Forge's."""
    claimed = [IPv4Network(c.subnet) for c in claims]
    found = {}
    for text in survey.loopback_listeners():
        address = IPv4Address(text)
        if text in own:
            continue
        block = IPv4Network((int(address) & 0xFFFF0000, 16))
        if block != IPv4Network("127.0.0.0/16") and not any(address in c for c in claimed):
            found[str(block)] = f"a program that listens on {text}"
    return found


def held(bind: str, port: int, folders: Collection[str]) -> PortHolder | None:
    """Who has the port, on any of the addresses that bind stands for. folders: state folders of the
    environments whose services can be named."""
    for address in survey.expand(bind):
        found = survey.port_holder(address, port)
        if found is not None:
            status = _publisher(address, port, folders)
            return PortHolder(bind, port, found.holder) if status is None else _service(bind, port, status)
    return None


def _service(bind: str, port: int, status: Status) -> PortHolder:
    seen = as_process.observed(status)
    environment = seen.owner.environment if seen.owner else "?"
    return PortHolder(bind, port, f"{seen.key} of environment {environment}", seen.owner, seen.key)


def _publisher(address: str, port: int, folders: Collection[str]) -> Status | None:
    """The service whose relay listens there."""
    for folder in folders:
        with contextlib.suppress(ForgeError):  # a supervisor that does not answer names nobody
            for status in Client(Path(folder) / "runtime" / ".supervisor").statuses():
                if (address, port) in status.ports:
                    return status
    return None


def naming_holder(
    error: OperationFailed, wanted: ServiceResource, folders: Collection[str]
) -> OperationFailed:
    """The error with the name of whoever has the port, where that is what it is about."""
    if error.code != "FG0504":
        return error
    found = (held(port.bind, port.host, folders) for port in wanted.ports)
    holder = next((h for h in found if h is not None), None)
    if holder is None:
        return error
    why = f"{holder.bind}:{holder.port} is held by {holder.holder}"
    return OperationFailed(error.code, error.what, why=why, hint=error.hint, changed=False)
