"""Reads what an engine says of its things into Observed: one normaliser, pure.

    created            BROKEN      made, never started: a run was cut off
    running            RUNNING
    paused             STOPPED
    restarting         STARTING
    exited             COMPLETED with 0, FAILED otherwise, STOPPED where Forge stopped it
    dead, removing     BROKEN

An engine does not say why a container ended. That Forge stopped it is read from its restart policy,
which differs from the wanted one (a label) since then: see docker_service.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from forge.host import docker_labels
from forge.host.docker_labels import PREFIX
from forge.plan.values import Key, Observed, Phase

POLICY = PREFIX + "restart"
"""The label that holds the wanted restart policy."""

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


def service(
    key: Key,
    found: Mapping[str, Any],
    networks: Collection[str] | None = None,
    last_exit: int | None = None,
) -> Observed:
    """One container, as `GET /containers/ID/json` gives it. networks: ids of all that exist now; a
    container that ended and whose network is gone cannot start again. last_exit: for one that runs
    again, which the engine's answer does not hold."""
    state, labels = found["State"], found["Config"].get("Labels")
    phase, detail = _phase(found, networks)
    started = nanoseconds(state.get("StartedAt", ""))
    return Observed(
        key=key,
        owner=docker_labels.owner_of(labels),
        fingerprint=(labels or {}).get(docker_labels.SPEC_HASH),
        phase=phase,
        id=found["Id"],
        pid=state.get("Pid") or None,
        started_at=None if started is None else started / 1e9,
        restarts=int(found.get("RestartCount") or 0),
        exit_code=last_exit if runs_again(found) or started is None else _exit_code(state),
        address=_address(found),
        detail=detail,
    )


def network(key: Key, found: Mapping[str, Any]) -> Observed:
    """One network, as the engine lists it."""
    labels = found.get("Labels")
    return Observed(
        key=key,
        owner=docker_labels.owner_of(labels),
        fingerprint=(labels or {}).get(docker_labels.SPEC_HASH),
        phase=Phase.PRESENT,
        id=found["Id"],
    )


def name_of(found: Mapping[str, Any]) -> str:
    """A container's name, without the slash that engines put before it."""
    return str(found["Name"]).removeprefix("/")


def is_marked_stopped(found: Mapping[str, Any]) -> bool:
    wanted = (found["Config"].get("Labels") or {}).get(POLICY)
    return wanted is not None and _policy(found) != wanted


def nanoseconds(text: str) -> int | None:
    """Unix time of an RFC 3339 instant with up to nine digits; None for Go's zero time and others."""
    match = _TIME.match(text)
    if match is None or text.startswith("0001-"):
        return None
    whole = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
    return int(whole.timestamp()) * 1_000_000_000 + int((match[2] or "").ljust(9, "0"))


def _phase(found: Mapping[str, Any], networks: Collection[str] | None) -> tuple[Phase, str]:
    state = found["State"]
    match state["Status"]:
        case "running":
            return Phase.RUNNING, ""
        case "paused":
            return Phase.STOPPED, "paused"
        case "restarting":
            return Phase.STARTING, "waits to be started again"
        case "exited":
            return _ended(found, networks)
        case "created":
            return Phase.BROKEN, "it was made but never started"
        case other:
            return Phase.BROKEN, f"the engine calls it {other}"


def _ended(found: Mapping[str, Any], networks: Collection[str] | None) -> tuple[Phase, str]:
    state = found["State"]
    detail = "killed, out of memory" if state.get("OOMKilled") else str(state.get("Error") or "")
    if networks is not None and any(i not in networks for i in _network_ids(found)):
        return Phase.BROKEN, "its network is gone"
    if is_marked_stopped(found):
        return Phase.STOPPED, detail
    return (Phase.FAILED if state["ExitCode"] else Phase.COMPLETED), detail


def _network_ids(found: Mapping[str, Any]) -> list[str]:
    networks = (found.get("NetworkSettings") or {}).get("Networks") or {}
    return [n["NetworkID"] for n in networks.values() if n.get("NetworkID")]


def _policy(found: Mapping[str, Any]) -> str:
    return str(found["HostConfig"].get("RestartPolicy", {}).get("Name") or "no")


def runs_again(found: Mapping[str, Any]) -> bool:
    """Whether it runs now after it ended before."""
    return _is_up(found["State"]) and bool(found.get("RestartCount"))


def _is_up(state: Mapping[str, Any]) -> bool:
    return bool(state["Status"] in ("running", "paused"))


def _exit_code(state: Mapping[str, Any]) -> int | None:
    return None if _is_up(state) else int(state["ExitCode"])


def _address(found: Mapping[str, Any]) -> str | None:
    """Its address on its one network: the running one, or the fixed one it will have again."""
    networks = (found.get("NetworkSettings") or {}).get("Networks") or {}
    for attached in networks.values():
        fixed = (attached.get("IPAMConfig") or {}).get("IPv4Address")
        if attached.get("IPAddress") or fixed:
            return str(attached.get("IPAddress") or fixed)
    return None
