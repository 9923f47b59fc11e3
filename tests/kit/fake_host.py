"""A machine in memory that keeps the Host port's contract, and can be told to misbehave.

A Machine outlives the FakeHosts that work on it, as a real one outlives the commands. Services do
what their args say:

    serve [SECONDS]      runs; its checks pass after SECONDS (0)
    exit CODE [SECONDS]  ends with CODE after SECONDS (0); its checks never pass
    sick                 runs; its checks never pass
    say TEXT...          writes each TEXT as a line (on stderr with a `!` first) and `ready`, then serves
    say-exit CODE TEXT...  writes them, then ends with CODE
    stubborn             writes `ready`, runs, and does not end on SIGTERM
    no-such-program...   cannot be started
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from forge.errors import ForgeError, NotOurs, OperationFailed
from forge.plan.ports import Cancel, LogLine, PortHolder, ProbeResult, Progress, Survey
from forge.plan.resources import (
    HealthCheck,
    ImageResource,
    NetworkResource,
    PullPolicy,
    RestartPolicy,
    ServiceResource,
)
from forge.plan.values import Key, Observed, Owner, Phase


class Killed(BaseException):
    """The command was killed here; nothing after this point of it runs."""


@dataclass(slots=True)
class Thing:
    """A network or a container. started_at: on the machine's clock; started_wall: in Unix
    seconds, 0 for a network."""

    name: str
    id: str
    owner: Owner | None
    fingerprint: str | None
    resource: NetworkResource | ServiceResource | None
    key: Key
    started_at: float = 0.0
    started_wall: float = 0.0
    running: bool = False
    stopped: bool = False
    killed: bool = False
    pid: int = 0
    restarts: int = 0
    lines: list[LogLine] = field(default_factory=list)


def _set() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass
class Machine:
    """What is on the machine. taken: subnets of others. slow: seconds each creation takes.

    probes: while it is cleared, health probes hang. before, after: called round every mutation with its name, such as `create_service web`; tests
    raise Killed or a ForgeError there.
    """

    networks: dict[str, Thing] = field(default_factory=dict)
    containers: dict[str, Thing] = field(default_factory=dict)
    images: set[str] = field(default_factory=lambda: {"app:1"})
    taken: dict[str, str] = field(default_factory=dict)
    ports: dict[int, str] = field(default_factory=dict)
    slow: float = 0.0
    now: Callable[[], float] = time.monotonic
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    frozen: bool = False
    probes: threading.Event = field(default_factory=_set)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.RLock = field(default_factory=threading.RLock)

    def inventory(self) -> set[str]:
        """Everything there is, by name: for `before up` against `after down`."""
        return {f"network {n}" for n in self.networks} | {f"container {n}" for n in self.containers}


class FakeHost:
    """The Host port over a Machine."""

    def __init__(self, machine: Machine, runtime: str = "docker") -> None:
        self.machine = machine
        self._runtime = runtime

    @property
    def runtime(self) -> str:
        return self._runtime

    def describe(self) -> str:
        return "fake engine 1.0"

    def observe(self, owner: Owner, wanted: Mapping[Key, str]) -> Mapping[Key, Observed]:
        names = {(key.kind, name): key for key, name in wanted.items()}
        with self.machine.lock:
            found = {
                names.get((thing.key.kind, thing.name), thing.key): thing
                for thing in (*self.machine.networks.values(), *self.machine.containers.values())
                if thing.owner == owner or (thing.key.kind, thing.name) in names
            }
            seen = {key: replace(self._observe(thing), key=key) for key, thing in found.items()}
            images = {key: name for key, name in wanted.items() if key.kind == "image"}
            for key, reference in images.items():
                if reference in self.machine.images:
                    seen[key] = Observed(key, None, None, Phase.PRESENT, id=f"sha256:{reference}")
        return seen

    def survey(self, ports: Collection[tuple[str, int]]) -> Survey:
        with self.machine.lock:
            subnets = {**self.machine.taken, **self._subnets()}
            held = [h for bind, port in ports if (h := self._holder(bind, port)) is not None]
            return Survey(subnets, tuple(held))

    def create_network(self, key: Key, wanted: NetworkResource, owner: Owner, fingerprint: str) -> str:
        with self._mutation(f"create_network {key.name}"):
            there = self.machine.networks.get(wanted.name)
            if there is not None and there.owner != owner:
                raise NotOurs("FG0417", f"cannot make {key}", why="the name is taken", changed=False)
            if wanted.subnet in {**self.machine.taken, **self._subnets(besides=wanted.name)}:
                raise OperationFailed("FG0601", f"cannot make {key}", why=f"{wanted.subnet} is taken")
            thing = there or Thing(wanted.name, self._id(), owner, fingerprint, wanted, key)
            self.machine.networks[wanted.name] = thing
            return thing.id

    def remove_network(self, observed: Observed) -> None:
        with self._mutation(f"remove_network {observed.key.name}"):
            self._drop(self.machine.networks, observed.id)

    def ensure_image(self, key: Key, wanted: ImageResource, progress: Progress, cancel: Cancel) -> str:
        with self._mutation(f"ensure_image {wanted.reference}"):
            if wanted.reference not in self.machine.images:
                if wanted.pull is PullPolicy.NEVER:
                    raise OperationFailed("FG0303", f"{key} is missing", hint="build it")
                progress("pulling")
                raise OperationFailed("FG0303", f"cannot pull {key}", why="no registry answers")
            return f"sha256:{wanted.reference}"

    def create_service(
        self, key: Key, wanted: ServiceResource, owner: Owner, fingerprint: str, cancel: Cancel
    ) -> str:
        with self._mutation(f"create_service {key.name}"):
            there = self.machine.containers.get(wanted.container)
            if there is not None and there.owner != owner:
                raise NotOurs("FG0417", f"cannot make {key}", why="the name is taken", changed=False)
            for port in wanted.ports:
                holder = self._holder(port.bind, port.host)
                if holder is not None:
                    raise OperationFailed(
                        "FG0604", f"cannot publish {port.host}", why=f"held by {holder.holder}"
                    )
            if wanted.args[:1] and wanted.args[0].startswith("no-such-program"):
                raise OperationFailed("FG0302", f"cannot start {key}", why=f"{wanted.args[0]}: not found")
            thing = Thing(wanted.container, self._id(), owner, fingerprint, wanted, key)
            self._start(thing)
            self.machine.containers[wanted.container] = thing
        if self.machine.slow:
            cancel.wait(self.machine.slow)
        return thing.id

    def start_service(self, observed: Observed, wanted: ServiceResource) -> None:
        with self._mutation(f"start_service {observed.key.name}"):
            thing = self._container(observed)
            if self._phase(thing)[0] is not Phase.RUNNING:
                self._start(thing)

    def stop_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        with self._mutation(f"stop_service {observed.key.name}"):
            thing = self._container(observed)
            words = thing.resource.args if isinstance(thing.resource, ServiceResource) else ()
            stubborn = words[:1] == ("stubborn",)
            if stubborn:
                threading.Event().wait(grace_s)
            thing.running, thing.stopped, thing.killed = False, True, stubborn or grace_s <= 0

    def remove_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        with self._mutation(f"remove_service {observed.key.name}"):
            self._drop(self.machine.containers, observed.id)

    def inspect_service(self, key: Key, container: str) -> Observed | None:
        with self.machine.lock:
            thing = self.machine.containers.get(container)
            return None if thing is None else replace(self._observe(thing), key=key)

    def probe(self, observed: Observed, wanted: ServiceResource, check: HealthCheck) -> ProbeResult:
        self.machine.probes.wait(60)
        with self.machine.lock:
            thing = self._container(observed)
            words = wanted.args or ("serve",)
            if words[0] in ("sick", "exit"):
                return ProbeResult(False, "connection refused")
            delay = float(words[1]) if words[0] == "serve" and len(words) > 1 else 0.0
            ok = self.machine.now() - thing.started_at >= delay
            return ProbeResult(ok, "" if ok else "connection refused")

    def logs(
        self,
        observed: Observed,
        *,
        tail: int | None = None,
        since: float | None = None,
        follow: bool = False,
        cancel: Cancel | None = None,
    ) -> Iterator[LogLine]:
        given: int | None = None
        while True:
            with self.machine.lock:
                thing = next((c for c in self.machine.containers.values() if c.id == observed.id), None)
                lines = list(thing.lines) if thing is not None else []
            if given is None:
                old = sum(1 for line in lines if since is not None and line.at < since)
                given = max(old, len(lines) - tail if tail is not None else 0)
            yield from lines[given:]
            given = max(given, len(lines))
            if not follow or thing is None or cancel is None or cancel.wait(0.02):
                return

    def exec(self, observed: Observed, command: Collection[str], *, tty: bool) -> int:
        return int(next(iter(command))) if command else 0

    def close(self, owner: Owner) -> None:
        return

    def write(self, container: str, text: str) -> None:
        """A line that the service writes now."""
        with self.machine.lock:
            self._say(self.machine.containers[container], text)

    def _subnets(self, besides: str = "") -> dict[str, str]:
        return {
            thing.resource.subnet: f"network {thing.name}"
            for thing in self.machine.networks.values()
            if isinstance(thing.resource, NetworkResource) and thing.name != besides
        }

    def _mutation(self, name: str) -> _Mutation:
        return _Mutation(self.machine, name)

    def _start(self, thing: Thing) -> None:
        thing.running, thing.stopped = True, False
        thing.started_at, thing.started_wall = self.machine.now(), time.time()
        thing.pid = next(self.machine.numbers)
        words = thing.resource.args if isinstance(thing.resource, ServiceResource) else ()
        says = {"say": words[1:], "say-exit": words[2:], "stubborn": ()}
        if words and words[0] in says:
            for text in (*says[words[0]], "ready"):
                self._say(thing, text)

    def _say(self, thing: Thing, text: str) -> None:
        stream = "stderr" if text.startswith("!") else "stdout"
        thing.lines.append(LogLine(thing.key.name, time.time(), stream, text, f"{thing.id}/{thing.pid}"))

    def _observe(self, thing: Thing) -> Observed:
        phase, code = self._phase(thing)
        address = thing.resource.address if isinstance(thing.resource, ServiceResource) else None
        return Observed(
            thing.key,
            thing.owner,
            thing.fingerprint,
            phase,
            id=thing.id,
            pid=thing.pid if phase is Phase.RUNNING else None,
            started_at=thing.started_wall or None,
            restarts=thing.restarts,
            exit_code=code,
            address=address,
        )

    def _phase(self, thing: Thing) -> tuple[Phase, int | None]:
        if not isinstance(thing.resource, ServiceResource):
            return (Phase.PRESENT, None) if thing.key.kind == "network" else (Phase.RUNNING, None)
        if thing.stopped:
            return Phase.STOPPED, 137 if thing.killed else 143
        words = thing.resource.args
        if words[:1] == ("say-exit",):
            return self._exited(thing, int(words[1]))
        if words[:1] == ("exit",):
            after = float(words[2]) if len(words) > 2 else 0.0
            if self.machine.now() - thing.started_at >= after:
                return self._exited(thing, int(words[1]))
        return Phase.RUNNING, None

    def _exited(self, thing: Thing, code: int) -> tuple[Phase, int]:
        policy = thing.resource.restart if isinstance(thing.resource, ServiceResource) else RestartPolicy.NO
        if policy in (RestartPolicy.ALWAYS, RestartPolicy.UNLESS_STOPPED) or (
            policy is RestartPolicy.ON_FAILURE and code
        ):
            thing.restarts += 1
            return Phase.STARTING, code
        return (Phase.FAILED, code) if code else (Phase.COMPLETED, 0)

    def _holder(self, bind: str, port: int) -> PortHolder | None:
        if port in self.machine.ports:
            return PortHolder(bind, port, self.machine.ports[port])
        for thing in self.machine.containers.values():
            if isinstance(thing.resource, ServiceResource) and thing.running:
                for held in thing.resource.ports:
                    if held.host == port:
                        return PortHolder(bind, port, f"container {thing.name}", thing.owner, thing.key)
        return None

    def _container(self, observed: Observed) -> Thing:
        for thing in self.machine.containers.values():
            if thing.id == observed.id:
                return thing
        raise OperationFailed("FG0302", f"{observed.key} is gone")

    def _drop(self, things: dict[str, Thing], identity: str) -> None:
        for name, thing in list(things.items()):
            if thing.id == identity:
                del things[name]

    def _id(self) -> str:
        return f"id{next(self.machine.numbers)}"


class _Mutation:
    """Round everything that changes the machine: the hooks, the lock, and the ban in frozen ones."""

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine = machine
        self._name = name

    def __enter__(self) -> None:
        if self._machine.frozen:
            raise AssertionError(f"{self._name} on a machine that nothing may change")
        self._machine.before(self._name)
        self._machine.lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._machine.lock.release()
        if kind is None:
            self._machine.after(self._name)


def refuse(name: str, error: ForgeError) -> Callable[[str], None]:
    """A hook that raises error at the named mutation."""

    def hook(mutation: str) -> None:
        if mutation == name:
            raise error

    return hook
