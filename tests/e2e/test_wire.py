"""The lab's client: a gateway that dies under it leaves nothing open."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from e2e.wire import Endpoint
from tests.kit.certs import Authority
from tests.kit.reset import refused_socket


def test_a_connection_reset_before_its_handshake_is_closed(tmp_path: Path) -> None:
    context = Endpoint("127.0.0.1", 1, "api.grid.test", Authority(tmp_path).path).context()
    assert context is not None
    plain = refused_socket()
    descriptor = plain.fileno()
    with pytest.raises(ConnectionResetError):
        context.wrap_socket(plain, server_hostname="api.grid.test")
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
