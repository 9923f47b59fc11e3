"""Clients that ask without a pause, and remember how each request went and when it began."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from tests.edge.proof.lab import Answer, Lab


@dataclass(frozen=True)
class Request:
    """began_at, ended_at: monotonic seconds. answer: None when the connection to the edge broke."""

    began_at: float
    ended_at: float
    answer: Answer | None

    @property
    def ok(self) -> bool:
        return self.answer is not None and self.answer.status == 200


@dataclass
class Load:
    """requests: those that have ended, in that order."""

    requests: list[Request] = field(default_factory=list)

    def failed(self, since: float = 0.0) -> list[Request]:
        """Those that began at or after *since* and did not end well."""
        return [request for request in self.requests if request.began_at >= since and not request.ok]

    def outcomes(self) -> Counter[object]:
        return Counter(request.answer and request.answer.status for request in self.requests)

    async def more(self, count: int) -> None:
        """Until *count* more requests that began from now on have ended."""
        began_at = time.monotonic()
        deadline = began_at + 60
        while sum(request.began_at >= began_at for request in self.requests) < count:
            assert time.monotonic() < deadline, f"too few requests: {len(self.requests)}"
            await asyncio.sleep(0.005)


@asynccontextmanager
async def loaded(lab: Lab, clients: int = 8, *, sessions: bool = True) -> AsyncIterator[Load]:
    """Under load inside the block. sessions: every second client has one of its own."""
    load, stop = Load(), asyncio.Event()

    async def client(number: int) -> None:
        session = f"session-of-client-{number}" if sessions and number % 2 else None
        while not stop.is_set():
            began_at = time.monotonic()
            try:
                answer = await lab.ask(session)
            except httpx.TransportError:
                answer = None
            load.requests.append(Request(began_at, time.monotonic(), answer))

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(client(number))
        try:
            yield load
        finally:
            stop.set()
