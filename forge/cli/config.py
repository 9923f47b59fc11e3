"""config validate, show, schema, init."""

from __future__ import annotations

import json
import os

import click

from forge.cli.command import command
from forge.cli.options import Common, common
from forge.errors import OperationFailed, UsageError


@click.group()
def group() -> None:
    """Check the file, show it, its JSON schema, or start a new one."""


@group.command()
@common("config", "output")
def validate(flags: Common) -> None:
    """Check the file: every problem at once, each with its place."""
    from forge.render.problems import problem_json, problems_text
    from forge.spec.load import load

    with command(flags) as (lab, console):
        loaded = load(lab.config, environ=os.environ)
        if loaded.warnings and not console.is_json:
            console.progress(problems_text(loaded.warnings, coloured=console.err.coloured))
        data = {"valid": True, "warnings": [problem_json(p) for p in loaded.warnings]}
        console.result((f"{lab.config}: valid",), data)


@group.command()
@click.option("--resolved", is_flag=True, help="With defaults and derived names filled in.")
@click.option("--reveal", is_flag=True, help="With the values of env and the like.")
@common("config", "output")
def show(flags: Common, *, resolved: bool, reveal: bool) -> None:
    """Print the file as Forge reads it; values that may be secret are masked."""
    from forge.spec import show as dump
    from forge.spec.load import load

    with command(flags) as (lab, console):
        loaded = load(lab.config, environ=os.environ)
        text = dump.show(loaded, resolved=resolved, reveal=reveal)
        console.result((text.rstrip("\n"),), dump.config(loaded, resolved=resolved, reveal=reveal))


@group.command()
def schema() -> None:
    """Print the JSON schema of the file, for editors."""
    from forge.spec.schema import schema as build

    click.echo(json.dumps(build(), indent=2, ensure_ascii=False))


@group.command()
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@common("config", "output")
def init(flags: Common, *, force: bool) -> None:
    """Write a small file to start from. Its two services come up as they are."""
    from forge.spec.init import name_from, starter

    with command(flags) as (lab, console):
        text = starter(name_from(lab.root.name))
        try:
            with lab.config.open("w" if force else "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError as error:
            raise UsageError(
                "FG0415",
                f"{lab.config} exists already",
                hint="use --force to write over it, or name another with --config",
                changed=False,
            ) from error
        except OSError as error:
            raise OperationFailed(
                "FG0416", f"cannot write {lab.config}", why=error.strerror or str(error), changed=False
            ) from error
        lines = (f"wrote {lab.config}", "next: praxis-forge plan, then praxis-forge up")
        console.result(lines, {"path": str(lab.config)})
