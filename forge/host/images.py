"""The Images port: images built by the engine, and brought onto the nodes of KIND clusters.

    load    engine ──save once──► a file without a name ──to all nodes at once──► containerd of each
            then every node is asked whether it shows the image

The file lives as long as the command that wrote it, so that several clusters, each a step of its own,
share it; it has no name, so that nothing is left of it whatever ends the command.

With the classic store an engine's id of an image is the one a node shows. With the containerd store it is
another, so what a node shows after a load is remembered beside it.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from forge.errors import ForgeError, Interrupted, OperationFailed
from forge.host import docker_image, node_images
from forge.host.clusters import nodes
from forge.host.clusters.nodes import Node
from forge.host.docker_socket import engine_socket
from forge.host.engine import Engine, EngineRefused
from forge.host.unix_http import Request
from forge.plan.lab_ports import Images
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.ports import Cancel, Progress
from forge.plan.resources import ImageResource
from forge.plan.values import Owner

T = TypeVar("T")
R = TypeVar("R")

_SAVE_S = 600.0


def open_images(runtime: str, state_dir: Path, socket: str | None = None) -> Images:
    """socket: path of the engine's; None: where the docker command finds it."""
    return EngineImages(state_dir.absolute(), socket) if runtime != "embedded" else NoImages()


class NoImages:
    """The embedded runtime's: there are none, and a process stands for each."""

    def build(self, wanted: ImageResource, owner: Owner, progress: Progress, cancel: Cancel) -> str:  # noqa: ARG002 - the port's
        return ""

    def on_nodes(self, cluster: ClusterResource, references: Collection[str]) -> Mapping[str, str]:
        return {r: r for r in references if r in cluster.images}

    def load(
        self,
        reference: str,
        clusters: Sequence[ClusterResource],  # noqa: ARG002 - the port's
        progress: Progress,  # noqa: ARG002
        cancel: Cancel,  # noqa: ARG002
    ) -> str:
        return reference


@dataclass(frozen=True, slots=True)
class _Saved:
    """An image as `docker save` writes it. file: has no name any more."""

    file: BinaryIO
    size: int


class EngineImages:
    """state_dir: where saved images lie, and what nodes called them is remembered."""

    def __init__(self, state_dir: Path, socket: str | None = None) -> None:
        self._cache = state_dir / "cache"
        self._socket = socket
        self._known: Engine | None = None
        self._saved: dict[str, _Saved] = {}
        weakref.finalize(self, _close, self._saved)
        self._lock = threading.Lock()

    @property
    def _engine(self) -> Engine:
        if self._known is None:
            self._known = Engine(self._socket or engine_socket(os.environ, Path.home()))
        return self._known

    def build(self, wanted: ImageResource, owner: Owner, progress: Progress, cancel: Cancel) -> str:  # noqa: ARG002 - an image is nobody's
        from forge.host import docker_build

        return docker_build.build(self._engine, wanted, progress, cancel)

    def on_nodes(self, cluster: ClusterResource, references: Collection[str]) -> Mapping[str, str]:
        if cluster.driver is not Driver.KIND or not references:
            return {}
        held = self._held([n for n in self._nodes((cluster,)) if n.running])
        found = {r: node_images.alike(held, r) for r in references} if held else {}
        return {r: i for r, i in found.items() if i is not None and self._is_ours(r, i)}

    def _is_ours(self, reference: str, on_nodes: str) -> bool:
        """Whether the nodes have what the engine has now, where it has any."""
        here = docker_image.identity(self._engine, reference)
        return here is None or on_nodes in (here, self._names().get(here, here))

    def _nodes(self, clusters: Sequence[ClusterResource]) -> list[Node]:
        found = nodes.find(self._engine)
        every = (n for c in clusters for n in found.get(c.full_name, ()))
        return [n for n in every if n.role != "external-load-balancer"]

    def _held(self, these: Sequence[Node]) -> list[Mapping[str, str]]:
        return _at_once(lambda n: node_images.present(self._engine, n), these)

    def load(
        self,
        reference: str,
        clusters: Sequence[ClusterResource],
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        here = docker_image.identity(self._engine, reference)
        if here is None:
            raise _not_here(reference)
        these = self._nodes(clusters)
        named = node_images.qualified(reference)
        wanted = {here, self._names().get(here, here)}
        inspected = _at_once(lambda n: node_images.inspect(self._engine, n), these)
        held: dict[str, Mapping[str, str]] = {
            node.id: images for node, (images, _) in zip(these, inspected, strict=True)
        }
        missing = [
            (node, snapshotter)
            for node, (images, snapshotter) in zip(these, inspected, strict=True)
            if images.get(named) not in wanted
        ]
        if missing:
            held |= self._bring(reference, here, missing, progress, cancel)
        return self._shown(reference, here, these, [held[node.id] for node in these])

    def _bring(
        self,
        reference: str,
        here: str,
        missing: Sequence[tuple[Node, str]],
        progress: Progress,
        cancel: Cancel,
    ) -> dict[str, Mapping[str, str]]:
        """What these nodes have then, by their ids. missing: nodes and their snapshotters."""
        saved = self._save(reference, here, progress, cancel)
        many = f"{len(missing)} nodes" if len(missing) > 1 else "1 node"
        progress(f"loading {saved.size / 1e6:.0f} MB into {many}")
        archive = (saved.file, saved.size)
        ends = _at_once(
            lambda pair: node_images.bring(self._engine, *pair, reference, archive, cancel), missing
        )
        if cancel.is_set():
            raise _stopped(reference)
        held: dict[str, Mapping[str, str]] = {}
        for (node, _), end in zip(missing, ends, strict=True):
            if isinstance(end, ForgeError):
                raise end
            held[node.id] = end
        return held

    def _save(self, reference: str, here: str, progress: Progress, cancel: Cancel) -> _Saved:
        """Written by the first that asks; others wait for it."""
        while not self._lock.acquire(timeout=0.1):
            if cancel.is_set():
                raise _stopped(reference)
        try:
            if here not in self._saved:
                self._saved[here] = self._export(reference, progress, cancel)
            return self._saved[here]
        finally:
            self._lock.release()

    def _export(self, reference: str, progress: Progress, cancel: Cancel) -> _Saved:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        progress("saving it")
        file: BinaryIO = tempfile.TemporaryFile(dir=self._cache)  # noqa: SIM115 - kept for the command's life
        request = Request("GET", f"/images/{reference}/get", timeout_s=_SAVE_S, cancel=cancel)
        try:
            with self._engine.stream(request) as pieces:
                file.writelines(pieces)
            file.flush()
        except EngineRefused as refused:
            file.close()
            raise _cannot_save(reference, refused.message) from refused
        except BaseException:
            file.close()
            raise
        if cancel.is_set():
            file.close()
            raise _stopped(reference)
        return _Saved(file, file.tell())

    def _shown(
        self, reference: str, here: str, these: Sequence[Node], held: Sequence[Mapping[str, str]]
    ) -> str:
        """The id that all nodes show. Raises OperationFailed FG0713 where one does not, or another's."""
        named = node_images.qualified(reference)
        for node, images in zip(these, held, strict=True):
            if named not in images:
                why = f"it was imported, and {node.name} does not show it"
                raise node_images.cannot_load(reference, node, why)
        shown = node_images.alike(held, reference)
        if shown is None:
            raise node_images.cannot_load(
                reference, these[0], "the nodes show different images under its name"
            )
        if shown != here:
            if not self._has_other_ids():
                why = f"the node shows {shown}, and the engine has {here}"
                raise node_images.cannot_load(reference, these[0], why)
            self._remember(here, shown)
        return shown

    def _has_other_ids(self) -> bool:
        """Whether the engine keeps its images in containerd, where an id names more than the image."""
        status = self._engine.get("/info").get("DriverStatus") or ()
        return any("io.containerd.snapshotter" in str(row) for row in status)

    def _names(self) -> dict[str, str]:
        """Engine's id -> what nodes call the image."""
        try:
            return dict(json.loads((self._cache / "node-images.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return {}

    def _remember(self, here: str, shown: str) -> None:
        with self._lock:
            file = self._cache / "node-images.json"
            fresh = file.with_suffix(".new")
            fresh.write_text(json.dumps(self._names() | {here: shown}), encoding="utf-8")
            fresh.replace(file)


def _close(saved: dict[str, _Saved]) -> None:
    for one in saved.values():
        one.file.close()


def _at_once(act: Callable[[T], R], these: Sequence[T]) -> list[R]:
    if len(these) < 2:
        return [act(one) for one in these]
    with ThreadPoolExecutor(len(these)) as pool:
        return list(pool.map(act, these))


def _not_here(reference: str) -> OperationFailed:
    return OperationFailed(
        "FG0712",
        f"image {reference!r} cannot be loaded into clusters",
        why="the engine does not have it",
        hint="pull or build it first, or say how it is made: spec.images[].build",
        changed=False,
    )


def _cannot_save(reference: str, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0712",
        f"image {reference!r} cannot be saved",
        why=why,
        hint="these are the engine's own words; `docker save` says the same",
        changed=False,
    )


def _stopped(reference: str) -> Interrupted:
    return Interrupted("FG0720", f"loading image {reference!r} was stopped", signal_number=2)
