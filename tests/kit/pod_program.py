"""What test images run: a server on the pod's own address that says who it is, over TCP (HTTP) and UDP.

GET /           the pod's address
GET /env/NAME   a variable
GET /file/PATH  a file, from the working directory
GET /ready      200 once the file `ready` is there, or READY_FILE is unset
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        code, text = answer(self.path)
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer(path: str) -> tuple[int, str]:
    if path.startswith("/env/"):
        return 200, os.environ.get(path.removeprefix("/env/"), "")
    if path.startswith("/file/"):
        return 200, Path(path.removeprefix("/file/")).read_text()
    if path == "/ready":
        gate = os.environ.get("READY_FILE")
        return (200, "ready") if gate is None or Path(gate).exists() else (503, "not yet")
    return 200, os.environ["POD_IP"]


def echo(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind((address, port))
        while True:
            data, peer = listener.recvfrom(65_535)
            listener.sendto(address.encode() + b" " + data, peer)


def main() -> None:
    address, port = os.environ["POD_IP"], int(sys.argv[1])
    threading.Thread(target=echo, args=(address, port), daemon=True).start()
    print("listening", flush=True)  # noqa: T201 - its log is what tests read
    ThreadingHTTPServer((address, port), Answers).serve_forever()


if __name__ == "__main__":
    main()
