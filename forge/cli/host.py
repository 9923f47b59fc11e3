"""ls, gc: what is on this host, whatever folder one is in."""

from __future__ import annotations

import click

from forge.cli.command import command
from forge.cli.options import Common, common, dry_run


@click.command("ls")
@common("output")
def list_environments(flags: Common) -> None:
    """The environments of this host: those you brought up, and all that the engine has things of."""
    from forge.app.environments import environments
    from forge.render.environments import environments_json, environments_lines

    with command(flags) as (_, console):
        found = environments(console.note)
        console.result(environments_lines(found, console.out), environments_json(found))


@click.command("gc")
@dry_run
@common("output")
def collect_garbage(flags: Common, *, dry_run: bool) -> None:
    """Take away what environments left whose folder is gone. Others, and their folders, are not touched."""
    from forge.app.environments import collect
    from forge.render.environments import environment_json

    with command(flags) as (_, console):
        gone = collect(console.note, dry_run=dry_run)
        word = "would remove" if dry_run else "removed"
        lines = [
            f"{word} {line.owner.environment}: {', '.join(things) or f'{line.on_engine} things'}"
            for line, things in gone
        ]
        data = [{**environment_json(line), "removed": list(things)} for line, things in gone]
        console.result(lines or ["Nothing is orphaned."], {"orphans": data, "dryRun": dry_run})
