"""plan, up, status, down, doctor: what is done to an environment as a whole."""

from __future__ import annotations

import time

import click
from click.exceptions import Exit

from forge.app.lab import Lab
from forge.cli import options
from forge.cli.command import command
from forge.cli.console import Console
from forge.cli.options import Common, common


@click.command()
@common("config", "state_dir", "runtime", "output")
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 3 when there are changes, 0 when not.")
def plan(flags: Common, *, detailed_exitcode: bool) -> None:
    """Show what `up` would change, and why. Touches nothing."""
    with command(flags) as (lab, console):
        changes = _show_plan(lab, console)
    if detailed_exitcode and changes:
        raise Exit(3)


def _show_plan(lab: Lab, console: Console) -> bool:
    """Prints the plan; tells whether it has changes."""
    from forge.app import up as use_case
    from forge.render.plan import plan_json, plan_lines

    prepared = use_case.plan(lab, console.note)
    console.result(plan_lines(prepared.plan, console.out), plan_json(prepared.plan))
    return not prepared.plan.is_empty


@click.command()
@common("config", "state_dir", "runtime", "output", "lock_timeout")
@options.parallel
@options.timeout
@options.dry_run
def up(flags: Common, *, parallel: int, timeout: float, dry_run: bool) -> None:
    """Make the machine what the file says. Safe to interrupt, safe to repeat."""
    bring_up(flags, parallel=parallel, timeout=timeout, dry_run=dry_run)


def bring_up(flags: Common, *, parallel: int, timeout: float, dry_run: bool) -> None:
    """`up`, and `apply` where it names no part of it."""
    from forge.app import up as use_case
    from forge.cli.carry_out import carry_out

    with command(flags) as (lab, console):
        if dry_run:
            _show_plan(lab, console)
            return
        request = use_case.Request(parallel=parallel, timeout_s=timeout)
        carry_out("up", console, lambda listener, cancel: use_case.up(lab, listener, cancel, request))


@click.command()
@common("config", "state_dir", "output", "lock_timeout")
@options.parallel
@options.dry_run
def down(flags: Common, *, parallel: int, dry_run: bool) -> None:
    """Remove everything that `up` made, and only that. Needs no valid file."""
    from forge.app import down as use_case
    from forge.cli.carry_out import carry_out

    with command(flags) as (lab, console):
        carry_out(
            "down",
            console,
            lambda listener, cancel: use_case.down(lab, listener, cancel, parallel=parallel, dry_run=dry_run),
            nothing=f"Nothing is up here: there is no state in {lab.state_dir}.",
        )
        use_case.sweep(lab)


@click.command()
@common("config", "state_dir", "runtime", "output")
def status(flags: Common) -> None:
    """What is asked for, recorded and there, side by side. Exits with 6 when something is wrong, with
    2 when the file is."""
    from forge.app.status import status as use_case
    from forge.render.status import status_json, status_lines

    with command(flags) as (lab, console):
        found = use_case(lab, console.note)
        if found.config_error is not None and not console.is_json:
            console.text_error(found.config_error)
        console.result(status_lines(found, time.time(), console.out), status_json(found))
    if found.config_error is not None:
        raise Exit(found.config_error.exit_code)
    if found.is_up and not found.ok:
        raise Exit(6)


@click.command()
@common("config", "state_dir", "runtime", "output")
def doctor(flags: Common) -> None:
    """Check that this machine has what the file needs. Exits with 4 when it has not."""
    from forge.app.doctor import doctor as use_case
    from forge.render.doctor import findings_json, findings_lines

    with command(flags) as (lab, console):
        report = use_case(lab, console.note)
        if report.config_error is not None and not console.is_json:
            console.text_error(report.config_error)
        data = {"runtime": report.runtime, "findings": findings_json(report.findings)}
        console.result(findings_lines(report.findings, console.out), data)
    if report.has_errors:
        raise Exit(4)
