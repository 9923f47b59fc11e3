"""HTTP to one API server: connections that are kept, answers as values, every wait ended by a cancel.

The standard library's client and not httpx: a no-op `up` reads every cluster, and importing httpx takes
90 ms where http.client and ssl take 35 (measured side by side, best of ten). What is missing there, a
pool and cancelling, is a few lines here.

A connection that was kept may have been closed by the other side meanwhile: a request that fails on such
a one before any byte of an answer is sent again on a fresh one. All that Forge asks may be asked twice.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from forge.host.kube.access import Credentials
from forge.plan.ports import Cancel

_TICK_S = 0.1
"""How often a wait looks whether it is cancelled."""
_CONNECT_S = 5.0
"""A server on this machine or network takes connections in milliseconds; one that does not is down."""
MAX_KEPT = 8
"""Connections kept open to one server: as many as requests are made at once."""
MAX_ANSWER = 256 * 1024 * 1024
"""Bytes of one answer; a list page of 500 objects has at most 500 times 1.5 MiB, and never has that."""

JSON = "application/json"


class Unreached(Exception):
    """No answer, or no whole one. The reason is one line."""


class Stopped(Exception):
    """The cancel was set while waiting."""


@dataclass(frozen=True, slots=True)
class Request:
    """body: JSON, None for none. type: its content type. timeout_s: until the answer's head is there,
    and between two pieces of it."""

    method: str
    path: str
    query: dict[str, str] | None = None
    body: Any = None
    type: str = JSON
    accept: str = JSON
    timeout_s: float = 30.0

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


@dataclass(frozen=True, slots=True)
class Reply:
    """status: of HTTP. retry_after: seconds the server asks to wait, 0 where it does not."""

    status: int
    body: bytes
    retry_after: float = 0.0

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> dict[str, Any]:
        """The body. Raises Unreached where it is no JSON object: then no API server answered."""
        try:
            loaded = json.loads(self.body)
        except ValueError:
            loaded = None
        if not isinstance(loaded, dict):
            raise Unreached(f"it answers {self.status} with something else than JSON")
        return loaded

    @property
    def words(self) -> str:
        """What the server says of an error: its message, else the first line."""
        with suppress(ValueError, AttributeError):
            said = json.loads(self.body).get("message")
            if said:
                return str(said)
        first = self.body[:300].decode("utf-8", "replace").strip().partition("\n")[0]
        return first or f"HTTP {self.status}"

    @property
    def reason(self) -> str:
        """Kubernetes' own word: `NotFound`, `Conflict`; empty where it says none."""
        with suppress(ValueError, AttributeError):
            return str(json.loads(self.body).get("reason") or "")
        return ""


class Transport:
    """Speaks to one server. Any number of threads may ask at once."""

    def __init__(
        self, credentials: Callable[[], Credentials], renew: Callable[[Credentials], bool] = lambda _: False
    ) -> None:
        """credentials: as they are now, asked for at every new connection. renew: asked after some were
        refused, whether there are others."""
        self._source = credentials
        self._renew = renew
        self._kept: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._use(credentials())

    def _use(self, credentials: Credentials) -> None:
        parts = urlsplit(credentials.server)
        self._credentials = credentials
        self._tls = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._tls else 80)
        self._prefix = parts.path.rstrip("/")

    @property
    def to(self) -> object:
        """Differs once the server, or who asks it, is another one."""
        return self._credentials

    def _refresh(self) -> None:
        now = self._source()
        if now is not self._credentials:
            self.close()
            self._use(now)

    def renewed(self, refused: object) -> bool:
        """Whether there are other credentials than those of `to` that were refused; they are used from now
        on."""
        if self._credentials is refused and not self._renew(self._credentials):
            return False
        self._refresh()
        return True

    def ask(self, request: Request, cancel: Cancel | None = None) -> Reply:
        """The answer, whatever its status. Raises Unreached, Stopped."""
        connection = self._take()
        if connection is not None:
            with suppress(_Stale):
                return self._exchange(connection, request, cancel, kept=True)
        return self._exchange(self._fresh(request.timeout_s), request, cancel, kept=False)

    @contextmanager
    def stream(self, request: Request, cancel: Cancel | None = None) -> Iterator[http.client.HTTPResponse]:
        """The answer while it comes, on a connection of its own; closing it from another thread ends a
        read. Raises Unreached, Stopped."""
        connection = self._fresh(request.timeout_s)
        try:
            yield self._send(connection, request, cancel, kept=False)
        except (OSError, http.client.HTTPException) as error:
            raise Unreached(_reason(error)) from None
        finally:
            connection.close()

    def close(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()

    def _exchange(
        self, connection: http.client.HTTPConnection, request: Request, cancel: Cancel | None, *, kept: bool
    ) -> Reply:
        whole = False
        try:
            response = self._send(connection, request, cancel, kept=kept)
            body = response.read(MAX_ANSWER + 1)
            if len(body) > MAX_ANSWER:
                raise Unreached(f"its answer is longer than {MAX_ANSWER // 2**20} MiB")
            whole = not response.will_close
            return Reply(response.status, body, _seconds(response.getheader("Retry-After")))
        except (OSError, http.client.HTTPException) as error:
            raise Unreached(_reason(error)) from None
        finally:
            if whole:
                self._keep(connection)
            else:
                connection.close()

    def _send(
        self, connection: http.client.HTTPConnection, request: Request, cancel: Cancel | None, *, kept: bool
    ) -> http.client.HTTPResponse:
        """Raises _Stale where a kept connection turns out to be closed."""
        try:
            connection.timeout = request.timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(request.timeout_s)
            connection.request(request.method, self._prefix + request.target, *self._content(request))
            _await(connection.sock, request.timeout_s, cancel)
            return connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLError, ssl.SSLEOFError) as error:
            if kept:
                connection.close()
                raise _Stale from error
            raise

    def _content(self, request: Request) -> tuple[bytes | None, dict[str, str]]:
        headers = {"Accept": request.accept, "User-Agent": "praxis-forge"}
        if self._credentials.token:
            headers["Authorization"] = f"Bearer {self._credentials.token}"
        if request.body is None:
            return None, headers
        headers["Content-Type"] = request.type
        return json.dumps(request.body, separators=(",", ":")).encode(), headers

    def _fresh(self, timeout_s: float) -> http.client.HTTPConnection:
        self._refresh()
        raw = None
        try:
            raw = socket.create_connection((self._host, self._port), min(timeout_s, _CONNECT_S))
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
            connection.auto_open = 0  # it would open a plain one
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            name = self._credentials.server_name or self._host
            connection.sock = (
                self._credentials.tls.wrap_socket(raw, server_hostname=name) if self._tls else raw
            )
        except (OSError, ValueError) as error:
            if raw is not None:
                raw.close()
            raise Unreached(_reason(error)) from None
        return connection

    def _take(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._kept.pop() if self._kept else None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._kept) < MAX_KEPT:
                self._kept.append(connection)
                return
        connection.close()


class _Stale(Exception):
    """A kept connection was closed by the other side before it took the request."""


def _await(sock: socket.socket, timeout_s: float, cancel: Cancel | None) -> None:
    """Waits until the answer begins; ends within a tick once cancel is set."""
    if cancel is None:
        return
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    deadline = time.monotonic() + timeout_s
    while not poll.poll(_TICK_S * 1000):
        if cancel.is_set():
            raise Stopped
        if time.monotonic() > deadline:
            raise TimeoutError(f"no answer within {timeout_s:g} s")


def _seconds(header: str | None) -> float:
    return float(header) if header and header.isdigit() else 0.0


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError) and not error.args:
        return "no answer in time"
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
