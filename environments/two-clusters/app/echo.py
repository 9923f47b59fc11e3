"""Says who it is, and what its peer says: `door > west > east`."""

import os
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAME = os.environ.get("NAME", "nobody")
PEER = os.environ.get("PEER", "")
TLS = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("/tls")


class Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/certificate":
            self._answer((TLS / "tls.crt").read_text())
        elif self.path == "/alive":
            self._answer(NAME)
        else:
            self._answer(f"{NAME} > {asked()}" if PEER else NAME)

    def _answer(self, text: str) -> None:
        body = f"{text}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet: the lab asks it several times a second."""


def asked() -> str:
    with urllib.request.urlopen(PEER, timeout=4) as answer:  # noqa: S310 - the lab says where
        return str(answer.read().decode().strip())


if __name__ == "__main__":
    address = os.environ.get("POD_IP", "0.0.0.0")  # noqa: S104 - its own in a container
    ThreadingHTTPServer((address, 8080), Echo).serve_forever()
