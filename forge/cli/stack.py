"""stack list, plan, apply, status; and `apply`, which is `up` by another name."""

from __future__ import annotations

import click
from click.exceptions import Exit

from forge.cli import options
from forge.cli.command import command
from forge.cli.options import Common, common

_CLUSTER = click.argument("cluster", required=False, metavar="[CLUSTER]")
_STACK = click.argument("stack", required=False, metavar="[STACK]")


@click.group()
def group() -> None:
    """What is applied to clusters. CLUSTER and STACK choose a part; without them all is meant."""


@group.command("list")
@common("config", "output")
def list_(flags: Common) -> None:
    """The stacks of the file, and the clusters that have them."""
    from forge.app.stacks import stacks
    from forge.render.status import table

    with command(flags) as (lab, console):
        found = stacks(lab)
        rows = [(s.name, str(s.steps), ", ".join(s.clusters) or "-", s.description) for s in found]
        lines = (
            table([("STACK", "STEPS", "CLUSTERS", "DESCRIPTION"), *rows], console.out)
            if rows
            else ("No stacks.",)
        )
        data = [
            {"name": s.name, "steps": s.steps, "clusters": list(s.clusters), "description": s.description}
            for s in found
        ]
        console.result(lines, {"stacks": data})


@group.command()
@_CLUSTER
@_STACK
@common("config", "state_dir", "runtime", "output")
def plan(flags: Common, *, cluster: str | None, stack: str | None) -> None:
    """Show what `stack apply` would change, and why. Touches nothing."""
    _plan(flags, cluster, stack)


def _plan(flags: Common, cluster: str | None, stack: str | None) -> None:
    from forge.app import stacks as use_case
    from forge.render.plan import plan_json, plan_lines

    with command(flags) as (lab, console):
        prepared = use_case.plan(lab, cluster, stack, console.note)
        console.result(plan_lines(prepared.plan, console.out), plan_json(prepared.plan))


@group.command()
@_CLUSTER
@_STACK
@common("config", "state_dir", "runtime", "output", "lock_timeout")
@options.parallel
@options.timeout
@options.dry_run
def apply(
    flags: Common, *, cluster: str | None, stack: str | None, parallel: int, timeout: float, dry_run: bool
) -> None:
    """Bring up these stacks and what they need: the part of `up` that is theirs."""
    _apply(flags, cluster, stack, parallel, timeout, dry_run=dry_run)


def _apply(
    flags: Common, cluster: str | None, stack: str | None, parallel: int, timeout: float, *, dry_run: bool
) -> None:
    from forge.app import stacks as use_case
    from forge.app.up import Request
    from forge.cli.carry_out import carry_out

    if dry_run:
        _plan(flags, cluster, stack)
        return
    with command(flags) as (lab, console):
        request = Request(parallel=parallel, timeout_s=timeout)
        carry_out(
            "apply",
            console,
            lambda heard, cancel: use_case.apply(lab, cluster, stack, heard, cancel, request),
        )


@group.command()
@_CLUSTER
@_STACK
@common("config", "state_dir", "output")
def status(flags: Common, *, cluster: str | None, stack: str | None) -> None:
    """Every object that these stacks made, and whether it does its work. Exits with 6 when one does not."""
    from forge.app import stacks as use_case
    from forge.render.stacks import objects_json, objects_lines

    with command(flags) as (lab, console):
        lines = use_case.status(lab, cluster, stack)
        console.result(objects_lines(lines, console.out), objects_json(lines))
    if not all(line.readiness.is_well for line in lines):
        raise Exit(6)


@click.command("apply")
@_CLUSTER
@_STACK
@common("config", "state_dir", "runtime", "output", "lock_timeout")
@options.parallel
@options.timeout
@options.dry_run
def apply_alias(
    flags: Common,
    *,
    cluster: str | None,
    stack: str | None,
    parallel: int,
    timeout: float,
    dry_run: bool,
) -> None:
    """The same as `up`. With CLUSTER, or CLUSTER and STACK, the same as `stack apply`."""
    if cluster is not None:
        _apply(flags, cluster, stack, parallel, timeout, dry_run=dry_run)
        return
    from forge.cli.environment import bring_up

    bring_up(flags, parallel=parallel, timeout=timeout, dry_run=dry_run)
