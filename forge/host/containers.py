"""The Host over a container engine: Docker, or what speaks its API on a unix socket.

All but two things go to the engine's API over its socket (engine.py): a look at a whole lab takes a
few milliseconds, bodies keep secrets out of argv and off the disk, and a dropped connection ends what
it was for. The docker command keeps terminals and registry logins (docker_cli.py, where
python-on-whales is imported).

This file is the port, method by method. What it is made of:

    docker_socket    where the engine listens          docker_network   networks, made and removed
    docker_labels    what is ours                      docker_service   containers, the same
    docker_read      engine -> Observed                docker_image     pulls
    docker_body      wanted -> engine                  docker_logs      lines, over restarts
    docker_errors    refusals in words                 docker_probe     health from outside
    docker_ports     who holds a port                  docker_events    how containers ended
                                                       docker_cli       the docker command
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from forge.errors import ForgeError, OperationFailed
from forge.host import (
    docker_cli,
    docker_events,
    docker_image,
    docker_labels,
    docker_logs,
    docker_network,
    docker_ports,
    docker_probe,
    docker_read,
    docker_service,
)
from forge.host.docker_body import Caller
from forge.host.docker_socket import engine_socket
from forge.host.engine import Engine
from forge.plan.ports import Cancel, LogLine, ProbeResult, Progress, Survey
from forge.plan.resources import HealthCheck, ImageResource, NetworkResource, ServiceResource
from forge.plan.values import Key, Observed, Owner, Phase


def engine_reachable(socket: str | None = None) -> bool:
    """Whether a container engine answers here; takes a millisecond, two seconds at worst."""
    try:
        Engine(socket or _socket()).ping(timeout_s=2.0)
    except ForgeError:
        return False
    return True


def _socket() -> str:
    return engine_socket(os.environ, Path.home())


class DockerHost:
    """state_dir: the environment's; its group is what `inheritHostGroup` gives. socket: path of the
    engine's; None: where the docker command would find it."""

    def __init__(self, state_dir: Path, socket: str | None = None) -> None:
        self._state_dir = state_dir
        self._socket = socket
        self._known: Engine | None = None

    @property
    def runtime(self) -> str:
        return "docker"

    @property
    def _engine(self) -> Engine:
        if self._known is None:
            self._known = Engine(self._socket or _socket())
        return self._known

    def describe(self) -> str:
        found = self._engine.get("/version")
        platform = (found.get("Platform") or {}).get("Name") or "Docker Engine"
        return f"{platform} {found['Version']} (API {found['ApiVersion']}) at {self._engine.socket_path}"

    def observe(self, owner: Owner, wanted: Mapping[Key, str]) -> Mapping[Key, Observed]:
        networks = self._engine.get("/networks")
        seen = {
            key: docker_read.network(key, n)
            for key, n in _pick("network", networks, lambda n: str(n["Name"]), owner, wanted).items()
        }
        containers = self._engine.get("/containers/json", {"all": True})
        ids = {str(n["Id"]) for n in networks}
        for key, listed in _pick("service", containers, _listed_name, owner, wanted).items():
            found = self._engine.find(f"/containers/{listed['Id']}/json")
            if found is not None:
                seen[key] = self._read(key, found, ids)
        return seen | self._images(wanted)

    def _images(self, wanted: Mapping[Key, str]) -> dict[Key, Observed]:
        references = {key: name for key, name in wanted.items() if key.kind == "image"}
        ids = {key: docker_image.identity(self._engine, name) for key, name in references.items()}
        return {
            key: Observed(key, None, None, Phase.PRESENT, id=i) for key, i in ids.items() if i is not None
        }

    def survey(self, ports: Collection[tuple[str, int]]) -> Survey:
        subnets = {**docker_network.routes(), **docker_network.subnets(self._engine)}
        return Survey(subnets, docker_ports.held(self._engine, ports))

    def create_network(self, key: Key, wanted: NetworkResource, owner: Owner, fingerprint: str) -> str:
        return docker_network.create(self._engine, key, wanted, owner, fingerprint)

    def remove_network(self, observed: Observed) -> None:
        docker_network.remove(self._engine, observed)

    def ensure_image(
        self,
        key: Key,  # noqa: ARG002 - the port's; an image is known by its reference
        wanted: ImageResource,
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        return docker_image.ensure(self._engine, wanted, progress, cancel)

    def create_service(
        self, key: Key, wanted: ServiceResource, owner: Owner, fingerprint: str, cancel: Cancel
    ) -> str:
        caller = self._caller()
        return docker_service.create(self._engine, key, wanted, owner, fingerprint, caller, cancel)

    def _caller(self) -> Caller:
        self._state_dir.mkdir(parents=True, exist_ok=True)
        uid = os.geteuid()
        return Caller(f"{uid}:{os.getegid()}" if uid else None, self._state_dir.stat().st_gid)

    def start_service(self, observed: Observed, wanted: ServiceResource) -> None:
        docker_service.start(self._engine, observed, wanted)

    def stop_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        docker_service.stop(self._engine, observed, grace_s)

    def remove_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        docker_service.remove(self._engine, observed, grace_s)

    def inspect_service(self, key: Key, container: str) -> Observed | None:
        found = docker_service.find(self._engine, container)
        return None if found is None else self._read(key, found)

    def _read(self, key: Key, found: Mapping[str, Any], networks: Collection[str] | None = None) -> Observed:
        ends = docker_events.ends(self._engine, found["Id"]) if docker_read.runs_again(found) else ()
        return docker_read.service(key, found, networks, ends[-1][1] if ends else None)

    def probe(self, observed: Observed, wanted: ServiceResource, check: HealthCheck) -> ProbeResult:
        return docker_probe.probe(self._engine, observed, wanted, check)

    def logs(
        self,
        observed: Observed,
        *,
        tail: int | None = None,
        since: float | None = None,
        follow: bool = False,
        cancel: Cancel | None = None,
    ) -> Iterator[LogLine]:
        return docker_logs.lines(self._engine, observed, docker_logs.Wanted(tail, since, follow), cancel)

    def exec(self, observed: Observed, command: Collection[str], *, tty: bool) -> int:
        found = self._engine.find(f"/containers/{observed.id}/json")
        if found is None or found["State"]["Status"] != "running":
            raise OperationFailed(
                "FG0314",
                f"cannot run a command in {observed.key}",
                why="it is gone" if found is None else f"it is {found['State']['Status']}",
                hint=f"start it first: praxis-forge service start {observed.key.name}",
                changed=False,
            )
        return docker_cli.execute(self._engine.socket_path, observed.id, command, tty=tty)

    def close(self, owner: Owner) -> None:
        """Nothing: an engine is not Forge's to end."""


def _listed_name(container: Mapping[str, Any]) -> str:
    return str((container.get("Names") or [""])[0]).removeprefix("/")


def _pick(
    kind: str,
    found: Iterable[Mapping[str, Any]],
    name_of: Callable[[Mapping[str, Any]], str],
    owner: Owner,
    wanted: Mapping[Key, str],
) -> dict[Key, Mapping[str, Any]]:
    """One thing a key: what has a wanted name, and before that what carries owner's label.

    Also what another environment of the same name has: two checkouts of one lab know each other by
    nothing else.
    """
    names = {name: key for key, name in wanted.items() if key.kind == kind}
    picked: dict[Key, tuple[int, Mapping[str, Any]]] = {}
    for thing in found:
        labels = thing.get("Labels")
        whose, labelled = docker_labels.owner_of(labels), docker_labels.key_of(labels)
        mine = (
            whose is not None
            and whose.environment_id == owner.environment_id
            and labelled is not None
            and labelled.kind == kind
        )
        twin = whose is not None and whose.environment == owner.environment
        key = labelled if mine or (twin and name_of(thing) not in names) else names.get(name_of(thing))
        rank = 2 if mine else 1 if name_of(thing) in names else 0
        if key is not None and key.kind == kind and (key not in picked or picked[key][0] < rank):
            picked[key] = rank, thing
    return {key: thing for key, (_, thing) in picked.items()}
