"""Both ends meet whatever the path, an error crosses whole, and each end knows who the other is."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from forge.embedded.process import wire
from forge.errors import ForgeError, NotOurs, OperationFailed


@pytest.fixture
def files(tmp_path: Path) -> wire.Files:
    folder = tmp_path / ("deep" * 30)
    folder.mkdir()
    return wire.Files(folder)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            OperationFailed("FG0503", "what", why="why", hint="hint", changed=False, detail=("a", "b")),
            id="all of its parts",
        ),
        pytest.param(NotOurs("FG0508", "what"), id="its class"),
    ],
)
def test_an_error_crosses_whole(error: ForgeError) -> None:
    crossed = wire.raised(json.loads(json.dumps(wire.failure(error))))
    assert type(crossed) is type(error)
    assert vars(crossed) == vars(error)
    assert str(crossed) == str(error)


def test_both_ends_meet_on_a_path_too_long_for_a_socket(files: wire.Files) -> None:
    assert len(str(files.socket)) > 107
    with wire.listen(files) as server:
        peer = wire.connect(files, 5)
        assert peer is not None
        with peer, server.accept()[0] as other:
            assert wire.peer_of(other) == wire.peer_of(peer) == (os.getpid(), os.geteuid())
        assert wire.listener_pid(files) == os.getpid()
        assert files.socket.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("left", ["nothing", "a dead socket", "no folder"])
def test_nobody_listening_is_none(files: wire.Files, left: str) -> None:
    if left == "a dead socket":
        wire.listen(files).close()
    if left == "no folder":
        files.folder.rmdir()
    assert wire.connect(files, 5) is None
    assert wire.listener_pid(files) is None


def test_a_dead_socket_is_replaced(files: wire.Files) -> None:
    wire.listen(files).close()
    with wire.listen(files):
        peer = wire.connect(files, 5)
        assert isinstance(peer, socket.socket)
        peer.close()


def test_no_descriptor_is_left_open(files: wire.Files) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with wire.listen(files):
        assert wire.listener_pid(files) == os.getpid()
    assert wire.connect(files, 5) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before
