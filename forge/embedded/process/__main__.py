"""`python -m forge.embedded.process --dir DIR --scope SCOPE`: starts the daemon and returns when it answers.

The daemon is in a session of its own, so it outlives the terminal and the command. Exit code 0 means one
answers on DIR's socket, this one or one that was there; 1 says on stderr why none does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import io
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from forge.embedded.process import descriptors, wire
from forge.embedded.process.daemon import Daemon

_LOCK_S = 30.0
"""Another daemon that is ending holds the lock until its processes are gone: their grace, and more."""

_MAX_LOG = 1024 * 1024


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m forge.embedded.process", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="the daemon's own folder")
    parser.add_argument("--scope", required=True, help="what marks its processes: the environment's id")
    parser.add_argument("--foreground", action="store_true", help="do not detach")
    args = parser.parse_args()
    files = wire.Files(args.dir.absolute())
    files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.folder.chmod(0o700)
    lock = _lock(files)
    if lock is None:
        return 0
    if args.foreground:
        logging.basicConfig(level=logging.INFO)
        _serve(files, args.scope, lambda: None)
        return 0
    return _detach(files, args.scope)


def _lock(files: wire.Files) -> int | None:
    """The lock's descriptor; None when another daemon answers."""
    fd = os.open(files.lock, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + _LOCK_S
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        with contextlib.suppress(OSError):
            if peer := wire.connect(files, 1.0):
                peer.close()
                os.close(fd)
                return None
        if time.monotonic() > until:
            sys.exit(f"another supervisor holds {files.lock} and does not answer")
        time.sleep(0.02)


def _detach(files: wire.Files, scope: str) -> int:
    """Forks; the parent waits for the child's word. The child keeps the lock."""
    ready, say = os.pipe()
    if os.fork():
        os.close(say)
        with open(ready, "rb") as pipe:  # noqa: PTH123 - a descriptor has no path
            said = pipe.read()
        if said == b"ready":
            return 0
        sys.stderr.write(said.decode("utf-8", "replace") or "the supervisor ended at once\n")
        return 1
    os.close(ready)
    os.setsid()
    with open(say, "wb", buffering=0) as parent:  # noqa: PTH123 - a descriptor has no path
        try:
            _redirect(files.log)
            os.chdir("/")
            os.umask(0o022)
            _serve(files, scope, lambda: _ready(parent))
        except BaseException:
            if not parent.closed:
                parent.write(traceback.format_exc().encode())
            raise
    return 0


def _ready(parent: io.FileIO) -> None:
    parent.write(b"ready")
    parent.close()


def _redirect(file: Path) -> None:
    """stdin from nowhere, stdout and stderr into the log, which begins anew when it has grown large."""
    fresh = os.O_TRUNC if file.exists() and file.stat().st_size > _MAX_LOG else 0
    out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | fresh, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for fd, place in ((null, 0), (out, 1), (out, 2)):
        os.dup2(fd, place)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", force=True)


def _serve(files: wire.Files, scope: str, ready: Callable[[], None]) -> None:
    descriptors.make_room()

    async def run() -> None:
        daemon = Daemon(files, _scope(files, scope))
        listener = wire.listen(files)
        ready()
        await daemon.serve(listener)

    asyncio.run(run())


def _scope(files: wire.Files, given: str) -> str:
    """The scope this folder has had from its first daemon on: the id given then, and the folder's own
    place on disk. A copy of the folder is another scope, so its daemon ends nothing of the original's."""
    if not files.scope.exists():
        fresh = files.scope.with_suffix(".new")
        fresh.write_text(given, encoding="utf-8")
        fresh.replace(files.scope)
    place = files.folder.stat()
    return f"{files.scope.read_text(encoding='utf-8')}.{place.st_dev:x}-{place.st_ino:x}"


if __name__ == "__main__":
    sys.exit(main())
