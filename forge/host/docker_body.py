"""Turns a wanted service or network into the body that an engine makes it from. Pure.

Values of env stand in the body alone: no argv, no file and no label ever holds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from forge.host.docker_labels import labels
from forge.host.docker_read import POLICY
from forge.plan.resources import NetworkMode, NetworkResource, RestartPolicy, ServiceResource
from forge.plan.values import Key, Owner

_LOGS = {"Type": "json-file", "Config": {"max-size": "20m", "max-file": "3"}}
"""The one driver every engine can read back, whatever its default is; bounded, since a lab that runs
for a week must not fill the disk."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who runs Forge. user: `uid:gid` that containers run as; None for root, who leaves the choice to
    the image, but for services that see files of the state directory, which are root's alone, and do
    not have the group's leave to them either. group: the group of the state directory."""

    user: str | None
    group: int


def network_body(key: Key, wanted: NetworkResource, owner: Owner, fingerprint: str) -> dict[str, Any]:
    subnet = ip_network(wanted.subnet)
    config = {"Subnet": str(subnet), "Gateway": str(subnet[1])}
    if wanted.dynamic is not None:
        config["IPRange"] = wanted.dynamic
    return {
        "Name": wanted.name,
        "CheckDuplicate": True,
        "Driver": "bridge",
        "IPAM": {"Driver": "default", "Config": [config]},
        "Labels": labels(key, owner, fingerprint),
    }


def service_body(
    key: Key, wanted: ServiceResource, owner: Owner, fingerprint: str, caller: Caller
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "Image": wanted.image,
        "Labels": {**labels(key, owner, fingerprint), POLICY: wanted.restart.value},
        "Env": [f"{name}={value}" for name, value in _env(wanted).items()],
        "HostConfig": _host_config(wanted, caller),
    }
    if wanted.args:
        body["Cmd"] = list(wanted.args)
    of_forge = any(mount.create for mount in wanted.mounts) and not wanted.inherit_host_group
    user = caller.user or ("0:0" if of_forge else None)
    if user is not None:
        body["User"] = user
    if wanted.network is not NetworkMode.HOST:
        body["ExposedPorts"] = {f"{p.container}/tcp": {} for p in wanted.ports}
    if wanted.network is NetworkMode.ENVIRONMENT and wanted.network_name is not None:
        body["NetworkingConfig"] = {"EndpointsConfig": {wanted.network_name: _endpoint(wanted)}}
    return body


def stopped_policy(wanted: str) -> str:
    """The policy of a container that Forge stopped: another than the wanted one, which marks it, and
    one under which the engine does not start it again, not even when itself restarts."""
    return "no" if wanted != RestartPolicy.NO else RestartPolicy.UNLESS_STOPPED


def _env(wanted: ServiceResource) -> dict[str, str]:
    own = {} if wanted.address is None else {"POD_IP": wanted.address}
    return own | {name: secret.reveal() for name, secret in wanted.env.items()}


def _host_config(wanted: ServiceResource, caller: Caller) -> dict[str, Any]:
    config: dict[str, Any] = {
        "NetworkMode": _network_mode(wanted),
        "RestartPolicy": {"Name": wanted.restart.value},
        "LogConfig": _LOGS,
        "Mounts": [
            {"Type": "bind", "Source": m.source, "Target": m.target, "ReadOnly": m.read_only}
            for m in wanted.mounts
        ],
    }
    if wanted.inherit_host_group:
        config["GroupAdd"] = [str(caller.group)]
    if wanted.network is not NetworkMode.HOST:
        config["PortBindings"] = _port_bindings(wanted)
    return config


def _network_mode(wanted: ServiceResource) -> str:
    match wanted.network:
        case NetworkMode.ENVIRONMENT:
            return wanted.network_name or "bridge"
        case NetworkMode.HOST:
            return "host"
        case NetworkMode.NONE:
            return "bridge"


def _port_bindings(wanted: ServiceResource) -> dict[str, list[dict[str, str]]]:
    bindings: dict[str, list[dict[str, str]]] = {}
    for port in wanted.ports:
        bindings.setdefault(f"{port.container}/tcp", []).append(
            {"HostIp": port.bind, "HostPort": str(port.host)}
        )
    return bindings


def _endpoint(wanted: ServiceResource) -> dict[str, Any]:
    endpoint: dict[str, Any] = {"Aliases": [wanted.name]}
    if wanted.address is not None:
        endpoint["IPAMConfig"] = {"IPv4Address": wanted.address}
    return endpoint
