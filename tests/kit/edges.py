"""A whole gateway in this process, from the text of its configuration, on free ports of loopback."""

from __future__ import annotations

import asyncio
import itertools
import textwrap
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from edge import admin, status_metrics
from edge.build import build
from edge.built import Built, Outside
from edge.config.load import look
from edge.main import overlay_files, taking_over
from edge.overlay import follow_all, heard
from edge.readiness import Readiness
from edge.readiness_tls import material
from edge.reload import Reloader
from edge.server import Server
from edge.sink import line
from edge.wire.engine import Engine


@dataclass(slots=True)
class Edge:
    """file: its configuration, to be replaced. lines: of its access log. ports: of its admin pages."""

    file: Path
    server: Server
    reloader: Reloader
    outside: Outside
    lines: list[bytes] = field(default_factory=list)
    ports: admin.Ports = field(default_factory=admin.Ports)
    readiness: Readiness | None = None

    @property
    def admin_port(self) -> int:
        return self.ports.admin

    def port(self, listener: str = "main") -> int:
        return self.server.open[listener].listener.port

    def url(self, listener: str = "main") -> str:
        return f"http://127.0.0.1:{self.port(listener)}"


def write(folder: Path, text: str) -> Path:
    """The configuration file in *folder*, replaced as a careful writer does."""
    folder.mkdir(exist_ok=True)
    new, file = folder / ".praxis.yaml.new", folder / "praxis.yaml"
    new.write_text(textwrap.dedent(text))
    new.replace(file)
    return file


def outside(lines: list[bytes]) -> Outside:
    ids = itertools.count(1)
    return Outside(time.monotonic, time.time, lambda: f"id-{next(ids)}", lambda row: lines.append(line(row)))


def built(file: Path, environ: Mapping[str, str] | None = None) -> Built:
    """What `-t` checks. Raises ConfigRejected."""
    return build(look(file, environ or {}), outside([]))


@asynccontextmanager
async def edge(folder: Path, text: str | None, *, follow: bool = False) -> AsyncIterator[Edge]:
    """Serves inside the block. text: None when the file is there already. follow: whether it watches its
    files and overlays; without, `reloader.reload()` is the test's."""
    file = folder / "praxis.yaml" if text is None else write(folder, text)
    lines: list[bytes] = []
    everything = outside(lines)
    first = build(look(file, {}), everything)
    async with Engine() as engine, AsyncExitStack() as stack:
        server = Server(engine, everything)
        readiness = Readiness(server, time.time, material(first))
        status_metrics.show(everything.metrics, readiness)
        reloader = Reloader(
            first,
            lambda before: build(look(file, {}), everything, before),
            taking_over(server, readiness, first.status_tls),
            everything.metrics.reloads,
            time.time,
            loaded_at=time.time(),
        )
        await server.start(first)
        shown = admin.Shown(server, reloader, readiness, everything.metrics)
        ports = await admin.serve(stack, first, shown)
        made = Edge(file, server, reloader, everything, lines, ports, readiness)
        following = [asyncio.ensure_future(task) for task in (_following(made, first) if follow else ())]
        try:
            yield made
        finally:
            for task in following:
                task.cancel()
            if following:
                await asyncio.wait(following)
            await server.stop(0)


def _following(made: Edge, first: Built) -> tuple[Coroutine[None, None, None], ...]:
    metrics = made.outside.metrics
    overlays = follow_all(
        lambda: overlay_files((made.server.built or first).chains), time.time, partial(heard, metrics)
    )
    return made.reloader.run(), overlays
