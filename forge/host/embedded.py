"""The embedded runtime as a Host: services are processes of one supervisor daemon an environment.

A network is a block of loopback addresses claimed in a registry (blocks.py), an image is present once
its mapping was seen, a service is a process (forge/embedded/process). There is no isolation.

Ports: a program listens on its own address, which it is told as POD_IP. A published port is a relay from
the host address to that one, unless both are the same, when the program binds it itself. A wildcard is
the machine's addresses one by one: as a real wildcard it would shut every lab out of that port number. A
service on the host's network has the address 127.0.0.1.

Looking at things must be quick: nothing here imports an event loop, what few calls need is imported by
them, and only a change starts a daemon.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from forge.embedded.process import environ
from forge.embedded.process.client import Client
from forge.errors import OperationFailed, ToolMissing
from forge.host import as_process, beside, blocks
from forge.plan.ports import Cancel, LogLine, ProbeResult, Progress, Survey
from forge.plan.resources import HealthCheck, ImageResource, NetworkResource, ProbeType, ServiceResource
from forge.plan.values import Key, Observed, Owner, Phase

_TRIAL_ADDRESS = "127.200.200.1"
"""Linux answers on all of 127.0.0.0/8 without any set-up; other systems on 127.0.0.1 only."""


class EmbeddedHost:
    """state_dir: the environment's `.forge`. registry: the folder of claims, the user's by default."""

    def __init__(self, state_dir: Path, registry: Path | None = None) -> None:
        self._state_dir = state_dir.absolute()
        self._runtime = self._state_dir / "runtime"
        self._own = self._runtime / ".supervisor"
        self._registry = registry or blocks.registry(os.environ)
        self._client = Client(self._own)

    @property
    def _place(self) -> as_process.Place:
        from forge.host import survey

        return as_process.Place(
            environ=environ.base(os.environ, str(Path(sys.executable).parent)),
            runtime=str(self._runtime),
            group=self._group(),
            expand=survey.expand,
        )

    def _group(self) -> int:
        try:
            return self._state_dir.stat().st_gid
        except FileNotFoundError:
            return os.getegid()

    @property
    def runtime(self) -> str:
        return "embedded"

    def describe(self) -> str:
        """Raises ToolMissing where every service cannot have an address of its own."""
        try:
            with socket.socket() as trial:
                trial.bind((_TRIAL_ADDRESS, 0))
            if sys.platform != "linux":
                raise OSError(f"{sys.platform} is not Linux")
        except OSError as error:
            raise ToolMissing(
                "FG0502",
                "the embedded runtime does not work on this machine",
                why=str(error),
                hint="use Linux or WSL2, or --runtime docker",
                changed=False,
            ) from error
        release = os.uname().release
        return f"embedded runtime: processes on this machine (Linux {release}), without isolation"

    def observe(self, owner: Owner, wanted: Mapping[Key, str]) -> Mapping[Key, Observed]:
        found = {o.key: o for o in self._networks(owner, set(wanted.values()))}
        images = self._images()
        found |= {key: _image(key, name) for key, name in wanted.items() if name in images}
        for status in self._client.statuses():
            seen = as_process.observed(status)
            if seen.key.kind != "service":
                continue  # an embedded cluster's daemon: forge/host/clusters looks at those
            if _is_owner(seen, owner) or wanted.get(seen.key) == status.labels.get("container"):
                found[seen.key] = seen
        return found

    def survey(self, ports: Collection[tuple[str, int]]) -> Survey:
        from forge.host import neighbours

        claims = blocks.claims(self._registry)
        others = {c.subnet: c.holder for c in claims if c.state_dir != str(self._state_dir)}
        folders = self._folders()
        held = (neighbours.held(bind, port, folders) for bind, port in ports)
        own = {status.address for status in self._client.statuses()}
        return Survey(
            {**neighbours.strangers(claims, own), **others}, tuple(h for h in held if h is not None)
        )

    def create_network(self, key: Key, wanted: NetworkResource, owner: Owner, fingerprint: str) -> str:
        claim = blocks.Claim(
            id=os.urandom(8).hex(),
            name=wanted.name,
            subnet=wanted.subnet,
            key=str(key),
            environment=owner.environment,
            environment_id=owner.environment_id,
            fingerprint=fingerprint,
            state_dir=str(self._state_dir),
        )
        blocks.take(self._registry, claim)
        return claim.id

    def remove_network(self, observed: Observed) -> None:
        blocks.release(self._registry, observed.id)
        _remove_if_empty(self._runtime)

    def ensure_image(self, key: Key, wanted: ImageResource, progress: Progress, cancel: Cancel) -> str:  # noqa: ARG002 - the port's
        if wanted.process is None:
            raise as_process.unmapped(wanted.reference)
        known = self._images() | {wanted.reference}
        self._own.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._own / "images.new"
        fresh.write_text(json.dumps(sorted(known)), encoding="utf-8")
        fresh.replace(self._own / "images")
        return wanted.reference

    def create_service(
        self,
        key: Key,
        wanted: ServiceResource,
        owner: Owner,
        fingerprint: str,
        cancel: Cancel,  # noqa: ARG002 - it takes milliseconds
    ) -> str:
        spec = as_process.process_spec(key, wanted, owner, fingerprint, self._place)
        try:
            return self._client.create(spec, owner.environment_id, spec.grace_s).id
        except OperationFailed as error:
            raise self._naming_holder(error, wanted) from error

    def start_service(self, observed: Observed, wanted: ServiceResource) -> None:
        owner = observed.owner or Owner("", "")
        spec = as_process.process_spec(observed.key, wanted, owner, observed.fingerprint or "", self._place)
        try:
            self._client.start(spec, owner.environment_id)
        except OperationFailed as error:
            raise self._naming_holder(error, wanted) from error

    def stop_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        self._client.stop(observed.key.name, _scope(observed), grace_s)

    def remove_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        self._client.remove(observed.key.name, observed.id, _scope(observed), grace_s)

    def inspect_service(self, key: Key, container: str) -> Observed | None:  # noqa: ARG002 - names are the daemon's own
        status = self._client.status(key.name)
        return None if status is None else as_process.observed(status)

    def probe(self, observed: Observed, wanted: ServiceResource, check: HealthCheck) -> ProbeResult:
        from forge.host import probe

        address = as_process.address(wanted)
        match check.type:
            case ProbeType.TCP:
                return probe.tcp(address, check.port, check.timeout_s)
            case ProbeType.HTTP:
                return probe.http(address, check.port, check.path, check.timeout_s)
            case ProbeType.EXEC:
                try:
                    return beside.probe(self._beside(observed, check.command), check.timeout_s)
                except OperationFailed as error:
                    return ProbeResult(ok=False, detail=error.why)

    def logs(
        self,
        observed: Observed,
        *,
        tail: int | None = None,
        since: float | None = None,
        follow: bool = False,
        cancel: Cancel | None = None,
    ) -> Iterator[LogLine]:
        from forge.embedded.process import follow as reading

        folder = self._client.log_folder(observed.id)
        kept = (
            reading.follow(folder, cancel, tail=tail, since=since)
            if follow
            else reading.read(folder, tail=tail, since=since)
        )
        for line in kept:
            yield LogLine(observed.key.name, line.at, line.stream, line.text, f"{observed.id}/{line.run}")

    def exec(self, observed: Observed, command: Collection[str], *, tty: bool) -> int:  # noqa: ARG002 - it has this one
        """Beside the service, with its environment and mounts; on this terminal as it is."""
        return beside.on_terminal(self._beside(observed, command))

    def close(self, owner: Owner) -> None:
        ours = (c for c in blocks.claims(self._registry) if c.environment_id == owner.environment_id)
        if not any(c.state_dir == str(self._state_dir) for c in ours) and self._client.end():
            _remove_if_empty(self._runtime)

    def _naming_holder(self, error: OperationFailed, wanted: ServiceResource) -> OperationFailed:
        from forge.host import neighbours

        return neighbours.naming_holder(error, wanted, self._folders())

    def _folders(self) -> set[str]:
        """State folders of this user's environments, this one's included."""
        return {str(self._state_dir), *(c.state_dir for c in blocks.claims(self._registry))}

    def _networks(self, owner: Owner, names: Collection[str]) -> Iterator[Observed]:
        """Ours, and those of a wanted name, whoever has them."""
        for claim in blocks.claims(self._registry):
            whose = Owner(claim.environment, claim.environment_id)
            if claim.environment_id == owner.environment_id or claim.name in names:
                yield Observed(Key.parse(claim.key), whose, claim.fingerprint, Phase.PRESENT, id=claim.id)

    def _images(self) -> set[str]:
        """References whose mapping was seen."""
        try:
            return set(json.loads((self._own / "images").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return set()

    def _beside(self, observed: Observed, command: Collection[str]) -> beside.Command:
        """What to run for a command beside a service. Raises OperationFailed when there is none."""
        raw = self._client.command(observed.key.name, list(command))
        if raw is None:
            raise OperationFailed(
                "FG0510",
                f"cannot run a command beside {observed.key.name!r}",
                why="its supervisor is gone",
                hint="run `praxis-forge up`, which repairs it",
                changed=False,
            )
        return beside.Command(tuple(raw["argv"]), dict(raw["env"]), str(raw["cwd"]))


def _image(key: Key, name: str) -> Observed:
    return Observed(key, None, None, Phase.PRESENT, id=name)


def _is_owner(seen: Observed, owner: Owner) -> bool:
    return seen.owner is not None and seen.owner.environment_id == owner.environment_id


def _scope(observed: Observed) -> str:
    return observed.owner.environment_id if observed.owner else "unowned"


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
