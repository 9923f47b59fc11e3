"""Images by reference: there already, or pulled, with progress in bytes.

The pull is a stream of the engine's API: dropping the connection ends it, which is how a cancelled
run leaves no pull behind, and its progress is figures and not a terminal's drawing. Registries that
want a login are the docker command's to know (credential helpers): see docker_cli.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from forge.errors import Interrupted, OperationFailed
from forge.host import docker_cli
from forge.host.engine import Engine, EngineRefused
from forge.host.unix_http import Request
from forge.plan.ports import Cancel, Progress
from forge.plan.resources import ImageResource, PullPolicy

_REGISTRY_S = 600.0
"""An engine answers once its registry does, or it has given up on it; cancel ends it sooner."""

_ACCESS = ("denied", "unauthorized", "authentication required", "no basic auth")


def identity(engine: Engine, reference: str) -> str | None:
    """The id of a local image; None where there is none of that reference."""
    found = engine.find(f"/images/{reference}/json")
    return None if found is None else str(found["Id"])


def ensure(engine: Engine, wanted: ImageResource, progress: Progress, cancel: Cancel) -> str:
    """Makes it present; gives its id. Raises OperationFailed FG0307 where that cannot be done."""
    present = identity(engine, wanted.reference)
    if present is not None:
        return present
    if wanted.pull is PullPolicy.NEVER:
        raise missing(wanted.reference, "it is not on this machine, and is never pulled")
    _pull(engine, wanted.reference, progress, cancel)
    pulled = identity(engine, wanted.reference)
    if pulled is None:
        raise missing(wanted.reference, "the registry gave another image than was asked for")
    return pulled


def missing(reference: str, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0307",
        f"image {reference!r} is missing",
        why=why,
        hint="load it (`docker load`), or say how it is made: spec.images[].build",
        changed=False,
    )


def _pull(engine: Engine, reference: str, progress: Progress, cancel: Cancel) -> None:
    progress("pulling")
    failure = _pull_by_api(engine, reference, progress, cancel)
    wants_login = any(word in failure.lower() for word in _ACCESS)
    if wants_login and docker_cli.knows_a_login() and not cancel.is_set():
        failure = docker_cli.pull(engine.socket_path, reference, progress, cancel)
    if cancel.is_set():
        raise Interrupted("FG0308", f"the pull of {reference!r} was stopped", signal_number=2)
    if failure:
        raise _cannot_pull(reference, failure)


def _pull_by_api(engine: Engine, reference: str, progress: Progress, cancel: Cancel) -> str:
    """What went wrong, in the engine's words; empty when nothing did."""
    name, tag = split(reference)
    request = Request(
        "POST", "/images/create", {"fromImage": name, "tag": tag}, timeout_s=_REGISTRY_S, cancel=cancel
    )
    try:
        with engine.stream(request) as pieces:
            return watch(documents(pieces), progress)
    except EngineRefused as refused:
        return refused.message


def split(reference: str) -> tuple[str, str]:
    """Name and tag (or digest), which is `latest` where it is not said: an engine would pull all."""
    if "@" in reference:
        name, _, digest = reference.partition("@")
        return name, digest
    name, colon, tag = reference.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (reference, "latest")


def documents(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """One JSON document a line, wherever the pieces are cut."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (json.loads(line) for line in lines if line.strip())
    if rest.strip():
        yield json.loads(rest)


@dataclass(slots=True)
class _Sum:
    """Bytes by layer: how many are there, of how many."""

    current: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)

    def take(self, document: dict[str, Any]) -> str | None:
        """A new line to show, None where there is none."""
        figures = document.get("progressDetail") or {}
        layer = document.get("id", "")
        if document.get("status") != "Downloading" or not figures.get("total"):
            if document.get("status") in ("Download complete", "Pull complete") and layer in self.total:
                self.current[layer] = self.total[layer]
            return None
        self.current[layer], self.total[layer] = figures.get("current", 0), figures["total"]
        return f"pulling, {_mb(self.current)} of {_mb(self.total)} MB"


def _mb(by_layer: dict[str, int]) -> str:
    return f"{sum(by_layer.values()) / 1e6:.0f}"


def watch(documents: Iterable[dict[str, Any]], progress: Progress) -> str:
    done, said = _Sum(), ""
    for document in documents:
        if "error" in document:
            return str(document["error"])
        line = done.take(document)
        if line is not None and line != said:
            said = line
            progress(line)
    return ""


def _cannot_pull(reference: str, why: str) -> OperationFailed:
    failed = missing(reference, f"it is not on this machine and cannot be pulled: {why}")
    failed.may_pass = any(word in why for word in ("timeout", "TLS handshake", "connection reset", "EOF"))
    return failed
