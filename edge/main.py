"""Entry point of `praxis-edge`: checks a configuration, shows it, or serves by it.

praxis-edge -c FILE       serve until SIGTERM or SIGINT; SIGHUP reloads
praxis-edge -c FILE -t    check everything, open no port: 0 and silence, or 1 and every problem
praxis-edge -c FILE -T    print it as it is understood, secrets covered
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import secrets
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from edge import status_metrics
from edge.build import build
from edge.built import Built, Outside
from edge.chain import Chain
from edge.config.load import look
from edge.config.problems import ConfigRejected
from edge.dump import dump
from edge.metrics import EdgeMetrics
from edge.overlay import OverlayFile, follow_all, heard
from edge.readiness import Readiness, routes
from edge.readiness_tls import material
from edge.reload import Reloader
from edge.server import Server
from edge.sink import Sink
from edge.tls import ListenerTls, TlsUnusable
from edge.wire.engine import Engine
from grid.telemetry import logs

log = logging.getLogger("edge.main")

_LOW = tuple(f"{n:02x}" for n in range(256))
_GIVE_WAY_S = 0.0005
_SAY_S = 1.0  # an operator reads it minutes later; those who must know sooner ask /readyz


def main(argv: Sequence[str] | None = None) -> int:
    """0 after a drain, a sound check or a dump; 1 when the configuration or an address cannot be used."""
    parser = argparse.ArgumentParser("praxis-edge", description="The gateway of the grid.")
    parser.add_argument(
        "-c", "--config", type=Path, default=Path(os.environ.get("PRAXIS_CONFIG", "praxis.yaml"))
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("-t", "--validate", action="store_true", help="check everything and exit")
    only.add_argument("-T", "--dump", action="store_true", help="print the configuration, secrets covered")
    given = parser.parse_args(argv)
    metrics = EdgeMetrics()
    sink = Sink(sys.stdout.buffer, metrics.access_dropped)
    outside = Outside(time.monotonic, time.time, ids(secrets.token_hex(8)), sink.take, metrics=metrics)
    try:
        built = build(look(given.config, os.environ), outside)
    except ConfigRejected as rejected:
        sys.stderr.write("".join(f"praxis-edge: {problem}\n" for problem in rejected.problems))
        return 1
    if given.dump:
        sys.stdout.write(dump(built))
    elif not given.validate:
        return _serve(given.config, built, outside, sink)
    return 0


def ids(prefix: str) -> Callable[[], str]:
    """Ids nobody had before: the process's random *prefix* and a count, 32 hex digits."""
    count = 0
    before = ""

    def new() -> str:
        nonlocal count, before
        count += 1
        low = count & 0xFF
        if not low or not before:
            before = f"{prefix}{count >> 8:014x}"
        return before + _LOW[low]

    return new


def _serve(file: Path, built: Built, outside: Outside, sink: Sink) -> int:
    logs.configure(level=built.loaded.gateway.runtime.log_level)
    # What is loaded now lives to the end: the collector need not look at it again, and seldom at the rest.
    gc.collect()
    gc.freeze()
    # A thread that parses an overlay is to give way within this, not within Python's 5 ms.
    sys.setswitchinterval(_GIVE_WAY_S)
    gc.set_threshold(50_000, 20, 50)
    with asyncio.Runner(loop_factory=_loop) as runner:
        error = runner.run(_run(file, built, outside, sink))
    if error is not None:
        sys.stderr.write(f"praxis-edge: cannot listen: {error.strerror or error}\n")
    return 0 if error is None else 1


def _loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


async def _run(file: Path, built: Built, outside: Outside, sink: Sink) -> OSError | None:
    """Serves until a signal; the error when an address cannot be bound."""
    stop = asyncio.Event()
    async with Engine() as engine, AsyncExitStack() as stack:
        server = Server(engine, outside)
        readiness = Readiness(server, time.time)
        status_metrics.show(outside.metrics, readiness)
        apply = taking_over(server, readiness, built.status_tls)
        reloader = Reloader(
            built,
            lambda before: build(look(file, os.environ), outside, before),
            apply,
            outside.metrics.reloads,
            time.time,
            loaded_at=time.time(),
        )
        _on_signals(stop, reloader.asked)
        _warn(built)
        try:
            await server.start(built)
            readiness.material = await asyncio.to_thread(material, built)
            if built.loaded.gateway.admin is not None:
                from edge import admin  # a third of the start-up time, which a check does not need

                shown = admin.Shown(server, reloader, readiness, outside.metrics)
                await admin.serve(stack, built, shown)
        except OSError as error:
            await server.stop(0)
            return error
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(sink.run()),
                group.create_task(reloader.run()),
                group.create_task(
                    follow_all(
                        lambda: overlay_files((server.built or built).chains),
                        time.time,
                        partial(heard, outside.metrics),
                    )
                ),
                group.create_task(_say(readiness)),
            ]
            await stop.wait()
            now = server.built or built
            await server.stop(now.loaded.gateway.shutdown_timeout_secs)
            for task in tasks:
                task.cancel()
    sink.flush()
    return None


def taking_over(
    server: Server, readiness: Readiness, status_tls: ListenerTls | None
) -> Callable[[Built], Awaitable[None]]:
    """Takes another configuration into use, with all that depends on it. Raises OSError; then nothing
    changed."""

    async def apply(built: Built) -> None:
        found = await asyncio.to_thread(material, built)
        await server.apply(built)
        readiness.material = found
        if status_tls is not None:
            try:
                await asyncio.to_thread(status_tls.reload)
            except TlsUnusable as unusable:  # replaced between the check and now; the next event comes
                log.warning("certificate kept", extra={"listener": "status", "file": unusable.what})

    return apply


async def _say(readiness: Readiness) -> None:
    """Logs changes of readiness until cancelled."""
    while True:
        readiness.say()
        await asyncio.sleep(_SAY_S)


def overlay_files(chains: Mapping[str, Chain]) -> dict[OverlayFile, int]:
    """The overlays that *chains* route by and want to be followed -> debounce in ms, the shortest asked
    for."""
    found: dict[OverlayFile, int] = {}
    for route in routes(chains):
        if route.followed is not None:
            file, debounce_ms = route.followed, route.debounce_ms
            found[file] = min(debounce_ms, found.get(file, debounce_ms))
    return found


def _warn(built: Built) -> None:
    """Says what in the configuration is not for production, once."""
    for name, is_on in built.loaded.gateway.insecure_options.model_dump().items():
        if is_on:
            log.warning("insecure option", extra={"option": name})
    for chain in built.loaded.gateway.filter_chains:
        for entry in chain.filters:
            if entry.options.get("demo_tenant") is not None:
                log.warning(
                    "demo tenant: not for production", extra={"chain": chain.name, "filter": entry.filter}
                )


def _on_signals(stop: asyncio.Event, reload: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, reload.set)


if __name__ == "__main__":
    sys.exit(main())
