"""A service as a process of the supervisor, and a process's status as an observed service. Pure.

resource                                    process
image's mapping + args                      argv
env, POD_IP                                 environment on top of the base
mounts                                      binds below <runtime>/<name>/root
ports                                       relays, unless the program binds the very port itself
owner, key, fingerprint, container          labels
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from forge.embedded.process.spec import Bind, ProcessSpec, Publish, Restart, Status
from forge.errors import OperationFailed
from forge.plan.resources import NetworkMode, PortBinding, ServiceResource
from forge.plan.values import Key, Observed, Owner, Phase

HOST_ADDRESS = "127.0.0.1"
GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class Place:
    """What the machine gives: base environment, the runtime folder, the group of the state folder, and
    what a bind address stands for (a wildcard is several)."""

    environ: Mapping[str, str] = field(repr=False)
    runtime: str
    group: int
    expand: Callable[[str], tuple[str, ...]]


def process_spec(
    key: Key, wanted: ServiceResource, owner: Owner, fingerprint: str, place: Place
) -> ProcessSpec:
    """Raises OperationFailed when the image has no mapping."""
    if wanted.process is None:
        raise unmapped(wanted.image)
    own = {name: value.reveal() for name, value in wanted.env.items()}
    where = address(wanted)
    return ProcessSpec(
        name=key.name,
        argv=(*wanted.process, *wanted.args),
        root=f"{place.runtime}/{wanted.name}/root",
        env={**place.environ, "POD_IP": where, **own},
        address=where,
        mounts=tuple(Bind(m.source, m.target, m.create) for m in wanted.mounts),
        publish=tuple(p for p in (_publish(port, where, place.expand) for port in wanted.ports) if p.listen),
        restart=Restart(wanted.restart.value),
        grace_s=GRACE_S,
        groups=(place.group,) if wanted.inherit_host_group else (),
        labels={
            "kind": key.kind,
            "container": wanted.container,
            "environment": owner.environment,
            "owner": owner.environment_id,
            "fingerprint": fingerprint,
            "published": _said(wanted.ports, where),
        },
    )


def observed(status: Status) -> Observed:
    """The service a status is of, as the labels say."""
    labels = status.labels
    owner = labels.get("owner")
    said = labels.get("published", "") if status.phase.value == Phase.RUNNING.value else ""
    return Observed(
        key=Key(labels.get("kind", "service"), status.name),
        owner=None if owner is None else Owner(labels.get("environment", ""), owner),
        fingerprint=labels.get("fingerprint"),
        phase=Phase(status.phase.value),
        id=status.id,
        pid=status.pid,
        started_at=status.started_at,
        restarts=status.restarts,
        exit_code=status.exit_code,
        address=status.address,
        detail=status.detail or said,
    )


def address(wanted: ServiceResource) -> str:
    """Where the service listens: its own address, or the machine's own loopback on the host's network."""
    if wanted.network is NetworkMode.HOST or wanted.address is None:
        return HOST_ADDRESS
    return wanted.address


def unmapped(reference: str) -> OperationFailed:
    return OperationFailed(
        "FG0501",
        f"image {reference!r} has no program on the embedded runtime",
        why="there is no container engine here, and spec.images maps no process to it",
        hint=f"add {{name: {reference}, process: [program]}} to spec.images, or use --runtime docker",
        changed=False,
    )


def _publish(port: PortBinding, where: str, expand: Callable[[str], tuple[str, ...]]) -> Publish:
    """A relay on each address the bind stands for, but not where the program itself listens. Of a
    wildcard's addresses only loopback must be there: an interface may have gone by the time of a start."""
    addresses = expand(port.bind)
    taken = tuple(a for a in addresses if not (a == where and port.host == port.container))
    return Publish(port.host, port.container, taken, tuple(a for a in taken if a != addresses[0]))


def _said(ports: Iterable[PortBinding], where: str) -> str:
    """`publishes 127.0.0.1:8443 by relay`."""
    words = []
    for port in ports:
        bind = f"[{port.bind}]" if ":" in port.bind else port.bind
        itself = port.bind == where and port.host == port.container
        words.append(f"{bind}:{port.host} {'by binding it' if itself else 'by relay'}")
    return f"publishes {', '.join(words)}" if words else ""
