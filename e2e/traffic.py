"""Steady traffic through an edge while faults happen: one request after the other, each accounted for.

A few connections ask at a fixed pace. Which provider answered is not asked of the public response,
which says nothing of it, but joined later by the request's id from the edge's decision log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from e2e.lab import US, Lab


@dataclass(frozen=True, slots=True)
class Sent:
    """One request. at: Unix seconds when it was sent. status: 0 where there was no answer. cluster: the
    provider gateway that answered, empty while that is not known. attempts: how many were tried."""

    at: float
    took_s: float
    status: int
    request_id: str
    error: str = ""
    cluster: str = ""
    attempts: int = 1

    @property
    def ok(self) -> bool:
        return self.status == 200


@dataclass
class Traffic:
    """per_second: over all connections."""

    lab: Lab
    edge: str = US
    connections: int = 4
    per_second: float = 40.0
    session: str | None = None
    _sent: list[Sent] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def sent(self) -> tuple[Sent, ...]:
        return tuple(self._sent)

    def since(self, at: float) -> tuple[Sent, ...]:
        """Requests sent at or after an instant."""
        return tuple(sent for sent in self._sent if sent.at >= at)

    @contextmanager
    def flowing(self) -> Iterator[Traffic]:
        threads = [
            threading.Thread(target=self._ask, args=(i,), name=f"traffic {i}", daemon=True)
            for i in range(self.connections)
        ]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(30)

    def _ask(self, number: int) -> None:
        client = self.lab.client(self.edge, timeout_s=10.0)
        pause = self.connections / self.per_second
        due = time.monotonic() + pause * number / self.connections
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due = max(due + pause, time.monotonic() - pause)
            at = time.time()
            answer = client.chat(session=self.session)
            self._sent.append(Sent(at, answer.took_s, answer.status, answer.request_id, answer.error))
        client.connection.close()


def located(sent: tuple[Sent, ...], decisions: list[dict[str, Any]]) -> tuple[Sent, ...]:
    """The same requests with the cluster that answered each, from the edge's decision log."""
    by_id = {line["request_id"]: line for line in decisions if "request_id" in line}
    return tuple(replace(s, **_decided(by_id.get(s.request_id, {}))) for s in sent)


def _decided(line: Mapping[str, Any]) -> dict[str, Any]:
    attempts = line.get("attempts")
    count = len(attempts) if isinstance(attempts, list) else int(attempts or 1)
    return {"cluster": str(line.get("cluster") or ""), "attempts": count}
