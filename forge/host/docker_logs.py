"""A container's log lines, each once, over all its starts.

An engine ends its own follow when the container ends, so ours looks whether the container was
started again and takes up where it left off: from a little before the last line, dropping what was
given already. An engine that restarts is waited for in the same way.

    frame      one write of the log: stream (1 byte), 000, length (4), then `TIME TEXT`
    line       a text longer than 16 KiB comes in several frames, all but the last without newline
    run        cut at each end of the container that the engine remembers (docker_events.py)
    order      by time; a follower's lines as they come, which may differ by microseconds between the
               two streams
"""

from __future__ import annotations

import heapq
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from forge.errors import OperationFailed
from forge.host import docker_errors, docker_events
from forge.host.docker_events import End
from forge.host.docker_read import nanoseconds
from forge.host.engine import Engine, EngineRefused
from forge.host.unix_http import Request
from forge.plan.ports import Cancel, LogLine
from forge.plan.values import Observed

Text = tuple[int, str, str]
"""(Unix nanoseconds, `stdout` or `stderr`, one line)."""

_STREAMS = {1: "stdout", 2: "stderr"}
_HEADER = 8
_OVERLAP_NS = 1_000_000_000
"""Lines of the two streams may be written a little out of their times' order."""

_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Wanted:
    """tail: last lines, None for all. since: Unix seconds. follow: go on until it is removed."""

    tail: int | None = None
    since: float | None = None
    follow: bool = False


def lines(engine: Engine, observed: Observed, wanted: Wanted, cancel: Cancel | None) -> Iterator[LogLine]:
    """Ends at the end of the log; a follower's when the container is removed or cancel is set."""
    cancel = cancel or threading.Event()
    reading = Reading(wanted)
    while not cancel.is_set():
        try:
            if reading.is_due(engine, observed):
                yield from _attach(engine, observed, reading, cancel)
        except EngineRefused as refused:
            if refused.status == 404:
                return
            if refused.status != 409:  # it is being removed right now: the next look finds it gone
                what = f"cannot read the log of {observed.key}"
                raise docker_errors.refused_by_engine(what, refused) from refused
        except OperationFailed:  # the engine broke off: it may be back in a moment
            if not wanted.follow:
                raise
            reading.seen = None
        if not wanted.follow or cancel.wait(_POLL_S):
            return


@dataclass(slots=True)
class Reading:
    """How far one reader has come. seen: when the container was last started and what it did then,
    at the last look; None before the first. floor, since: nanoseconds; nothing before floor is
    wanted, and nothing before since need be read again. recent: given lines that are after since."""

    wanted: Wanted
    seen: tuple[str, str] | None = None
    attached: bool = False
    floor: int = 0
    since: int = 0
    recent: set[Text] = field(default_factory=set)
    order: deque[Text] = field(default_factory=deque)

    def is_due(self, engine: Engine, observed: Observed) -> bool:
        """Whether there may be lines that were not there at the last look."""
        state = engine.get(f"/containers/{observed.id}/json")["State"]
        now = (str(state.get("StartedAt", "")), str(state["Status"]))
        due = now != self.seen or now[1] == "running"
        self.seen = now
        return due

    def query(self) -> dict[str, str | int | bool]:
        """What to ask for now. The first time, `tail` sets where the reading begins."""
        query: dict[str, str | int | bool] = {"stdout": True, "stderr": True, "timestamps": True}
        query["follow"] = self.wanted.follow
        if self.attached or self.wanted.tail is None:
            query["tail"] = "all"
        else:
            query["tail"] = self.wanted.tail
        since = self.since if self.attached else int((self.wanted.since or 0) * 1e9)
        query["since"] = f"{since // 10**9}.{since % 10**9:09}"
        return query

    def begin(self, now: int) -> None:
        if not self.attached:
            self.attached = True
            self.floor = int((self.wanted.since or 0) * 1e9)
            if self.wanted.tail == 0:
                self.floor = now
            self.since = self.floor

    def take(self, line: Text) -> bool:
        """False for a line that is not wanted or was given before."""
        if line[0] < self.floor or line in self.recent:
            return False
        if not self.order and self.wanted.tail is not None:
            self.floor = max(self.floor, line[0])
        self.recent.add(line)
        self.order.append(line)
        self.since = max(self.since, line[0] - _OVERLAP_NS)
        while self.order[0][0] < self.since:
            self.recent.discard(self.order.popleft())
        return True


def _attach(engine: Engine, observed: Observed, reading: Reading, cancel: Cancel) -> Iterator[LogLine]:
    query = reading.query()
    reading.begin(time.time_ns())
    ends = docker_events.ends(engine, observed.id)
    request = Request("GET", f"/containers/{observed.id}/logs", query, cancel=cancel)
    with engine.stream(request) as pieces:
        written = texts(frames(pieces))
        for line in written if reading.wanted.follow else in_order(written):
            if reading.take(line):
                at, stream, text = line
                yield LogLine(observed.key.name, at / 1e9, stream, text, _run(observed.id, ends, at))


def _run(identity: str, ends: Sequence[End], at: int) -> str:
    """The container and its last end before the line."""
    before = bisect_right(ends, at, key=lambda end: end[0])
    return f"{identity[:12]}+{ends[before - 1][0]}" if before else identity[:12]


def in_order(written: Iterable[Text]) -> Iterator[Text]:
    """The lines by time, where each is at most a second out of its place."""
    held: list[tuple[int, int, Text]] = []
    newest = 0
    for number, line in enumerate(written):
        heapq.heappush(held, (line[0], number, line))
        newest = max(newest, line[0])
        while held[0][0] < newest - _OVERLAP_NS:
            yield heapq.heappop(held)[2]
    while held:
        yield heapq.heappop(held)[2]


def frames(pieces: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """(stream, payload) of each frame, wherever the pieces are cut; a cut-off last one is dropped."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) >= _HEADER:
            end = _HEADER + int.from_bytes(buffer[4:_HEADER], "big")
            if len(buffer) < end:
                break
            yield _STREAMS.get(buffer[0], "stdout"), bytes(buffer[_HEADER:end])
            del buffer[:end]


def texts(written: Iterable[tuple[str, bytes]]) -> Iterator[Text]:
    """The lines of the frames, long ones put together again; the time is that of the beginning."""
    begun: dict[str, tuple[int, bytes]] = {}
    for stream, payload in written:
        word, _, text = payload.partition(b" ")
        at, before = begun.pop(stream, (nanoseconds(word.decode("latin-1")) or 0, b""))
        if text.endswith(b"\n"):
            yield at, stream, (before + text[:-1]).decode("utf-8", "replace")
        else:
            begun[stream] = (at, before + text)
    for stream, (at, text) in begun.items():
        yield at, stream, text.decode("utf-8", "replace")
