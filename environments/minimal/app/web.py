"""A page that asks the store for a number; it cannot answer while the store does not."""

from __future__ import annotations

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError
from urllib.request import urlopen

STORE_URL = os.environ["STORE_URL"]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = "/healthz" if self.path == "/healthz" else "/count"
        try:
            with urlopen(STORE_URL + path, timeout=2) as answer:  # noqa: S310 - the lab's own address
                status, text = 200, f"visitor number {answer.read().decode().strip()}\n"
        except (URLError, OSError) as error:
            status, text = 503, f"the store does not answer: {error}\n"
        body = text.encode()
        self.send_response(status)
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
    print(f"web listens on {address}:8080, store at {STORE_URL}", flush=True)
    ThreadingHTTPServer((address, 8080), Handler).serve_forever()
