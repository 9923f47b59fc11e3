"""cluster list, kubeconfig, load-image, kubectl."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from click.exceptions import Exit

from forge.cli.command import command
from forge.cli.options import Common, common
from forge.errors import UsageError


@click.group()
def group() -> None:
    """The clusters of this lab: what stands, how to reach them, images onto their nodes."""


@group.command("list")
@common("config", "state_dir", "output")
def list_(flags: Common) -> None:
    """The clusters that are recorded, as they are now."""
    from forge.app.clusters import clusters
    from forge.render.clusters import clusters_json, clusters_lines

    with command(flags) as (lab, console):
        lines = clusters(lab)
        console.result(clusters_lines(lines, console.out), clusters_json(lines))


@group.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--merge", is_flag=True, help="Put them into your own kubeconfig; `down` takes them out.")
@click.option("--out-file", type=click.Path(path_type=Path), help="Write them to this file, 0600.")
@click.option("--network", is_flag=True, help="With addresses for other clusters and services of the lab.")
@common("config", "state_dir", "output")
def kubeconfig(
    flags: Common, *, names: tuple[str, ...], merge: bool, out_file: Path | None, network: bool
) -> None:
    """Print how kubectl reaches clusters; of all, where none is named. It holds keys."""
    from forge.app import clusters as use_case

    with command(flags) as (lab, console):
        if merge and out_file is not None:
            raise UsageError("FG0784", "--merge and --out-file are two ways", hint="give one", changed=False)
        if merge:
            file, contexts = use_case.merge(lab, names, network=network)
            lines = [f"{context} is in {file}" for context in contexts]
            lines.append(f"use it with: kubectl --context {contexts[0]} get pods -A")
            console.result(lines, {"file": str(file), "contexts": list(contexts)})
            return
        from forge.host import kubeconfigs

        document = use_case.kubeconfig(lab, names, network=network)
        if out_file is not None:
            kubeconfigs.export(out_file.absolute(), document)
            console.result([f"wrote {out_file}"], {"file": str(out_file.absolute())})
            return
        console.result([kubeconfigs.text(document).rstrip("\n")], {"kubeconfig": document})


@group.command("load-image")
@click.argument("name", metavar="NAME")
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@common("config", "state_dir", "runtime", "output")
def load_image(flags: Common, *, name: str, images: tuple[str, ...]) -> None:
    """Bring images of this machine onto every node of a cluster."""
    from forge.app import clusters as use_case
    from forge.cli.signals import stopping

    with command(flags) as (lab, console), stopping(console.note_from_signal) as cancel:
        loaded = use_case.load_images(lab, name, images, console.note, cancel)
        lines = [f"{reference} is on every node of {name}" for reference, _ in loaded]
        console.result(lines, {"images": [{"reference": ref, "id": id_} for ref, id_ in loaded]})


@group.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@common("config", "state_dir")
@click.argument("name", metavar="NAME")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--] ARGS...")
def kubectl(flags: Common, *, name: str, words: tuple[str, ...]) -> None:
    """Run your kubectl on a cluster, by Forge's private access; gives its exit code."""
    from forge.app import clusters as use_case

    with command(flags) as (lab, _):
        program, environ = use_case.kubectl(lab, name)
        arguments = words[1:] if words[:1] == ("--",) else words
        sys.stdout.flush()
        try:
            os.execve(program, [program, *arguments], environ)  # noqa: S606 - its terminal and signals are ours
        except OSError as error:
            raise Exit(126) from error
