"""One environment as a command finds it: where its file and state are, and on which runtime it is.

Nothing here needs a valid forge.yaml: `down`, `logs` and `stop` work from the state alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from forge.errors import ForgeError, ToolMissing, UsageError
from forge.state.store import FILE as STATE_FILE
from forge.state.store import StateStore

if TYPE_CHECKING:
    from forge.plan.ports import Host
    from forge.spec.model import EnvironmentSpec
    from forge.state.model import State

FILE = "forge.yaml"
DIRECTORY = ".forge"


@dataclass(frozen=True, slots=True)
class Options:
    """The global flags. config, state_dir, runtime: None where the flag was not given."""

    config: Path | None = None
    state_dir: Path | None = None
    runtime: str | None = None
    lock_timeout_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Lab:
    """config: absolute path of forge.yaml, which need not exist. state_dir: absolute path."""

    config: Path
    state_dir: Path
    options: Options

    @property
    def root(self) -> Path:
        return self.config.parent

    @property
    def store(self) -> StateStore:
        return StateStore(self.state_dir)

    def state(self) -> State:
        """What is recorded. Raises UsageError FG0401 where nothing is up."""
        state = self.store.read()
        if state is None:
            raise UsageError(
                "FG0401",
                "nothing is up here",
                why=f"there is no state in {self.state_dir}",
                hint="run `praxis-forge up` first, or name the file with --config",
                changed=False,
            )
        return state

    @contextmanager
    def locked(
        self,
        environment: str,
        command: str,
        note: Callable[[str], None],
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[None]:
        """Holds the environment's locks while something is changed."""
        from forge.state.lock import locked

        with locked(
            self.state_dir,
            environment,
            command,
            timeout_s=self.options.lock_timeout_s,
            on_wait=lambda holder: note(f"waiting for the lock, held by {holder}"),
            is_cancelled=is_cancelled,
        ):
            yield


def find(options: Options, cwd: Path | None = None) -> Lab:
    """The lab that the flags name, or the nearest forge.yaml from cwd upwards.

    Folders are taken as they really are: the same lab, reached by a link and not by it, has the same
    paths in what it runs, and so nothing of it differs. A forge.yaml that is a link itself stays one.
    """
    config = (options.config or _nearest(cwd or Path.cwd())).absolute()
    if config.is_dir():
        config /= FILE
    config = config.parent.resolve() / config.name
    state_dir = options.state_dir.resolve() if options.state_dir else config.parent / DIRECTORY
    return Lab(config, state_dir, options)


def _nearest(cwd: Path) -> Path:
    """The file of the first folder from *cwd* upwards that has one, or has a lab's state: a lab whose file
    was deleted is still that lab, and none of another folder's."""
    for folder in (cwd, *cwd.parents):
        if (folder / FILE).is_file() or (folder / DIRECTORY / STATE_FILE).is_file():
            return folder / FILE
    return cwd / FILE


def choose_runtime(
    lab: Lab, spec: EnvironmentSpec | None, state: State | None, note: Callable[[str], None]
) -> str:
    """The runtime of a run: the flag's, else the file's, else where the lab already is, else what
    this machine has. spec: None where the file cannot be read. Raises UsageError FG0403 when that is
    not where the lab is up now."""
    asked = lab.options.runtime or (spec.runtime.provider if spec is not None else "auto")
    current = state.runtime if state is not None and state.resources else ""
    if asked == "auto":
        return current or _detect(spec, note)
    if asked == "podman":
        raise ToolMissing(
            "FG0404",
            "podman is not supported yet",
            hint="use `docker` or `embedded` (spec.runtime.provider, or --runtime)",
            changed=False,
        )
    if current and asked != current:
        raise UsageError(
            "FG0403",
            f"this lab is up on the {current} runtime, and {asked} was asked for",
            hint=f"run `praxis-forge down` first, or keep {current}",
            changed=False,
        )
    return asked


def _detect(spec: EnvironmentSpec | None, note: Callable[[str], None]) -> str:
    """docker, where all that the file needs of it is there. Says which, and why not docker."""
    from forge.host.containers import engine_reachable

    if not engine_reachable():
        note("runtime: embedded (no container engine answers on this machine)")
        return "embedded"
    made = [c for c in spec.clusters if c.driver != "existing"] if spec is not None else []
    if made:
        from forge.host.clusters.tools import missing_for_kind

        missing = missing_for_kind(tuple(c.node_image for c in made))
        if missing:
            note(f"runtime: embedded ({missing})")
            return "embedded"
    note("runtime: docker (a container engine answers)")
    return "docker"


def open_host(runtime: str, state_dir: Path) -> Host:
    """The host of a runtime. Raises ToolMissing FG0404 for one that this Forge does not know."""
    if runtime == "embedded":
        from forge.host.embedded import EmbeddedHost

        return EmbeddedHost(state_dir)
    if runtime == "docker":
        from forge.host.containers import DockerHost

        return DockerHost(state_dir)
    raise ToolMissing(
        "FG0404", f"runtime {runtime!r} is not supported", hint="use `docker` or `embedded`", changed=False
    )


HostOpener: TypeAlias = "Callable[[str, Path], Host]"


def now() -> float:
    """Unix seconds: the use cases read the clock here, and hand it down."""
    return time.time()


def first_error(errors: list[ForgeError]) -> ForgeError:
    """The error that stands for several: its exit code is the most telling one."""
    return max(errors, key=lambda e: (e.exit_code != 1, -errors.index(e)))
