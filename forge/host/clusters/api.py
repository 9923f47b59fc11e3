"""The few requests to a cluster's API that making and finding it takes, over the access file.

Forge's client for stacks is forge/host/kube. This one is for looking at every cluster in a command that
has nothing to do: it imports nothing that takes long, and one look is one request on one connection.
"""

from __future__ import annotations

import json
import socket
import ssl
import tempfile
from typing import Any
from urllib.parse import urlsplit

from forge.host.clusters.kubeconfig import Config
from forge.host.tls_socket import closing
from forge.host.unix_http import BrokenOff, Cancelled, Request, exchange

CONNECT_S = 5.0


class Silent(Exception):
    """The API does not answer; says why in one line. hangs: it took the connection, and says nothing,
    which waiting will not change."""

    def __init__(self, why: str, *, hangs: bool = False) -> None:
        super().__init__(why)
        self.hangs = hangs


class Stranger(Exception):
    """Something answers that is not this cluster: it has another authority, or does not know us."""


class Api:
    """config: with a client certificate. May be used from several threads at once."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tls: ssl.SSLContext | None = None

    def get(self, path: str, timeout_s: float = CONNECT_S) -> tuple[int, Any]:
        """Status and document (None where it is no JSON). Raises Silent, Stranger."""
        return self._call(Request("GET", path, timeout_s=timeout_s))

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self._call(Request("POST", path, body=body, timeout_s=CONNECT_S))

    def put(self, path: str, body: Any) -> tuple[int, Any]:
        return self._call(Request("PUT", path, body=body, timeout_s=CONNECT_S))

    def _call(self, request: Request) -> tuple[int, Any]:
        where = urlsplit(self._config.server)
        host, port = where.hostname or "", where.port or 443
        try:
            with (
                socket.create_connection((host, port), timeout=request.timeout_s) as plain,
                self._context().wrap_socket(plain, server_hostname=host) as peer,
            ):
                answer = exchange(peer, request)
                text = b"".join(answer.body)
        except ssl.SSLCertVerificationError as error:
            raise Stranger(f"{host}:{port} has a certificate of another authority") from error
        except (OSError, BrokenOff, Cancelled) as error:
            hangs = isinstance(error, TimeoutError) or "in time" in str(error)
            raise Silent(_reason(error, f"{host}:{port}"), hangs=hangs) from error
        if answer.status == 401:
            raise Stranger(f"{host}:{port} does not know our certificate")
        return answer.status, _json(text)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            context = closing(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
            context.load_verify_locations(cadata=self._config.ca.decode("ascii"))
            if self._config.client:
                with tempfile.NamedTemporaryFile(prefix="praxis-") as file:  # 0600, gone at once
                    file.write(self._config.client)
                    file.flush()
                    context.load_cert_chain(file.name)
            self._tls = context
        return self._tls


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _reason(error: Exception, where: str) -> str:
    match error:
        case ConnectionRefusedError():
            return f"nobody listens on {where}"
        case TimeoutError():
            return f"{where} gave no answer in time"
        case OSError():
            return f"{where}: {error.strerror or error}"
        case _:
            return f"{where}: {error}"
