"""The ports: what Forge needs of a machine, and what it tells while it works.

A Host is one runtime on this machine: the container engine, the embedded runtime, or a fake in
tests/kit. All pass the same contract tests (tests/kit/host_contract.py). A host decides nothing:
it does what it is told, or raises a ForgeError that says what, why, and whether anything changed.
Calls block; they may be made from several threads at once, for different keys. A call that waits
for something outside takes its deadline from its arguments and watches `cancel`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from forge.plan.resources import HealthCheck, ImageResource, NetworkResource, ServiceResource
    from forge.plan.values import Key, Observed, Owner


class Cancel(Protocol):
    """Set once when the run is to stop. threading.Event has this shape."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class PortHolder:
    """Who listens on bind:port now. holder: `container old-edge`, `process 4711 (nginx)`, or
    `another process` where the machine will not say. owner: set when it is a resource of Forge."""

    bind: str
    port: int
    holder: str
    owner: Owner | None = None
    key: Key | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What is already taken on this machine, for allocation. subnets: CIDR -> who has it (a host
    route, an engine network, another environment). ports: those of the asked ones that are held."""

    subnets: Mapping[str, str]
    ports: tuple[PortHolder, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """ok: the check passed. detail: one line (`connection refused`, `HTTP 503`, `exit code 1`)."""

    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LogLine:
    """at: Unix seconds when it was written. stream: `stdout` or `stderr`. run: changes with every
    start of the service, so that the same text from two runs is two lines."""

    service: str
    at: float
    stream: str
    text: str
    run: str = ""


Progress = Callable[[str], None]
"""Takes one short line on how far a long call is (`pulling, 12 of 40 MB`)."""


class Host(Protocol):
    @property
    def runtime(self) -> str:
        """`docker` or `embedded`."""
        ...

    def describe(self) -> str:
        """One line: the engine and its version. Raises ToolMissing when it cannot be reached."""
        ...

    def observe(self, owner: Owner, wanted: Mapping[Key, str]) -> Mapping[Key, Observed]:
        """Everything that carries owner's label, and whatever has a wanted name, whoever owns it.

        wanted: key -> name on the engine (network, container; an image's reference). Images are
        reported only when wanted and present. Changes nothing, starts nothing. Raises ToolMissing.
        """
        ...

    def survey(self, ports: Collection[tuple[str, int]]) -> Survey:
        """What is taken: subnets, and who holds which of the asked (bind address, port) pairs."""
        ...

    def create_network(self, key: Key, wanted: NetworkResource, owner: Owner, fingerprint: str) -> str:
        """Makes the network, labelled; gives its id. Raises NotOurs if the name is taken by
        somebody else, OperationFailed if the subnet is."""
        ...

    def remove_network(self, observed: Observed) -> None:
        """Removes it by id, waiting briefly for endpoints to go. One that is gone is a success."""
        ...

    def ensure_image(self, key: Key, wanted: ImageResource, progress: Progress, cancel: Cancel) -> str:
        """Makes the image present (pulls it where the policy says so); gives its id. Raises
        OperationFailed with the way out where it is missing."""
        ...

    def create_service(
        self, key: Key, wanted: ServiceResource, owner: Owner, fingerprint: str, cancel: Cancel
    ) -> str:
        """Makes and starts the service, labelled; gives its id. A leftover of ours under that name
        is removed first. Raises NotOurs for a foreign one, OperationFailed when it cannot start
        (its port is taken, its program does not exist); nothing is left behind then."""
        ...

    def start_service(self, observed: Observed, wanted: ServiceResource) -> None:
        """Starts a stopped or exited service again as it was made."""
        ...

    def stop_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        """SIGTERM, then SIGKILL after grace_s; 0 is SIGKILL and nothing before it. The policy does not
        restart it. Its logs stay."""
        ...

    def remove_service(self, observed: Observed, grace_s: float = 10.0) -> None:
        """Stops and removes it with its logs. One that is gone is a success."""
        ...

    def inspect_service(self, key: Key, container: str) -> Observed | None:
        """The service as it is now; cheap enough to call four times a second."""
        ...

    def probe(self, observed: Observed, wanted: ServiceResource, check: HealthCheck) -> ProbeResult:
        """Runs the check once, within its timeout. A failing check is an answer, not an error."""
        ...

    def logs(
        self,
        observed: Observed,
        *,
        tail: int | None = None,
        since: float | None = None,
        follow: bool = False,
        cancel: Cancel | None = None,
    ) -> Iterator[LogLine]:
        """Its log lines in order, of all runs that are kept. follow: goes on over restarts until the
        service is removed or cancel is set. No line is lost or given twice."""
        ...

    def exec(self, observed: Observed, command: Collection[str], *, tty: bool) -> int:
        """Runs command beside the service, on this terminal; gives its exit code."""
        ...

    def close(self, owner: Owner) -> None:
        """After `down`: ends what the host itself keeps running for the environment, if it owns
        nothing any more. Does nothing otherwise."""
        ...
