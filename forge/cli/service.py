"""service list, start, stop, restart, logs, exec."""

from __future__ import annotations

import sys
import time

import click
from click.exceptions import Exit

from forge.cli import options, streams
from forge.cli.command import command
from forge.cli.options import Common, common

_NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group()
def group() -> None:
    """List, start, stop, restart services; their logs; run a command beside one."""


@group.command("list")
@common("config", "state_dir", "output")
def list_(flags: Common) -> None:
    """The services that are recorded or here."""
    from forge.app.services import services
    from forge.render.status import services_json, services_lines

    with command(flags) as (lab, console):
        rows = [(line.name, line.live) for line in services(lab)]
        console.result(services_lines(rows, time.time(), console.out), services_json(rows))


@group.command()
@_NAMES
@common("config", "state_dir", "output", "lock_timeout")
@options.parallel
@options.timeout
def start(flags: Common, *, names: tuple[str, ...], parallel: int, timeout: float) -> None:
    """Start services and what they need, and wait until they are ready."""
    from forge.app import services
    from forge.app.up import Request
    from forge.cli.carry_out import carry_out

    with command(flags) as (lab, console):
        request = Request(parallel=parallel, timeout_s=timeout)
        carry_out("start", console, lambda heard, cancel: services.start(lab, names, heard, cancel, request))


@group.command()
@_NAMES
@common("config", "state_dir", "output", "lock_timeout")
@options.parallel
@options.timeout
def restart(flags: Common, *, names: tuple[str, ...], parallel: int, timeout: float) -> None:
    """Stop services and start them again. What they depend on is left running."""
    from forge.app import services
    from forge.app.up import Request
    from forge.cli.carry_out import carry_out

    with command(flags) as (lab, console):
        request = Request(parallel=parallel, timeout_s=timeout)
        carry_out(
            "restart", console, lambda heard, cancel: services.restart(lab, names, heard, cancel, request)
        )


@group.command()
@_NAMES
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Between SIGTERM and SIGKILL.",
)
@common("config", "state_dir", "output", "lock_timeout")
def stop(flags: Common, *, names: tuple[str, ...], grace: float) -> None:
    """Stop services. They stay stopped until `up` or `service start`."""
    from forge.app import services
    from forge.app.up import Listener

    with command(flags) as (lab, console):
        listener = Listener(console.note, lambda _: None, lambda _: None)
        stopped = services.stop(lab, names, listener, grace_s=grace)
        lines = [f"stopped {name}" for name in stopped] or ["nothing was running"]
        console.result(lines, {"stopped": list(stopped)})


@group.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, over restarts too.")
@click.option("-n", "--tail", type=click.IntRange(min=0), metavar="N", help="Last lines of each service.")
@click.option("--since", metavar="WHEN", help="Lines since then: 10s, 5m, 2h, or 2026-01-31T12:00:00Z.")
@click.option("-t", "--timestamps", is_flag=True, help="Put the time before every line.")
@click.option("--no-prefix", is_flag=True, help="Only the lines, without the service.")
@common("config", "state_dir", "output")
def logs(
    flags: Common,
    *,
    names: tuple[str, ...],
    follow: bool,
    tail: int | None,
    since: str | None,
    timestamps: bool,
    no_prefix: bool,
) -> None:
    """Show the lines of services. With --output json it is one object a line."""
    from forge.app import logs as use_case
    from forge.cli.signals import stopping
    from forge.render.logs import LogStyle, log_json, log_line, parse_since

    with command(flags) as (lab, console):
        instant = None if since is None else parse_since(since, time.time())
        request = use_case.LogRequest(names, tail, instant, follow)
        look = LogStyle(use_case.longest_name(lab, names), timestamps=timestamps, prefix=not no_prefix)
        with stopping(lambda _: None) as stopped:
            for line in use_case.logs(lab, request, stopped):
                text = log_json(line) if console.is_json else log_line(line, look, console.out)
                if not streams.say(sys.stdout, text):
                    return
    if stopped.signal_number:
        raise Exit(128 + stopped.signal_number)


@group.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@common("config", "state_dir")
@click.argument("name", metavar="NAME")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def exec_(flags: Common, *, name: str, words: tuple[str, ...]) -> None:
    """Run a command beside a running service. It has its files and environment; gives its exit code."""
    from forge.app import services

    with command(flags) as (lab, _):
        tty = sys.stdin.isatty() and sys.stdout.isatty()
        code = services.execute(lab, name, words[words[0] == "--" :], tty=tty)
    raise Exit(code)
