"""`service logs`: the lines of several services as one stream, each once.

Without --follow the kept lines are merged by time. With it every service is followed by a thread
of its own, over restarts and over being made anew, until it is no longer part of the lab.
"""

from __future__ import annotations

import heapq
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forge.app import lab as labs
from forge.app.lab import Lab
from forge.app.services import Found, choose, look
from forge.errors import ForgeError, OperationFailed
from forge.plan.ports import Cancel, Host, LogLine
from forge.plan.values import Key, Observed, RecordPhase

_MANY_FAILURES = 5
"""A service being removed and made anew answers with errors for a moment; a broken one for good."""

_GONE_S = 2.0
"""How long a service must be gone, and not in the making, until a follower believes it."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """tail: last lines a service, None for all. since: Unix seconds."""

    names: tuple[str, ...] = ()
    tail: int | None = None
    since: float | None = None
    follow: bool = False


def logs(
    lab: Lab, request: LogRequest, cancel: Cancel, open_host: labs.HostOpener = labs.open_host
) -> Iterator[LogLine]:
    """The lines, oldest first; a follower's as they come. Ends when there is nothing more to come
    or cancel is set. Raises UsageError for a service that is not here."""
    found = look(lab, open_host)
    things = choose(found, request.names)
    if not request.follow:
        sources = [found.host.logs(t, tail=request.tail, since=request.since) for t in things]
        yield from heapq.merge(*sources, key=lambda line: line.at)
        return
    yield from _follow(lab, found, things, request, cancel)


def longest_name(lab: Lab, names: Sequence[str], open_host: labs.HostOpener = labs.open_host) -> int:
    """The width of the widest prefix, so that the lines stand in one column."""
    return max((len(t.key.name) for t in choose(look(lab, open_host), names)), default=0)


def _follow(
    lab: Lab, found: Found, things: Sequence[Observed], request: LogRequest, cancel: Cancel
) -> Iterator[LogLine]:
    lines: queue.Queue[LogLine | ForgeError | None] = queue.Queue(maxsize=1000)
    for thing in things:
        follower = _Follower(lab, found.host, thing, request, cancel, lines)
        threading.Thread(target=follower.run, name=f"logs {thing.key}", daemon=True).start()
    open_followers = len(things)
    while open_followers and not cancel.is_set():
        try:
            item = lines.get(timeout=0.2)
        except queue.Empty:
            continue
        if item is None:
            open_followers -= 1
        elif isinstance(item, ForgeError):
            raise item
        else:
            yield item


class _Seen:
    """The lines of the latest instant so far, so that reading on from it repeats none of them."""

    def __init__(self) -> None:
        self.at: float | None = None
        self._there: list[LogLine] = []

    def add(self, line: LogLine) -> None:
        if line.at != self.at:
            self.at, self._there = line.at, []
        self._there.append(line)

    def is_new(self, line: LogLine) -> bool:
        return self.at is None or line.at > self.at or (line.at == self.at and line not in self._there)


class _Follower:
    """Follows one service for as long as it is part of the lab, whatever becomes of its runs."""

    def __init__(
        self,
        lab: Lab,
        host: Host,
        thing: Observed,
        request: LogRequest,
        cancel: Cancel,
        lines: queue.Queue[LogLine | ForgeError | None],
    ) -> None:
        self._lab = lab
        self._host = host
        self._thing = thing
        self._request = request
        self._cancel = cancel
        self._lines = lines
        self._last = _Seen()

    def run(self) -> None:
        try:
            self._run()
        except ForgeError as error:
            self._put(error)
        finally:
            self._put(None)

    def _run(self) -> None:
        tail, since, failures = self._request.tail, self._request.since, 0
        thing: Observed | None = self._thing
        while thing is not None and not self._cancel.is_set():
            seen = _Seen()
            try:
                for line in self._host.logs(thing, tail=tail, since=since, follow=True, cancel=self._cancel):
                    if self._last.is_new(line):
                        seen.add(line)
                        self._put(line)
            except OperationFailed:
                failures = 0 if seen.at else failures + 1
                if failures == _MANY_FAILURES:
                    raise
                self._cancel.wait(0.1)
            self._last = seen if seen.at else self._last
            tail, since = None, self._last.at or since
            thing = self._successor(thing)

    def _put(self, item: LogLine | ForgeError | None) -> None:
        while not self._cancel.is_set():
            try:
                self._lines.put(item, timeout=0.2)
            except queue.Full:
                continue
            return

    def _successor(self, gone: Observed) -> Observed | None:
        """The service to follow on: itself while it is there, or its like made anew; None once it
        is clear that there will be none."""
        waited = 0.0
        while waited < _GONE_S and not self._cancel.wait(0.1):
            record = self._record(gone.key)
            again = self._host.inspect_service(gone.key, record[1]) if record else None
            if again is not None:
                return again
            in_the_making = record is not None and record[0] is not RecordPhase.CREATED
            waited = 0.0 if in_the_making else waited + 0.1
        return None

    def _record(self, key: Key) -> tuple[RecordPhase, str] | None:
        state = self._lab.store.read()
        record = state.resources.get(key) if state is not None else None
        return (record.phase, record.name) if record is not None else None
