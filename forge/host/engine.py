"""Calls a container engine's API through its unix socket, one connection a call.

A call takes 0.3 to 0.5 ms, against 15 to 30 ms for the engine's command, and a body carries secrets
that an argv would show to everybody.

What the engine answers is JSON of its own making; nothing here knows what it means. A refusal is an
EngineRefused, which the callers turn into words for the user. Only an engine that does not answer
becomes a ForgeError here, since that means the same everywhere:

    not there at all            ToolMissing FG0301; one that was there before is waited for
    gone in mid-answer          OperationFailed FG0302, which may pass; a look is taken again first
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from forge.errors import OperationFailed, ToolMissing
from forge.host.unix_http import Answer, BrokenOff, Cancelled, Query, Request, exchange

_NEWEST_API = (1, 47)
"""The newest version of the API these requests were read against; engines speak older ones too."""

_RESTART_S = 10.0
"""How long an engine that answered before is waited for: a restart takes it a few seconds."""

_POLL_S = 0.1

_START = "start it (`sudo systemctl start docker`), or use --runtime embedded"
_GROUP = "add yourself to the group of that socket (`sudo usermod -aG docker $USER`, then log in again)"


class EngineRefused(Exception):
    """The engine answered with an error. status: HTTP's. message: in the engine's own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class Engine:
    """One engine by its socket's path. May be used from several threads at once."""

    def __init__(self, socket_path: str) -> None:
        self.socket_path = socket_path
        self._prefix = ""

    def ping(self, timeout_s: float = 30.0) -> None:
        """Settles the API's version: the engine's own, unless it is newer than ours. Raises
        ToolMissing FG0301 when no engine answers."""
        with self._connected(Request("GET", "/_ping", timeout_s=timeout_s)) as answer:
            text = b"".join(answer.body)
        if answer.status >= 400:
            why = f"it answers {answer.status} {_message(text)}".strip()
            raise _unreachable(self.socket_path, why, _START)
        told = _version(answer.head.get("api-version", ""))
        major, minor = min(told, _NEWEST_API) if told else _NEWEST_API
        self._prefix = f"/v{major}.{minor}"

    def get(self, path: str, query: Query | None = None) -> Any:
        return self.call(Request("GET", path, query))

    def find(self, path: str) -> Any:
        """What GET gives, or None where there is no such thing."""
        try:
            return self.get(path)
        except EngineRefused as refused:
            if refused.status == 404:
                return None
            raise

    def post(self, path: str, query: Query | None = None, body: Any = None, timeout_s: float = 60.0) -> Any:
        return self.call(Request("POST", path, query, body, timeout_s))

    def delete(self, path: str, query: Query | None = None) -> Any:
        return self.call(Request("DELETE", path, query))

    def call(self, request: Request) -> Any:
        """The answer's JSON, None where it has no body. Raises EngineRefused.

        A GET that breaks off is asked once more, since it changes nothing: the engine restarted.
        """
        try:
            return self._value(request)
        except OperationFailed:
            if request.method != "GET":
                raise
        return self._value(request)

    def _value(self, request: Request) -> Any:
        with self.stream(request) as pieces:
            text = b"".join(pieces)
        try:
            return json.loads(text) if text.strip() else None
        except ValueError as error:
            raise self._broken("what answers is no container engine") from error

    @contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[bytes]]:
        """The answer's body, piece by piece as it comes. It ends, without an error, when
        request.cancel is set. Leaving the block drops the connection, and with it what the engine
        does for it (a pull, a follow)."""
        if not self._prefix:
            self.ping()
        with self._connected(request) as answer:
            if answer.status >= 400:
                raise EngineRefused(answer.status, _message(b"".join(answer.body)))
            yield answer.body

    @contextmanager
    def _connected(self, request: Request) -> Iterator[Answer]:
        with self._connect(request.timeout_s) as peer:
            try:
                answer = exchange(peer, request, self._prefix)
            except BrokenOff as broken:
                raise self._broken(str(broken)) from broken
            except Cancelled:
                answer = Answer(200, {}, iter(()))
            yield Answer(answer.status, answer.head, self._told(answer.body))

    def _told(self, body: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from body
        except BrokenOff as broken:
            raise self._broken(str(broken)) from broken

    def _connect(self, timeout_s: float) -> socket.socket:
        until = time.monotonic() + (min(_RESTART_S, timeout_s) if self._prefix else 0.0)
        while True:
            peer = socket.socket(socket.AF_UNIX)
            try:
                peer.settimeout(timeout_s)
                peer.connect(self.socket_path)
            except OSError as error:
                peer.close()
                if isinstance(error, PermissionError) or time.monotonic() >= until:
                    raise _unreachable(self.socket_path, *_reason(error)) from error
                time.sleep(_POLL_S)
                continue
            return peer

    def _broken(self, why: str) -> OperationFailed:
        failed = OperationFailed(
            "FG0302",
            f"the container engine at {self.socket_path} broke off",
            why=why,
            hint="run the same command again; what was done so far is kept",
        )
        failed.may_pass = True
        return failed


def _unreachable(path: str, why: str, hint: str) -> ToolMissing:
    return ToolMissing(
        "FG0301", f"cannot reach a container engine at {path}", why=why, hint=hint, changed=False
    )


def _reason(error: OSError) -> tuple[str, str]:
    """Why a connection failed, and what to do."""
    match error:
        case PermissionError():
            return "you may not use it (permission denied)", _GROUP
        case FileNotFoundError():
            return "there is no such socket", _START
        case ConnectionRefusedError():
            return "nobody listens on it", _START
        case TimeoutError():
            return "it does not answer", _START
        case _:
            return str(error.strerror or error), _START


def _message(body: bytes) -> str:
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(body)["message"]).strip()
    return body.decode("utf-8", "replace").strip()[:500]


def _version(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None
