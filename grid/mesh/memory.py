"""What a node remembers, as text: for a ConfigMap, written with compare-and-swap by whoever runs the mesh.

    {"version": 1, "incarnation": 7, "revisions": {"state": 41}, "peers": ["10.0.0.1:7946"]}

Losing it costs little: a node without memory is outbid once by what others remember of it, and then goes on.
So what cannot be read is nothing remembered, and no error.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from grid.mesh.addresses import split
from grid.swim.codec import MAX_ADDRESS, MAX_COUNT
from grid.swim.messages import Lane
from grid.swim.node import NOTHING, Memory
from grid.swim.tuning import MAX_ADDRESSES

VERSION: Final = 1
KEY: Final = "memory.json"
"""Of the ConfigMap's data."""

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]


class _Memory(msgspec.Struct, forbid_unknown_fields=False):
    """Unknown fields are ignored: an older operator may follow a newer one."""

    version: int
    incarnation: Count
    revisions: dict[str, Count]
    peers: list[str]


def write_memory(memory: Memory) -> str:
    """The same text for equal memories."""
    revisions = {lane.name.lower(): revision for lane, revision in sorted(memory.revisions.items())}
    return msgspec.json.encode(_Memory(VERSION, memory.incarnation, revisions, list(memory.peers))).decode()


def read_memory(text: str) -> Memory:
    """Nothing where the text is none of ours. Never raises, whatever the text."""
    try:
        read = msgspec.json.decode(text, type=_Memory)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return NOTHING
    if read.version != VERSION:
        return NOTHING
    lanes = {lane.name.lower(): lane for lane in Lane}
    peers = [peer for peer in read.peers if len(peer) <= MAX_ADDRESS and split(peer) is not None]
    revisions = {lanes[name]: revision for name, revision in read.revisions.items() if name in lanes}
    return Memory(read.incarnation, revisions, tuple(peers[:MAX_ADDRESSES]))
