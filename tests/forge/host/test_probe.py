"""A probe gives one answer in one line, within its timeout, whatever the peer does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from forge.host import probe


@contextmanager
def listener(answer: bytes | None, address: str = "127.0.0.1") -> Iterator[tuple[int, list[bytes]]]:
    """A server for one connection: says *answer* and closes; None: says nothing until the end.
    Gives its port and what it was asked."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    asked: list[bytes] = []
    done = threading.Event()
    with socket.socket(family) as server:
        server.bind((address, 0))
        server.listen()

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                asked.append(peer.recv(4096))
                if answer is None:
                    done.wait(30)
                else:
                    peer.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], asked
        done.set()
        thread.join(30)


def closed_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def test_tcp_passes_where_a_connection_is_taken() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert probe.tcp("127.0.0.1", server.getsockname()[1], 5).ok


def test_tcp_says_refused_where_nobody_listens() -> None:
    result = probe.tcp("127.0.0.1", closed_port(), 5)
    assert (result.ok, result.detail) == (False, "connection refused")


def test_http_says_refused_where_nobody_listens() -> None:
    assert probe.http("127.0.0.1", closed_port(), "/", 5).detail == "connection refused"


@pytest.mark.parametrize(
    ("answer", "ok", "detail"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", True, "HTTP 200", id="a page passes"),
        pytest.param(b"HTTP/1.0 204 \r\n\r\n", True, "HTTP 204", id="an empty answer passes"),
        pytest.param(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", True, "HTTP 302", id="a redirect passes"),
        pytest.param(b"HTTP/1.1 399 x\r\n\r\n", True, "HTTP 399", id="399 passes"),
        pytest.param(b"HTTP/1.1 400 x\r\n\r\n", False, "HTTP 400", id="400 fails"),
        pytest.param(b"HTTP/1.1 503 Busy\r\n\r\n", False, "HTTP 503", id="busy fails"),
        pytest.param(b"HTTP/1.1 200\r\n", True, "HTTP 200", id="a head cut short still has its status"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n", False, "the answer is not HTTP", id="another protocol fails"),
        pytest.param(b"HTTP/1.1 2x0 OK\r\n\r\n", False, "the answer is not HTTP", id="no number fails"),
        pytest.param(b"", False, "closed without an answer", id="an end without a word fails"),
        pytest.param(b"A" * 20_000, False, "the answer is not HTTP", id="a head without end is bounded"),
    ],
)
def test_http_judges_the_status(answer: bytes, ok: bool, detail: str) -> None:
    with listener(answer) as (port, _):
        result = probe.http("127.0.0.1", port, "/", 10)
    assert (result.ok, result.detail) == (ok, detail)


def test_http_asks_for_the_path_and_names_the_host() -> None:
    with listener(b"HTTP/1.1 200 OK\r\n\r\n") as (port, asked):
        probe.http("127.0.0.1", port, "/readyz?full=1", 10)
    assert asked[0].startswith(f"GET /readyz?full=1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode())
    assert asked[0].endswith(b"\r\n\r\n")


def test_http_speaks_ipv6() -> None:
    try:
        with listener(b"HTTP/1.1 200 OK\r\n\r\n", "::1") as (port, asked):
            assert probe.http("::1", port, "/", 10).ok
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    assert f"Host: [::1]:{port}\r\n".encode() in asked[0]


def test_http_gives_up_on_a_peer_that_says_nothing() -> None:
    with listener(None) as (port, _):
        result = probe.http("127.0.0.1", port, "/", 0.2)
    assert (result.ok, result.detail) == (False, "no answer within 0.2 s")


def test_http_gives_up_on_a_peer_that_drips() -> None:
    """One deadline for the whole: a byte now and then does not extend it."""
    stop = threading.Event()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def drip() -> None:
            peer, _ = server.accept()
            with peer:
                try:
                    while not stop.wait(0.02):
                        peer.sendall(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        begun = time.monotonic()
        result = probe.http("127.0.0.1", server.getsockname()[1], "/", 0.3)
        took = time.monotonic() - begun
        stop.set()
        thread.join(30)
    assert result.detail == "no answer within 0.3 s"
    assert took < 20
