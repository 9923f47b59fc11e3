"""The engine's client reads any rightly framed answer, and says plainly when there is none."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.errors import OperationFailed, ToolMissing
from forge.host.engine import Engine, EngineRefused
from forge.host.unix_http import Request
from tests.kit.scripted_engine import PING, json_answer, scripted


@contextmanager
def as_nobody() -> Iterator[None]:
    """What root does in the block it does as a user with no rights; anybody else stays who they are."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        pytest.param(json_answer(b'{"a": 1}'), {"a": 1}, id="with a length"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n[1, 2]", [1, 2], id="up to the end of the connection"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n",
            [1, 2],
            id="in chunks, with an extension",
        ),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", None, id="without a body"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n", None, id="not modified"),
    ],
)
def test_an_answer_is_its_json(path: Path, answer: bytes, value: object) -> None:
    with scripted(path, [PING, answer]):
        assert Engine(str(path)).get("/x") == value


def test_the_version_is_settled_once_and_never_newer_than_the_engines(path: Path) -> None:
    with scripted(path, [PING, json_answer(b"1"), json_answer(b"2")]) as asked:
        engine = Engine(str(path))
        engine.get("/containers/json", {"all": True, "filters": {"label": ["a=b"]}})
        engine.post("/x", {"t": 3, "changes": ("A", "B")}, {"Env": ["A=ü"]})
    assert [text.split(b"\r\n", 1)[0] for text in asked] == [
        b"GET /_ping HTTP/1.1",
        b"GET /v1.41/containers/json?all=1&filters=%7B%22label%22%3A+%5B%22a%3Db%22%5D%7D HTTP/1.1",
        b"POST /v1.41/x?t=3&changes=A&changes=B HTTP/1.1",
    ]
    assert asked[2].endswith(b'\r\n\r\n{"Env": ["A=\\u00fc"]}')


@pytest.mark.parametrize(
    ("told", "prefix"),
    [
        pytest.param(b"1.24", b"/v1.24/", id="an old engine"),
        pytest.param(b"1.99", b"/v1.47/", id="an engine newer than us"),
        pytest.param(b"", b"/v1.47/", id="one that does not say"),
    ],
)
def test_engines_of_other_ages_are_spoken_to(path: Path, told: bytes, prefix: bytes) -> None:
    ping = b"HTTP/1.1 200 OK\r\nAPI-version: %b\r\nContent-Length: 0\r\n\r\n" % told
    with scripted(path, [ping, json_answer(b"1")]) as asked:
        Engine(str(path)).get("/x")
    assert asked[1].startswith(b"GET " + prefix)


def test_a_refusal_has_the_engines_words(path: Path) -> None:
    answers = [PING, json_answer(b'{"message": "no such thing\\n"}', b"404 Not Found")]
    with scripted(path, answers), pytest.raises(EngineRefused) as refused:
        Engine(str(path)).delete("/x")
    assert (refused.value.status, refused.value.message) == (404, "no such thing")


def test_what_is_not_there_is_found_to_be_none(path: Path) -> None:
    with scripted(path, [PING, json_answer(b"{}", b"404 Not Found")]):
        assert Engine(str(path)).find("/x") is None


def test_another_refusal_is_not_none(path: Path) -> None:
    with scripted(path, [PING, json_answer(b"busy", b"500 Oh")]), pytest.raises(EngineRefused, match="busy"):
        Engine(str(path)).find("/x")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="closed without a word"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="cut in the head"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1", id="cut in the body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1", id="cut in a chunk"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n", id="no last chunk"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", id="a chunk of no size"
        ),
        pytest.param(b"SSH-2.0-x\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 2x0 OK\r\n\r\n", id="no status"),
        pytest.param(b"A" * 200_000, id="a head without end"),
    ],
)
def test_an_answer_that_breaks_off_may_pass(path: Path, answer: bytes) -> None:
    with scripted(path, [PING, answer]), pytest.raises(OperationFailed) as failed:
        Engine(str(path)).post("/x")
    assert (failed.value.code, failed.value.may_pass) == ("FG0302", True)


def test_a_look_that_breaks_off_is_taken_again(path: Path) -> None:
    with scripted(path, [PING, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1", json_answer(b"7")]):
        assert Engine(str(path)).get("/x") == 7


def test_silence_has_an_end(path: Path) -> None:
    done = threading.Event()

    def silent(_: socket.socket) -> None:
        done.wait(30)

    with scripted(path, [PING, silent]):
        with pytest.raises(OperationFailed, match="no answer in time"):
            Engine(str(path)).post("/x", timeout_s=0.2)
        done.set()


def test_a_stream_ends_when_it_is_cancelled(path: Path) -> None:
    cancel, seen = threading.Event(), []

    def drip(peer: socket.socket) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\none")
        assert peer.recv(1) == b"", "the client hangs up"

    with scripted(path, [PING, drip]):
        engine = Engine(str(path))
        with engine.stream(Request("GET", "/x", cancel=cancel)) as pieces:
            for piece in pieces:
                seen.append(piece)
                cancel.set()
    assert seen == [b"one"]


def test_a_stream_cancelled_before_its_head_is_empty(path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    request = Request("POST", "/x", cancel=cancel)
    with scripted(path, [PING, lambda _: None]), Engine(str(path)).stream(request) as pieces:
        assert list(pieces) == []


def test_an_error_of_the_reader_is_its_own(path: Path) -> None:
    """A broken pipe on the terminal is not the engine's fault."""
    with (
        scripted(path, [PING, json_answer(b"1")]),
        pytest.raises(BrokenPipeError),
        Engine(str(path)).stream(Request("GET", "/x")),
    ):
        raise BrokenPipeError


def test_no_socket_says_how_to_start_one(path: Path) -> None:
    with pytest.raises(ToolMissing) as missing:
        Engine(str(path)).ping()
    assert missing.value.code == "FG0301"
    assert missing.value.why == "there is no such socket"
    assert "systemctl start docker" in missing.value.hint


def test_a_dead_socket_says_that_nobody_listens(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    with pytest.raises(ToolMissing) as missing:
        Engine(str(path)).ping()
    assert missing.value.why == "nobody listens on it"


def test_a_socket_that_is_not_ours_to_use_names_the_group(path: Path) -> None:
    with scripted(path, []):
        path.chmod(0)
        with as_nobody(), pytest.raises(ToolMissing, match="permission denied") as missing:
            Engine(str(path)).ping()
    assert "group" in missing.value.hint


def test_an_engine_that_restarts_is_waited_for(path: Path) -> None:
    with scripted(path, [PING, json_answer(b"1")]):
        engine = Engine(str(path))
        assert engine.get("/x") == 1
    back: list[object] = []
    asking = threading.Thread(target=lambda: back.append(engine.get("/x")))
    asking.start()
    with scripted(path, [json_answer(b"2")]):
        asking.join(30)
    assert back == [2]


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_any_answer_is_a_value_or_a_known_error(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes
) -> None:
    path = tmp_path_factory.mktemp("e") / "s"
    with scripted(path, [PING, b"HTTP/1.1 " + noise]), suppress(OperationFailed, EngineRefused):
        Engine(str(path)).post("/x")
