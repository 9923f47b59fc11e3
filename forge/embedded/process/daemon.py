"""The supervisor as a daemon: one environment's standalone services behind a unix socket.

It lives until it is told to end, is idle with nothing to keep for a while, or its folder is gone, so that
nobody could ever reach it again. Calls for one service wait for each other; others do not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from forge.embedded.process import wire
from forge.embedded.process.spec import ProcessSpec, Status, plain
from forge.embedded.process.supervisor import Supervisor
from forge.errors import ForgeError, NotOurs, OperationFailed

log = logging.getLogger(__name__)

_WATCH_S = 2.0
_IDLE_S = 60.0
"""Longer than any pause between two steps of one command that needs the daemon."""


class Daemon:
    """files: its own, the lock held by the caller. owner labels decide whose a service is."""

    def __init__(self, files: wire.Files, scope: str) -> None:
        self._files = files
        self._supervisor = Supervisor(files.services, scope)
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._over = asyncio.Event()
        self._idle_s = 0.0

    async def serve(self, listener: socket.socket) -> None:
        """Answers until it is over, then ends all processes."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._over.set)
        server = await asyncio.start_unix_server(self._talk, sock=listener, limit=wire.MAX_LINE)
        self._watch(loop, os.stat(self._files.folder).st_ino)  # noqa: PTH116 - one call at the start
        log.info("supervisor ready", extra={"pid": os.getpid()})
        try:
            await self._over.wait()
        finally:
            server.close()
            self._files.socket.unlink(missing_ok=True)
            await self._supervisor.close()
            log.info("supervisor ended", extra={"pid": os.getpid()})

    def _watch(self, loop: asyncio.AbstractEventLoop, inode: int) -> None:
        """Ends an orphan: its folder was deleted, or there has been nothing to keep for a while."""
        self._idle_s = 0.0 if self._supervisor.statuses() else self._idle_s + _WATCH_S
        try:
            there = self._files.folder.stat().st_ino == inode
        except OSError:
            there = False
        if not there or self._idle_s > _IDLE_S:
            self._over.set()
        else:
            loop.call_later(_WATCH_S, self._watch, loop, inode)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if wire.peer_of(writer.get_extra_info("socket"))[1] in (0, os.geteuid()):
                while line := await reader.readline():
                    self._idle_s = 0.0
                    writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                    await writer.drain()
        except (OSError, ValueError):  # the client went away, or its line has no end
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            if request["protocol"] != wire.PROTOCOL:
                raise _other_version(request["protocol"])
            return {"ok": await self._do(request)}
        except ForgeError as error:
            return {"error": wire.failure(error)}
        except ConnectionError:
            raise
        except OSError as error:
            log.exception("the machine refused a request")
            return {"error": wire.failure(_refused(error))}
        except (ValueError, KeyError, TypeError) as error:
            log.exception("request not understood")
            return {"error": wire.failure(_not_understood(error))}

    async def _do(self, request: Mapping[str, Any]) -> Any:
        match request["op"]:
            case "list":
                return [plain(status) for status in self._supervisor.statuses()]
            case "status":
                status = self._supervisor.status(request["name"])
                return None if status is None else plain(status)
            case "command":
                return asdict(self._supervisor.command(request["name"], request["argv"]))
            case "end":
                return self._end()
            case _:
                pass
        async with self._locks[str(request.get("name") or request["spec"]["name"])]:
            return await self._change(request)

    async def _change(self, request: Mapping[str, Any]) -> Any:
        if self._over.is_set():
            raise ConnectionError("ending")  # unanswered: the client asks the next daemon
        supervisor = self._supervisor
        match request["op"]:
            case "create":
                return plain(await self._create(ProcessSpec.parse(request["spec"]), request["grace_s"]))
            case "start":
                return plain(supervisor.start(request["name"], ProcessSpec.parse(request["spec"])))
            case "stop":
                return await supervisor.stop(request["name"], request["grace_s"])
            case "remove":
                if (status := supervisor.status(request["name"])) and status.id == request["id"]:
                    await supervisor.remove(request["name"], request["grace_s"])
                return None
            case op:
                raise ValueError(f"no such operation: {op}")

    async def _create(self, spec: ProcessSpec, grace_s: float) -> Status:
        """In place of a leftover with the same owner."""
        found = self._supervisor.status(spec.name)
        if found is not None:
            if found.labels.get("owner") != spec.labels.get("owner"):
                raise NotOurs(
                    "FG0508",
                    f"cannot make service {spec.name!r}",
                    why="a service of that name belongs to another environment",
                    hint="rename it in forge.yaml, or take the other environment down",
                    changed=False,
                )
            await self._supervisor.remove(spec.name, grace_s)
        return self._supervisor.create(spec)

    def _end(self) -> bool:
        """Whether it ends: only with nothing to keep."""
        if self._supervisor.statuses():
            return False
        self._over.set()
        return True


def _other_version(theirs: object) -> OperationFailed:
    return OperationFailed(
        "FG0506",
        "the running supervisor is of another version of Forge",
        why=f"it speaks protocol {wire.PROTOCOL}, this command speaks {theirs}",
        hint="use the version that started the lab, or end the supervisor with SIGTERM and run `up` again",
        changed=False,
    )


def _refused(error: OSError) -> OperationFailed:
    return OperationFailed(
        "FG0512",
        "the machine refused what the supervisor needs",
        why=str(error),
        hint="make room on the disk, or raise the limit the message names",
        changed=False,
    )


def _not_understood(error: Exception) -> OperationFailed:
    return OperationFailed(
        "FG0506", "the supervisor did not understand a request", why=repr(error), changed=False
    )
