"""Images in the containerd of KIND nodes: what is there, and bringing more there.

Not by `kind load`: that asks for all platforms of an image, which an engine with the containerd store
does not have, saves it once for each cluster, and calls it a success without looking.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, BinaryIO

from forge.errors import ForgeError, OperationFailed
from forge.host import docker_exec
from forge.host.clusters.nodes import Node
from forge.host.engine import Engine, EngineRefused
from forge.plan.ports import Cancel

_REGISTRY = "docker.io/"
_USUAL = "overlayfs"
_SNAPSHOTTERS = (
    ("io.containerd.grpc.v1.cri", "containerd"),
    ("io.containerd.cri.v1.images", None),
)
"""Where a containerd's configuration names its snapshotter: version 2, version 3."""


def qualified(reference: str) -> str:
    """With registry and tag, as containerd keeps it: `docker.io/library/app:latest` for `app`."""
    first, slash, _ = reference.partition("/")
    if not slash:
        reference = f"{_REGISTRY}library/{reference}"
    elif not ("." in first or ":" in first or first == "localhost"):
        reference = _REGISTRY + reference
    last = reference.rpartition("/")[2]
    return reference if ":" in last or "@" in last else f"{reference}:latest"


def present(engine: Engine, node: Node) -> dict[str, str]:
    """Qualified reference -> id of its image, of all on the node. Raises OperationFailed FG0713."""
    return _asked(engine, node, ("crictl", "images", "-o", "json"))[0]


def inspect(engine: Engine, node: Node) -> tuple[dict[str, str], str]:
    """The same, with the snapshotter whose images the node's pods are made of (kind takes another one
    where the disk needs it). One command for both, since starting one costs more than it does."""
    both = "crictl images -o json && containerd config dump"
    images, rest = _asked(engine, node, ("sh", "-c", both))
    return images, snapshotter(rest)


def _asked(engine: Engine, node: Node, argv: Sequence[str]) -> tuple[dict[str, str], str]:
    """What the node has, and what its command said after that."""
    try:
        ran = docker_exec.run(engine, node.id, argv)
    except EngineRefused as refused:
        raise _cannot_ask(node, refused.message) from refused
    found = _read(ran.out) if ran.code == 0 else None
    if found is None:
        raise _cannot_ask(node, ran.text.splitlines()[-1] if ran.text else f"crictl ended with {ran.code}")
    return found


def _read(text: str) -> tuple[dict[str, str], str] | None:
    try:
        listed, end = json.JSONDecoder().raw_decode(text.lstrip())
    except ValueError:
        return None
    return (dict(_references(listed)), text.lstrip()[end:]) if isinstance(listed, dict) else None


def _references(listed: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (str(name), str(image["id"]))
        for image in listed.get("images") or ()
        for name in (*(image.get("repoTags") or ()), *(image.get("repoDigests") or ()))
    ]


_IMPORT = 'ctr --namespace=k8s.io images import --digests "--snapshotter=$1" - >&2 && crictl images -o json'


def bring(
    engine: Engine,
    node: Node,
    snapshotter: str,
    reference: str,
    archive: tuple[BinaryIO, int],
    cancel: Cancel,
) -> dict[str, str] | ForgeError:
    """Imports a saved image into the node. archive: the file and its size. Gives what the node has then,
    or what went wrong; where cancel is set it has not ended."""
    try:
        ran = docker_exec.feed(engine, node.id, ("sh", "-c", _IMPORT, "sh", snapshotter), *archive, cancel)
    except EngineRefused as refused:
        return cannot_load(reference, node, refused.message)
    except ForgeError as error:
        return error
    found = _read(ran.out) if ran.code == 0 else None
    if found is None:
        lines = tuple(ran.text.splitlines()[-10:])
        return cannot_load(reference, node, lines[-1] if lines else f"ctr ended with {ran.code}", lines)
    return found[0]


def snapshotter(configuration: str) -> str:
    """What a containerd's configuration names, the usual one where it cannot be read."""
    try:
        plugins = tomllib.loads(configuration).get("plugins") or {}
    except tomllib.TOMLDecodeError:
        return _USUAL
    for plugin, inner in _SNAPSHOTTERS:
        table = plugins.get(plugin) or {}
        found = (table.get(inner) or {} if inner else table).get("snapshotter")
        if found:
            return str(found)
    return _USUAL


def alike(held: Collection[Mapping[str, str]], reference: str) -> str | None:
    """The id that all nodes have for the reference; None where one has none, or another."""
    ids = {images.get(qualified(reference)) for images in held}
    return ids.pop() if len(ids) == 1 else None


def cannot_load(reference: str, node: Node, why: str, detail: tuple[str, ...] = ()) -> OperationFailed:
    return OperationFailed(
        "FG0713",
        f"image {reference!r} did not get onto node {node.name}",
        why=why,
        hint="run `praxis-forge up` again; it is loaded where it is still missing",
        detail=detail,
    )


def _cannot_ask(node: Node, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0713",
        f"node {node.name} does not say which images it has",
        why=why,
        hint="look at it: docker logs " + node.name,
        changed=False,
    )
