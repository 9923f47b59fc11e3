"""An API server that says what a test tells it to, over plain HTTP: for faults no real one shows on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[str, str, Any], tuple[int, Any]]
"""(method, path with its query, body) -> (status, JSON or bytes)."""


@dataclass
class ScriptedApi:
    """url: where it listens. asked: method and path of each request, in order. headers: of each."""

    script: Script
    url: str = ""
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


def failure(status: int, message: str, reason: str = "InternalError") -> tuple[int, dict[str, Any]]:
    """A Status as an API server answers with."""
    said = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": status}
    return status, said


@contextmanager
def scripted(script: Script) -> Iterator[ScriptedApi]:
    api = ScriptedApi(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            sent = self.rfile.read(length)
            api.asked.append(f"{self.command} {self.path}")
            api.headers.append(dict(self.headers.items()))
            status, said = api.script(self.command, self.path, json.loads(sent) if sent else None)
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PATCH = do_POST = do_DELETE = _answer  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
