"""Entry point of `praxis-sim`: reads flags and environment, runs until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from edge.simulator.bearer import Bearer
from edge.simulator.process import Process
from edge.simulator.server import Simulator
from edge.simulator.settings import Settings, parse
from grid.telemetry import logs


def main(argv: Sequence[str] | None = None) -> int:
    """0 after a signal; 1 when an address cannot be bound or the bearer file cannot be read."""
    settings = parse(sys.argv[1:] if argv is None else argv, os.environ)
    logs.configure()
    try:
        bearer = Bearer(settings.bearer, Path(settings.bearer_file) if settings.bearer_file else None)
        if bearer.expected() == b"":
            sys.stderr.write(f"praxis-sim: {settings.bearer_file} is empty\n")
            return 1
    except OSError as error:
        sys.stderr.write(f"praxis-sim: {settings.bearer_file} cannot be read: {error.strerror}\n")
        return 1
    try:
        asyncio.run(_run(settings))
    except OSError as error:
        sys.stderr.write(f"praxis-sim: cannot listen: {error.strerror or error}\n")
        return 1
    return 0


async def _run(settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await Process(Simulator(settings, time.monotonic, time.time)).run(stop)


if __name__ == "__main__":
    sys.exit(main())
