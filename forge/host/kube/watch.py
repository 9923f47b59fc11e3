"""One object over time: a look, then every change the server tells, then a look again where that breaks off.

A watch goes on from the version it knows. Where the server has forgotten that (410), ends the stream or is
away, the object is read again; the reader only ever sees states that were there, each once. A reading
thread of its own hands the lines on, so that a cancel ends the wait at once and not with the next line.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from forge.errors import OperationFailed
from forge.host.kube import faults
from forge.host.kube.exchange import Exchange
from forge.host.kube.patience import Patience
from forge.host.kube.transport import Request, Stopped, Unreached
from forge.plan.lab_ports import Object, ObjectRef
from forge.plan.ports import Cancel

_TICK_S = 0.1
_AGAIN_S = 0.5
"""Between two looks where watching does not work."""
_UNKNOWN_S = 1.0
"""Between two looks for a kind that is not served yet: each is a discovery."""
_LONGEST_S = 240
"""Seconds of one stream; servers end them after five minutes at the latest."""
_ENDED = None


class Watching:
    """One call of watch."""

    def __init__(self, exchange: Exchange, what: ObjectRef, cancel: Cancel, timeout_s: float) -> None:
        self._exchange = exchange
        self._ref = what
        self._cancel = cancel
        self._deadline = time.monotonic() + timeout_s

    def run(self) -> Iterator[Object | None]:
        told: object = self  # nothing that a server says
        while self._left() > 0 and not self._cancel.is_set():
            path = self._path()
            now = None if path is None else self._look(path)
            if now is _AWAY:
                self._cancel.wait(min(_AGAIN_S, self._left()))
                continue
            if _version(now) != told:
                told = _version(now)
                yield now  # type: ignore[misc]  # _AWAY is out
            if path is None:
                self._cancel.wait(min(_UNKNOWN_S, self._left()))
                continue
            for change in self._changes(path, now):
                told = _version(change)
                yield change
            if self._cancel.wait(min(_TICK_S, max(0.0, self._left()))):
                return

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _path(self) -> str | None:
        try:
            resource = self._exchange.kind(self._ref.api_version, self._ref.kind)
        except OperationFailed as error:
            if error.may_pass:
                return None
            raise
        return None if resource is None else resource.path(self._ref.namespace)

    def _look(self, path: str) -> object:
        """The object, None, or _AWAY where the server does not say."""
        try:
            patience = Patience(0.0, self._cancel)
            return self._exchange.json(
                Request("GET", f"{path}/{self._ref.name}"), f"read {faults.title(self._ref)}", patience
            )
        except OperationFailed as error:
            if error.may_pass:
                return _AWAY
            raise

    def _changes(self, path: str, now: Any) -> Iterator[Object | None]:
        """Its changes from *now* on, until the stream ends for whatever reason. Of an object that is not
        there the version to begin with is that of a list."""
        version = (now or {}).get("metadata", {}).get("resourceVersion") or self._listed(path)
        if not version:
            return
        query = {
            "watch": "true",
            "fieldSelector": f"metadata.name={self._ref.name}",
            "resourceVersion": version,
            "timeoutSeconds": str(int(min(_LONGEST_S, self._left() + 1))),
        }
        for event in _events(self._exchange, Request("GET", path, query, timeout_s=_LONGEST_S), self._stop()):
            thing = event.get("object") or {}
            if event.get("type") in ("ADDED", "MODIFIED"):
                yield thing
            elif event.get("type") == "DELETED":
                yield None
            elif event.get("type") == "ERROR":
                return

    def _listed(self, path: str) -> str:
        query = {"fieldSelector": f"metadata.name={self._ref.name}", "limit": "1"}
        try:
            found = self._exchange.json(
                Request("GET", path, query), f"list {self._ref.kind}", Patience(0.0, self._cancel)
            )
        except OperationFailed:
            return ""
        if not found or found.get("items"):
            return ""  # it came in between: look again
        return str((found.get("metadata") or {}).get("resourceVersion", ""))

    def _stop(self) -> _Until:
        return _Until(self._cancel, self._deadline)


_AWAY = object()


class _Until:
    """A cancel that is also set at a deadline."""

    def __init__(self, cancel: Cancel, deadline: float) -> None:
        self._cancel = cancel
        self._deadline = deadline

    def is_set(self) -> bool:
        return self._cancel.is_set() or time.monotonic() >= self._deadline

    def wait(self, timeout: float | None = None) -> bool:
        left = max(0.0, self._deadline - time.monotonic())
        return self._cancel.wait(left if timeout is None else min(left, timeout)) or self.is_set()


def _version(thing: object) -> object:
    return (
        None if not isinstance(thing, dict) else (thing.get("metadata") or {}).get("resourceVersion", thing)
    )


def _events(exchange: Exchange, request: Request, until: _Until) -> Iterator[dict[str, Any]]:
    """The lines of a stream as objects, until it ends or *until* is set."""
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    try:
        with exchange.stream(request, Patience(0.0, until)) as response:
            if response.status != 200:
                return
            threading.Thread(target=_read, args=(response, lines), daemon=True).start()
            try:
                while not until.is_set():
                    with suppress(queue.Empty):
                        line = lines.get(timeout=_TICK_S)
                        if line is _ENDED:
                            return
                        yield json.loads(line)
            finally:
                _shut(response)
    except (Unreached, Stopped, ValueError):
        return


def _read(response: Any, lines: queue.SimpleQueue[bytes | None]) -> None:
    with suppress(Exception):  # whatever ends it, the reader looks again
        while line := response.readline():
            lines.put(line)
    lines.put(_ENDED)


def _shut(response: Any) -> None:
    """Ends the read of the other thread: closing alone would leave it waiting."""
    with suppress(OSError, AttributeError):
        response.fp.raw._sock.shutdown(socket.SHUT_RDWR)
