"""What one client connection may cost: bounds in bytes, counts and seconds, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a listener. The defaults suit a public edge.

    head_bytes, fields: a request's head; as large as nginx (8-32 KiB) and Node (16 KiB, 2,000) let pass, with
    fewer fields than any of them since real clients send about twenty.
    target_bytes: method, path and query; RFC 9112, 3 asks for at least 8,000.
    body_bytes: the outermost bound of a body; filters tighten it. A body is held whole, since its model must
    be known before it can be routed, and failing over needs it again.
    head_s: from the first byte of a head to its last. body_idle_s: between two reads of a body; body_s: for
    the whole of it. Together they bound slow senders.
    keepalive_s: a connection without a request. requests: on one connection, before it is closed so that load
    spreads again after a change.
    stall_s: a client that takes nothing of its answer.
    pipelined: requests read ahead; those after them are dropped and the connection ends after the answers.
    linger_s: how long what a refused client still sends is read and dropped, so that it can read its answer.
    half_close: what a client's end of stream means while it is owed an answer: False, it has gone and its
    work is cancelled at once (completions cost money); True, answer and then close.
    """

    head_bytes: int = 16 * 1024
    fields: int = 100
    target_bytes: int = 8 * 1024
    body_bytes: int = 10 * 1024 * 1024
    head_s: float = 10.0
    body_idle_s: float = 10.0
    body_s: float = 120.0
    keepalive_s: float = 75.0
    requests: int = 10_000
    stall_s: float = 60.0
    pipelined: int = 32
    linger_s: float = 1.0
    half_close: bool = False
