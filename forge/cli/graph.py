"""graph."""

from __future__ import annotations

import click

from forge.cli.command import command
from forge.cli.options import Common, common


@click.command()
@click.option(
    "--format",
    "style",
    type=click.Choice(("text", "mermaid", "dot")),
    default="text",
    show_default=True,
    help="Lines, or what Mermaid or Graphviz draw.",
)
@common("config", "state_dir", "runtime", "output")
def graph(flags: Common, *, style: str) -> None:
    """Show what waits for what: everything the file asks for, whether it is there or not."""
    from forge.app.graph import graph as use_case
    from forge.render.graph import graph_json, graph_lines

    with command(flags) as (lab, console):
        wish = use_case(lab, console.note)
        console.result(graph_lines(wish.desired, style), graph_json(wish.desired))
