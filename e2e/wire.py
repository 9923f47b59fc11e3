"""HTTPS as a client of the lab speaks it: by an address of this machine, to a name, with or without proof.

The name is what the certificate is checked against and what Host says; the address is where the lab
published it. No name of the lab is looked up anywhere.
"""

from __future__ import annotations

import errno
import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """status: 0 where there was none, and error says why. took_s: until the last byte."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str = ""
    took_s: float = 0.0

    @property
    def request_id(self) -> str:
        return self.headers.get("x-request-id", "")

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Proof:
    """The certificate and key a client shows."""

    certificate: Path
    key: Path


class _ClosedWhenReset(ssl.SSLSocket):
    """CPython forgets to close a socket that the peer resets between connect and the handshake, which a
    gateway that is being killed does. It asks for the peer's address first."""

    def getpeername(self) -> object:
        try:
            return super().getpeername()
        except OSError as error:
            self.close()
            raise ConnectionResetError(errno.ECONNRESET, "the connection was reset") from error


@dataclass(frozen=True, slots=True)
class Endpoint:
    """address, port: where. name: what the certificate must vouch for, and what Host says. ca: who
    vouches; None: plain HTTP."""

    address: str
    port: int
    name: str
    ca: Path | None
    proof: Proof | None = None

    def context(self) -> ssl.SSLContext | None:
        if self.ca is None:
            return None
        made = ssl.create_default_context(cafile=str(self.ca))
        made.sslsocket_class = _ClosedWhenReset
        if self.proof is not None:
            made.load_cert_chain(self.proof.certificate, self.proof.key)
        return made


class Connection:
    """One kept-alive connection. Not for several threads at once."""

    def __init__(self, endpoint: Endpoint, timeout_s: float = 10.0) -> None:
        self._endpoint = endpoint
        self._context = endpoint.context()
        self._timeout_s = timeout_s
        self._open: http.client.HTTPConnection | None = None

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request. A connection that had gone stale is made anew once, if nothing was sent on it
        before; any other failure is an Answer of status 0."""
        begun = time.monotonic()
        fresh = self._open is None
        try:
            return self._once(method, path, body, headers or {}, begun)
        except (OSError, http.client.HTTPException) as fault:
            self.close()
            if fresh or not isinstance(fault, (http.client.RemoteDisconnected, ConnectionResetError)):
                return Answer(0, error=_words(fault), took_s=time.monotonic() - begun)
        try:
            return self._once(method, path, body, headers or {}, begun)
        except (OSError, http.client.HTTPException) as fault:
            self.close()
            return Answer(0, error=_words(fault), took_s=time.monotonic() - begun)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], begun: float
    ) -> Answer:
        connection = self._open = self._open or self._connect()
        connection.request(method, path, body, {"Host": self._endpoint.name, **headers})
        reply = connection.getresponse()
        data = reply.read()
        if reply.will_close:
            self.close()
        named = {k.lower(): v for k, v in reply.getheaders()}
        return Answer(reply.status, named, data, took_s=time.monotonic() - begun)

    def _connect(self) -> http.client.HTTPConnection:
        made = http.client.HTTPConnection(
            self._endpoint.address, self._endpoint.port, timeout=self._timeout_s
        )
        plain = socket.create_connection((self._endpoint.address, self._endpoint.port), self._timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.sock = plain
        if self._context is not None:
            try:
                made.sock = self._context.wrap_socket(plain, server_hostname=self._endpoint.name)
            except BaseException:
                plain.close()
                raise
        return made


def ask(
    endpoint: Endpoint,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout_s: float = 10.0,
) -> Answer:
    """One request on a connection of its own."""
    connection = Connection(endpoint, timeout_s)
    try:
        return connection.ask(method, path, body, headers)
    finally:
        connection.close()


def can_connect(address: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether anything listens there."""
    try:
        socket.create_connection((address, port), timeout_s).close()
    except OSError:
        return False
    return True


def _words(fault: Exception) -> str:
    reason = getattr(fault, "reason", None) or getattr(fault, "strerror", None) or str(fault)
    return f"{type(fault).__name__}: {reason}"
