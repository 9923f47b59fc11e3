"""Containers of an engine: made and started, stopped, removed. Whatever fails leaves nothing behind.

A stopped container keeps the mark of having been stopped in its restart policy, the one thing of a
container that can be changed afterwards: `no` where the wanted policy (a label) is another, and
`unless-stopped` where that is `no`. Under neither does the engine start it by itself again.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from forge.errors import ForgeError, Interrupted, OperationFailed
from forge.host import docker_errors, docker_image, docker_labels, docker_ports, docker_read
from forge.host.docker_body import Caller, service_body, stopped_policy
from forge.host.engine import Engine, EngineRefused
from forge.plan.ports import Cancel
from forge.plan.resources import Mount, ServiceResource
from forge.plan.values import Key, Observed, Owner

_REMOVE_S = 30.0
_UPDATE_S = 3.0
_POLL_S = 0.1


def find(engine: Engine, name: str) -> Mapping[str, Any] | None:
    """The container of exactly that name: engines also take the beginning of an id for one."""
    found: Mapping[str, Any] | None = engine.find(f"/containers/{name}/json")
    return found if found is not None and docker_read.name_of(found) == name else None


def create(
    engine: Engine,
    key: Key,
    wanted: ServiceResource,
    owner: Owner,
    fingerprint: str,
    caller: Caller,
    cancel: Cancel,
) -> str:
    """Makes it and starts it; gives its id."""
    _clear_leftover(engine, key, wanted.container, owner)
    for mount in wanted.mounts:
        _prepare(mount, wanted, caller)
    body = service_body(key, wanted, owner, fingerprint, caller)
    identity = _make(engine, wanted, body)
    with _or_removed(engine, identity):
        if cancel.is_set():
            raise Interrupted("FG0308", f"starting {key} was stopped", signal_number=2)
        _start(engine, identity, wanted)
    return identity


def start(engine: Engine, observed: Observed, wanted: ServiceResource) -> None:
    """Starts it again as it was made; takes the mark of having been stopped off it."""
    found = engine.find(f"/containers/{observed.id}/json")
    try:
        if found is not None and found["State"].get("Paused"):
            engine.post(f"/containers/{observed.id}/unpause")
        _set_policy(engine, observed.id, wanted.restart.value)
    except EngineRefused as refused:
        raise _cannot_start(engine, wanted, refused) from refused
    _start(engine, observed.id, wanted)


def stop(engine: Engine, observed: Observed, grace_s: float) -> None:
    """One that is gone, or has ended already, is a success."""
    found = engine.find(f"/containers/{observed.id}/json")
    if found is None:
        return
    try:
        _mark_stopped(engine, found)
        _end(engine, found, grace_s)
    except EngineRefused as refused:
        if refused.status != 404:
            raise docker_errors.refused_by_engine(f"cannot stop {observed.key}", refused) from refused


def remove(engine: Engine, observed: Observed, grace_s: float) -> None:
    """Whatever state it is in; one that is gone is a success."""
    found = engine.find(f"/containers/{observed.id}/json")
    if found is None:
        return
    try:
        with suppress(EngineRefused):  # one that cannot be stopped any more is removed by force
            _end(engine, found, grace_s)
        remove_now(engine, observed.id)
    except EngineRefused as refused:
        raise docker_errors.refused_by_engine(f"cannot remove {observed.key}", refused) from refused


def remove_now(engine: Engine, identity: str) -> None:
    """Kills and removes it with its anonymous volumes; waits for a removal that already runs."""
    until = time.monotonic() + _REMOVE_S
    while True:
        try:
            engine.delete(f"/containers/{identity}", {"force": True, "v": True})
        except EngineRefused as refused:
            if refused.status == 404:
                return
            if refused.status not in (409, 500) or time.monotonic() >= until:
                raise
            time.sleep(_POLL_S)
        else:
            return


def _clear_leftover(engine: Engine, key: Key, name: str, owner: Owner) -> None:
    found = find(engine, name)
    if found is None:
        return
    labels = found["Config"].get("Labels")
    if not docker_labels.is_of(labels, key, owner):
        raise docker_errors.not_ours("container", name, labels)
    remove_now(engine, found["Id"])


def _prepare(mount: Mount, wanted: ServiceResource, caller: Caller) -> None:
    """Makes the directory where it may be made, for the caller and the state directory's group only:
    an engine would make it as root's. Raises OperationFailed FG0311 where it is missing."""
    source = Path(mount.source)
    if source.exists():
        return
    if not mount.create:
        raise OperationFailed(
            "FG0311",
            f"service {wanted.name!r} mounts what is not there",
            why=f"{mount.source} does not exist",
            hint="make it, or correct the volume's source",
            changed=False,
        )
    for folder in reversed([p for p in (source, *source.parents) if not p.exists()]):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o770)
        with suppress(PermissionError):  # a group the caller is no member of: then it is the caller's own
            os.chown(folder, -1, caller.group)


def _make(engine: Engine, wanted: ServiceResource, body: Mapping[str, Any]) -> str:
    try:
        return str(engine.post("/containers/create", {"name": wanted.container}, body)["Id"])
    except EngineRefused as raised:
        refused = _blotted(raised, wanted)
        if refused.status == 404 and "image" in refused.message.lower():
            raise docker_image.missing(wanted.image, "it is not on this machine any more") from refused
        if refused.status == 409 and (found := find(engine, wanted.container)) is not None:
            raise docker_errors.not_ours(
                "container", wanted.container, found["Config"].get("Labels")
            ) from refused
        failed = docker_errors.refused_by_engine(f"cannot make service {wanted.name!r}", refused)
        failed.may_pass = refused.status == 409  # whoever had the name is gone
        raise failed from refused


@contextmanager
def _or_removed(engine: Engine, identity: str) -> Iterator[None]:
    """Removes the container when what it is for fails, or is interrupted."""
    try:
        yield
    except BaseException:
        with suppress(EngineRefused, ForgeError):  # the failure itself is what the user must hear
            remove_now(engine, identity)
        raise


def _start(engine: Engine, identity: str, wanted: ServiceResource) -> None:
    try:
        engine.post(f"/containers/{identity}/start", timeout_s=120.0)
    except EngineRefused as refused:
        raise _cannot_start(engine, wanted, refused) from refused


def _blotted(refused: EngineRefused, wanted: ServiceResource) -> EngineRefused:
    return EngineRefused(refused.status, docker_errors.without_secrets(refused.message, wanted))


def _cannot_start(engine: Engine, wanted: ServiceResource, raised: EngineRefused) -> OperationFailed:
    refused = _blotted(raised, wanted)
    why = docker_errors.plain(refused.message)
    what = f"service {wanted.name!r} cannot start"
    held = docker_ports.holder_of_refused(engine, wanted, refused.message)
    if held is not None:
        return OperationFailed(
            "FG0312",
            what,
            why=f"port {held.port} of {held.bind} is held by {held.holder}",
            hint="end that, or choose another host port",
            changed=False,
        )
    if "ddress already in use" in refused.message and wanted.address is not None:
        why = f"its address {wanted.address} is taken{_address_holder(engine, wanted)}"
    return OperationFailed(
        "FG0313", what, why=why, hint="correct it in forge.yaml, or in the image", changed=False
    )


def _address_holder(engine: Engine, wanted: ServiceResource) -> str:
    network = engine.find(f"/networks/{wanted.network_name}") or {}
    for endpoint in (network.get("Containers") or {}).values():
        address = str(endpoint.get("IPv4Address", "")).partition("/")[0]
        if address and ip_address(address) == ip_address(str(wanted.address)):
            return f" by container {endpoint.get('Name')}"
    return ""


def _mark_stopped(engine: Engine, found: Mapping[str, Any]) -> None:
    wanted = (found["Config"].get("Labels") or {}).get(docker_read.POLICY)
    if wanted is not None and not docker_read.is_marked_stopped(found):
        _set_policy(engine, found["Id"], stopped_policy(wanted))


def _set_policy(engine: Engine, identity: str, policy: str) -> None:
    """Tried again for a moment: an engine refuses it (500, `cannot update a stopped container`) while
    the container's program ends, and a program that keeps failing ends all the time."""
    until = time.monotonic() + _UPDATE_S
    while True:
        try:
            engine.post(f"/containers/{identity}/update", body={"RestartPolicy": {"Name": policy}})
        except EngineRefused as refused:
            if refused.status != 500 or time.monotonic() >= until:
                raise
            time.sleep(_POLL_S)
        else:
            return


def _end(engine: Engine, found: Mapping[str, Any], grace_s: float) -> None:
    """SIGTERM, which a paused one would never see, then SIGKILL. Engines count whole seconds. Without a
    grace SIGKILL alone; the stop after it is for the engine, which would restart what was killed."""
    if grace_s <= 0:
        with suppress(EngineRefused):  # it does not run
            engine.post(f"/containers/{found['Id']}/kill", {"signal": "KILL"})
    elif found["State"].get("Paused"):
        engine.post(f"/containers/{found['Id']}/unpause")
    engine.post(f"/containers/{found['Id']}/stop", {"t": math.ceil(grace_s)}, timeout_s=grace_s + 60.0)
