"""Networks of an engine: made with a subnet that Forge chose, removed by id.

Making one is not atomic: engines take a second network of the same name. So the name is looked up
again afterwards, and ours is taken back where somebody was quicker.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from forge.errors import ForgeError, OperationFailed
from forge.host import docker_labels, survey
from forge.host.docker_body import network_body
from forge.host.docker_errors import not_ours, refused_by_engine
from forge.host.engine import Engine, EngineRefused
from forge.plan.resources import NetworkResource
from forge.plan.values import Key, Observed, Owner

_REMOVE_S = 10.0
"""How long a network's last endpoints may take to go: engines detach after a container has ended."""

_POLL_S = 0.1


def create(engine: Engine, key: Key, wanted: NetworkResource, owner: Owner, fingerprint: str) -> str:
    """The id of the network, made now or left over from a run that was cut off. Raises NotOurs, or
    OperationFailed FG0305 when its subnet is taken; nothing is left behind then."""
    for found in named(engine, wanted.name):
        if not docker_labels.is_of(found.get("Labels"), key, owner):
            raise not_ours("network", wanted.name, found.get("Labels"))
        if found["Labels"].get(docker_labels.SPEC_HASH) == fingerprint:
            return str(found["Id"])
        _remove(engine, found["Id"], wanted.name, owner)
    _refuse_routed(wanted)
    try:
        made = engine.post("/networks/create", body=network_body(key, wanted, owner, fingerprint))
    except EngineRefused as refused:
        raise _cannot_make(engine, wanted, refused) from refused
    return _settle(engine, wanted.name, str(made["Id"]))


def remove(engine: Engine, observed: Observed, name: str = "") -> None:
    """Removes it, and any twin that carries the same labels."""
    twins = [] if observed.owner is None else _labelled(engine, observed.key, observed.owner)
    for identity in dict.fromkeys([observed.id, *twins]):
        _remove(engine, identity, name or str(observed.key), observed.owner)


def named(engine: Engine, name: str) -> list[Mapping[str, Any]]:
    """All networks of exactly that name: engines match parts of it."""
    return [n for n in engine.get("/networks", {"filters": {"name": [name]}}) if n["Name"] == name]


def _labelled(engine: Engine, key: Key, owner: Owner) -> list[str]:
    wanted = [
        f"{docker_labels.ENVIRONMENT_ID}={owner.environment_id}",
        f"{docker_labels.RESOURCE}={key}",
    ]
    return [n["Id"] for n in engine.get("/networks", {"filters": {"label": wanted}})]


def _settle(engine: Engine, name: str, identity: str) -> str:
    others = [n for n in named(engine, name) if n["Id"] != identity]
    if others:
        with suppress(EngineRefused):
            engine.delete(f"/networks/{identity}")
        raise not_ours("network", name, others[0].get("Labels"))
    return identity


def _refuse_routed(wanted: NetworkResource) -> None:
    """A subnet that shadows a route (a VPN's) cuts this machine off from there. Engines do not look;
    routes through their own bridges they know."""
    for cidr, whose in routes().items():
        if ", br-" not in whose and _overlap(cidr, wanted.subnet):
            raise _subnet_taken(wanted, f"{cidr} belongs to {whose}")


def _cannot_make(engine: Engine, wanted: NetworkResource, refused: EngineRefused) -> ForgeError:
    if "overlap" in refused.message:
        holder = next(_overlapping(engine, wanted.subnet), "")
        return _subnet_taken(wanted, holder or refused.message)
    failed = refused_by_engine(f"cannot create network {wanted.name!r}", refused)
    if refused.status == 409:
        others = named(engine, wanted.name)
        if others:
            return not_ours("network", wanted.name, others[0].get("Labels"))
        failed.may_pass = True  # whoever had the name has taken it back
    return failed


def _overlapping(engine: Engine, subnet: str) -> Iterator[str]:
    for cidr, whose in subnets(engine).items():
        if _overlap(cidr, subnet):
            yield f"{cidr} belongs to {whose}"


def subnets(engine: Engine) -> dict[str, str]:
    """CIDR -> who has it, of all the engine's networks."""
    found = {}
    for network in engine.get("/networks"):
        owner = docker_labels.owner_of(network.get("Labels"))
        of = "" if owner is None else f" of environment {owner.environment!r}"
        for config in (network.get("IPAM") or {}).get("Config") or ():
            if config.get("Subnet"):
                found[config["Subnet"]] = f"network {network['Name']!r}{of}"
    return found


def routes() -> dict[str, str]:
    """This machine's routes without halves of the world: a VPN that takes all traffic lays those over
    the default route, and every subnet is in one of them."""
    return {cidr: whose for cidr, whose in survey.host_routes().items() if ip_network(cidr).prefixlen > 1}


def _overlap(one: str, other: str) -> bool:
    a, b = ip_network(one, strict=False), ip_network(other, strict=False)
    return a.version == b.version and a.overlaps(b)


def _subnet_taken(wanted: NetworkResource, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0305",
        f"subnet {wanted.subnet} of network {wanted.name!r} is taken",
        why=why,
        hint="set spec.network.subnet to a free one, or free this one",
        changed=False,
    )


def _remove(engine: Engine, identity: str, name: str, owner: Owner | None) -> None:
    until = time.monotonic() + _REMOVE_S
    while True:
        try:
            engine.delete(f"/networks/{identity}")
        except EngineRefused as refused:
            if refused.status == 404:
                return
            if time.monotonic() >= until:
                raise _in_use(engine, identity, name, owner, refused) from refused
            _detach_ours(engine, identity, owner)
            time.sleep(_POLL_S)
        else:
            return


def _detach_ours(engine: Engine, identity: str, owner: Owner | None) -> None:
    for container, _, mine in _endpoints(engine, identity, owner):
        if mine:
            with suppress(EngineRefused):
                body = {"Container": container, "Force": True}
                engine.post(f"/networks/{identity}/disconnect", body=body)


def _endpoints(engine: Engine, identity: str, owner: Owner | None) -> list[tuple[str, str, bool]]:
    """(container id, name, whether Forge may detach it): ours, and what is left of ones that are
    gone."""
    found = engine.find(f"/networks/{identity}") or {}
    endpoints = []
    for container, endpoint in (found.get("Containers") or {}).items():
        inspected = engine.find(f"/containers/{container}/json")
        labels = None if inspected is None else inspected["Config"].get("Labels")
        mine = inspected is None or (owner is not None and docker_labels.owner_of(labels) == owner)
        endpoints.append((container, str(endpoint.get("Name") or container[:12]), mine))
    return endpoints


def _in_use(
    engine: Engine, identity: str, name: str, owner: Owner | None, refused: EngineRefused
) -> OperationFailed:
    foreign = sorted(name for _, name, mine in _endpoints(engine, identity, owner) if not mine)
    failed = OperationFailed(
        "FG0306",
        f"cannot remove {name}",
        why=f"containers of others are attached: {', '.join(foreign)}" if foreign else refused.message,
        hint="detach them (`docker network disconnect`), then run this again",
    )
    failed.may_pass = not foreign
    return failed
