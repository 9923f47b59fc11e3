"""`python -m forge.embedded`: runs one embedded cluster in the foreground until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from forge.embedded import jsonlog
from forge.errors import ForgeError, LockHeld, OperationFailed

if TYPE_CHECKING:
    from forge.embedded.daemon import Running, Settings


def main() -> int:
    gc.disable()  # what is made while starting stays: looking through it again and again costs a tenth
    with _no_authorities():
        from forge.embedded import command  # all that is heavy, under these conditions
    settings = command.parse(sys.argv[1:])
    try:
        _make(settings.folder)
        with _only_one(settings), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            jsonlog.configure(settings.folder / "log")
            runner.run(_serve(settings))
    except ForgeError as error:
        lines = (error.what, error.why, error.hint)
        print("\n".join(line for line in lines if line), file=sys.stderr)  # noqa: T201 - a command's own voice
        return error.exit_code
    return 0


@contextlib.contextmanager
def _no_authorities() -> Iterator[None]:
    """Hides the system's certificate authorities: aiohttp reads them while it is imported, 50 ms, for
    clients, and this process is none."""
    name = "SSL_CERT_FILE"
    before = os.environ.get(name)
    os.environ[name] = os.devnull
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise OperationFailed(
            "FG0516",
            f"cannot keep a cluster in {folder}",
            why=str(error),
            hint="choose another --dir, or make it writable",
            changed=False,
        ) from None


@contextlib.contextmanager
def _only_one(settings: Settings) -> Iterator[None]:
    """Holds the folder for this process. Raises LockHeld when another one has it."""
    path = settings.folder / "pid"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise LockHeld(
                "FG0514",
                f"cluster {settings.name} runs already",
                why=f"process {file.read().strip()} holds {path}",
                hint="stop it first",
                changed=False,
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        file.truncate(0)


async def _serve(settings: Settings) -> None:
    """Until SIGTERM or SIGINT."""
    task = asyncio.current_task()
    if task is None:
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    from forge.embedded import daemon

    components: list[daemon.Component] = [_collect]
    if settings.node:
        from forge.embedded.node import component

        component.check(settings)
        components.append(component.run)
    with contextlib.suppress(asyncio.CancelledError):
        await daemon.serve(settings, components)


async def _collect(_running: Running) -> None:
    """Garbage is looked for from here on, and not in what the start has made."""
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    sys.exit(main())
