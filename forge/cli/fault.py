"""fault stop, kill, restore, list."""

from __future__ import annotations

import time

import click

from forge.cli import options
from forge.cli.command import command
from forge.cli.options import Common, common
from forge.errors import UsageError

_NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group()
def group() -> None:
    """Hold services, workloads or clusters down on purpose, until they are restored.

    NAME is a service, a cluster, CLUSTER/KIND/NAME or CLUSTER/NAMESPACE/KIND/NAME. `up` ends all faults.
    """


@group.command()
@_NAMES
@click.option(
    "--grace",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Of a service: between SIGTERM and SIGKILL.",
)
@options.timeout
@common("config", "state_dir", "output", "lock_timeout")
def stop(flags: Common, *, names: tuple[str, ...], grace: float, timeout: float) -> None:
    """End them in order, and keep them down."""
    _hold(flags, names, "stop", timeout, grace)


@group.command()
@_NAMES
@options.timeout
@common("config", "state_dir", "output", "lock_timeout")
def kill(flags: Common, *, names: tuple[str, ...], timeout: float) -> None:
    """End them with SIGKILL, as a crash would, and keep them down. Not for whole clusters."""
    _hold(flags, names, "kill", timeout)


def _hold(flags: Common, names: tuple[str, ...], how: str, timeout: float, grace: float = 10.0) -> None:
    from forge.app import fault as use_case
    from forge.app.up import Listener
    from forge.cli.signals import stopping
    from forge.plan.faults import How
    from forge.render.faults import faults_json

    with command(flags) as (lab, console), stopping(console.note_from_signal) as cancel:
        listener = Listener(console.note, lambda _: None, lambda _: None)
        held = use_case.hold(lab, names, How(how), listener, cancel, grace_s=grace, timeout_s=timeout)
        console.result([f"{fault.how} {fault.name}" for fault in held], faults_json(held))


@group.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Everything that is held down.")
@options.parallel
@options.timeout
@common("config", "state_dir", "runtime", "output", "lock_timeout")
def restore(
    flags: Common, *, names: tuple[str, ...], everything: bool, parallel: int, timeout: float
) -> None:
    """Bring back what was held down, and wait until it is ready."""
    from forge.app import fault as use_case
    from forge.app.up import Request
    from forge.cli.carry_out import carry_out

    with command(flags) as (lab, console):
        if bool(names) == everything:
            raise UsageError("FG0780", "name what to restore, or give --all", changed=False)
        request = Request(parallel=parallel, timeout_s=timeout)
        carry_out(
            "restore",
            console,
            lambda heard, cancel: use_case.restore(lab, names, heard, cancel, request=request),
            nothing="Nothing is held down.",
        )


@group.command("list")
@common("config", "state_dir", "output")
def list_(flags: Common) -> None:
    """What is held down, and since when."""
    from forge.app.fault import listed
    from forge.render.faults import faults_json, faults_lines

    with command(flags) as (lab, console):
        held = listed(lab)
        console.result(faults_lines(held, time.time(), console.out), faults_json(held))
