"""A client's TLS socket that is closed however its handshake ends.

CPython (3.11.5 to 3.14) leaves a socket open where the peer resets the connection between `connect` and
the handshake: `SSLSocket._create` finds it not connected, reads once to look, and passes the reset on
without closing what it has just taken over from its caller. Nobody holds it then but the traceback, and
it ends as a ResourceWarning at some later line.
"""

from __future__ import annotations

import errno
import ssl


class ClosedWhenRefused(ssl.SSLSocket):
    """To be set as a context's `sslsocket_class`."""

    def getpeername(self) -> object:
        """The peer's address. Raises OSError; the socket is closed then, since `_create` asks this
        first and no TLS can come of a socket without a peer."""
        try:
            return super().getpeername()
        except OSError as error:
            self.close()
            if error.errno == errno.ENOTCONN:
                raise ConnectionResetError(errno.ECONNRESET, "the connection was reset") from error
            raise


def closing(context: ssl.SSLContext) -> ssl.SSLContext:
    """*context*, whose sockets are of that kind from now on."""
    context.sslsocket_class = ClosedWhenRefused
    return context
