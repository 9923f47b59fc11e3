"""A connection that is reset before its handshake: an error, and nothing left open."""

from __future__ import annotations

import gc
import os
import ssl

import pytest

from forge.host.tls_socket import closing
from tests.kit.reset import refused_socket


def context() -> ssl.SSLContext:
    return closing(ssl.create_default_context())


class TestReset:
    def test_is_an_error_and_the_socket_is_closed(self) -> None:
        plain = refused_socket()
        descriptor = plain.fileno()
        with pytest.raises(ConnectionResetError):
            context().wrap_socket(plain, server_hostname="api.grid.test")
        gc.collect()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
