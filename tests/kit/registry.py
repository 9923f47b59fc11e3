"""An image registry on loopback with one small image: what a pull speaks to, and nothing more.

Reading side of the OCI distribution API: `/v2/`, manifests by tag or digest, blobs. With a login it wants
HTTP Basic; with `hold` set it sends half of the layer and then drips.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import socket
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
_NOISE = 3 * 1024 * 1024
_DRIP = 48 * 1024


class Registry:
    """reference: of its one image. hold: while set, layers come slowly and never whole. sending: layers on their way."""

    def __init__(self, login: str | None) -> None:
        layer, content = _layer()
        config = _config(layer)
        manifest = _manifest(config, content)
        self.blobs = {_digest(b): b for b in (config, content)}
        self.manifests = {"v1": manifest, _digest(manifest): manifest}
        self.login = login
        self.port = 0
        self.hold = threading.Event()
        self.ended = threading.Event()
        self._sending = 0
        self._lock = threading.Lock()

    @property
    def sending(self) -> int:
        return self._sending

    @contextmanager
    def on_its_way(self) -> Iterator[None]:
        """One layer is, for the block. A peer that hangs up ends the block and nothing else."""
        with self._lock:
            self._sending += 1
        try:
            with suppress(ConnectionError):
                yield
        finally:
            with self._lock:
                self._sending -= 1

    @property
    def reference(self) -> str:
        return f"127.0.0.1:{self.port}/lab/app:v1"

    def lets_in(self, header: str | None) -> bool:
        if self.login is None:
            return True
        return header == "Basic " + base64.b64encode(self.login.encode()).decode()


@contextmanager
def registry(login: str | None = None) -> Iterator[Registry]:
    """login: `user:password`, None lets everybody in."""
    it = Registry(login)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(it))
    server.daemon_threads = True
    it.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield it
    finally:
        it.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(it: Registry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            if not it.lets_in(self.headers.get("Authorization")):
                self._answer(401, b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}')
                return
            name = self.path.rpartition("/")[2]
            if "/manifests/" in self.path and name in it.manifests:
                self._answer(200, it.manifests[name], _MANIFEST)
            elif "/blobs/" in self.path and name in it.blobs:
                self._answer(200, it.blobs[name], "application/octet-stream")
            else:
                self._answer(200 if self.path == "/v2/" else 404, b"{}")

        def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="lab"')
            if kind == _MANIFEST:
                self.send_header("Docker-Content-Digest", _digest(body))
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self._send(body)

        def _send(self, body: bytes) -> None:
            sent = len(body) // 2 if it.hold.is_set() and len(body) >= _NOISE else 0
            with it.on_its_way():
                self.wfile.write(body[:sent])
                if sent:
                    sent = _drip_while_held(it, self.connection, body, sent)
                self.wfile.write(body[sent:])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Nothing."""

    return Handler


def _drip_while_held(it: Registry, peer: socket.socket, body: bytes, sent: int) -> int:
    """Sends a little now and then, since an engine tells of its progress only as bytes come, ten times
    a second at most. Gives how much is sent. Raises ConnectionError when the peer hangs up."""
    peer.settimeout(0.15)
    while it.hold.is_set() and not it.ended.is_set():
        with suppress(TimeoutError):
            if peer.recv(1) == b"":
                raise ConnectionAbortedError
        drip = body[sent : min(sent + _DRIP, len(body) - 1)]
        peer.sendall(drip)
        sent += len(drip)
    peer.settimeout(None)
    return sent


def _layer() -> tuple[bytes, bytes]:
    """A tar archive with one file that does not compress, as it is and gzipped."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("noise")
        entry.size = _NOISE
        archive.addfile(entry, io.BytesIO(os.urandom(_NOISE)))
    return out.getvalue(), gzip.compress(out.getvalue(), 1)


def _config(layer: bytes) -> bytes:
    rootfs = {"type": "layers", "diff_ids": [_digest(layer)]}
    config = {"architecture": "amd64", "os": "linux", "config": {"Cmd": ["x"]}, "rootfs": rootfs}
    return json.dumps(config).encode()


def _manifest(config: bytes, layer: bytes) -> bytes:
    def part(kind: str, content: bytes) -> dict[str, object]:
        return {"mediaType": kind, "size": len(content), "digest": _digest(content)}

    parts = {"config": part(_CONFIG, config), "layers": [part(_LAYER, layer)]}
    return json.dumps({"schemaVersion": 2, "mediaType": _MANIFEST, **parts}).encode()


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()
