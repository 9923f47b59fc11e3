"""How a broken event stream ends: with an error event, never with what looks like a clean end.

A client must not take half an answer for a whole one. Beside the event, the body is left without its last
chunk, so that clients which look only at HTTP see the break too.
"""

from __future__ import annotations

from typing import Final

_DONE: Final = b"data: [DONE]"


def is_event_stream(content_type: bytes | None) -> bool:
    """Whether a reply with this Content-Type is a stream of server-sent events."""
    return content_type is not None and content_type.lstrip().lower().startswith(b"text/event-stream")


def error_event(data: bytes, last_piece: bytes) -> bytes:
    """The bytes to send after *last_piece*, the last ones of the broken stream, with *data* (one line) as the
    event's data; nothing when the stream had already said [DONE].

    An event cut in the middle is ended first, so that the error is an event of its own.
    """
    if _DONE in last_piece:
        return b""
    ended = not last_piece or last_piece.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))
    return (b"" if ended else b"\n\n") + b"event: error\ndata: " + data + b"\n\n"
