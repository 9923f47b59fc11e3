"""A counter behind HTTP: every GET /count gives the next number."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COUNT = itertools.count(1)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"ok\n" if self.path == "/healthz" else f"{next(COUNT)}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's word
        if self.path != "/healthz":
            print(f"{self.address_string()} {format % args}", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the first process of a container must ask for it
    address = os.environ.get("POD_IP", "0.0.0.0")  # noqa: S104 - a container has its own address
    print(f"store listens on {address}:8081", flush=True)
    ThreadingHTTPServer((address, 8081), Handler).serve_forever()
