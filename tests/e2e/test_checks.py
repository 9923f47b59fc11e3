"""A check of a refusal fails where the request came past the guard that was meant."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from e2e import guards
from e2e.lab import Lab
from e2e.scenario import NotYet, Run
from e2e.wire import Endpoint
from tests.kit.backends import free_port

RUN = Run(Lab(Path("forge.yaml")))


@contextmanager
def answering(status: int, code: str) -> Iterator[Endpoint]:
    """A server that refuses everything with one status and code."""

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"error": {"code": code}}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Endpoint("127.0.0.1", server.server_port, "localhost", None)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_guard_that_was_meant_refuses() -> None:
    with answering(403, "peer_not_trusted") as place:
        assert "403" in guards.refused("refused", lambda _: place, "peer_not_trusted")(RUN).seen


@pytest.mark.parametrize(
    ("wanted", "code"), [("peer_not_trusted", "candidate_not_served"), ("", "peer_not_trusted")]
)
def test_another_answer_means_that_it_came_past(wanted: str, code: str) -> None:
    with answering(403, code) as place, pytest.raises(NotYet, match=code):
        guards.refused("refused", lambda _: place, wanted)(RUN)


def test_no_answer_at_all_is_a_refusal() -> None:
    place = Endpoint("127.0.0.1", free_port(), "localhost", None)
    assert "Refused" in guards.refused("refused", lambda _: place)(RUN).seen
