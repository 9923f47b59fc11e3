"""The flags that many commands take, before or after the command's name; each has a FORGE_ variable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

RUNTIMES = ("auto", "docker", "podman", "embedded")
FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True)
class Common:
    """The flags of every command; None where one was not given."""

    config: Path | None = None
    state_dir: Path | None = None
    runtime: str | None = None
    output: str | None = None
    lock_timeout: float | None = None

    def over(self, earlier: Common) -> Common:
        """These flags, with what they leave open taken from *earlier*."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        return Common(**{name: getattr(earlier, name) if v is None else v for name, v in own.items()})


_PATH = click.Path(path_type=Path)

_COMMON: dict[str, Callable[[F], F]] = {
    "config": click.option(
        "-c",
        "--config",
        type=_PATH,
        envvar="FORGE_CONFIG",
        help="The environment's file; by default the nearest forge.yaml from here upwards.",
    ),
    "state_dir": click.option(
        "--state-dir",
        type=_PATH,
        envvar="FORGE_STATE_DIR",
        help="Where the state is kept; by default .forge beside the file.",
    ),
    "runtime": click.option(
        "--runtime",
        type=click.Choice(RUNTIMES),
        envvar="FORGE_RUNTIME",
        help="Instead of spec.runtime.provider.",
    ),
    "output": click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        envvar="FORGE_OUTPUT",
        help="Results as text or as JSON; JSON is then the only thing on stdout.",
    ),
    "lock_timeout": click.option(
        "--lock-timeout",
        type=click.FloatRange(min=0),
        envvar="FORGE_LOCK_TIMEOUT",
        metavar="SECONDS",
        help="How long to wait for another command on this environment (300).",
    ),
}


def common(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the named flags, which reach the function as one `flags: Common`, over those that stood
    before the command's name."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**values: Any) -> None:
            own = Common(**{name: values.pop(name) for name in names})
            earlier = click.get_current_context().find_root().obj
            function(flags=own.over(earlier) if isinstance(earlier, Common) else own, **values)

        for name in reversed(names):
            command = _COMMON[name](command)
        return command

    return decorate


parallel = click.option(
    "-p",
    "--parallel",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    envvar="FORGE_PARALLEL",
    metavar="N",
    help="Actions at once.",
)
timeout = click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=600.0,
    show_default=True,
    envvar="FORGE_TIMEOUT",
    metavar="SECONDS",
    help="For one action, and for one service to become ready.",
)
dry_run = click.option("--dry-run", is_flag=True, help="Show what would be done, and touch nothing.")
EVERYWHERE = tuple(_COMMON)
