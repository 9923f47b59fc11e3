"""How full the simulated server is, and how slow that makes it. Pure: no clock, nothing waits here.

A request is *offered*, and then running, waiting or refused; when one finishes, the first of those waiting
runs. Prompt and answer hold KV blocks while a request runs; prompts leave their blocks in a prefix cache when
it ends.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Literal

Place = Literal["running", "waiting", "refused"]


@dataclass(slots=True)
class Pins:
    """Values a test makes the metrics show, whatever the load is. None: show what is."""

    queue: int | None = None
    kv: float | None = None


@dataclass(slots=True)
class Load:
    """capacity: requests run at once. room: waiting beyond them. kv_blocks, block_tokens: the KV cache's
    size."""

    capacity: int
    room: int
    kv_blocks: int
    block_tokens: int
    pins: Pins = field(default_factory=Pins)
    queries: int = 0
    hits: int = 0
    _running: dict[int, int] = field(default_factory=dict)
    _waiting: deque[int] = field(default_factory=deque)
    _prefixes: OrderedDict[int, None] = field(default_factory=OrderedDict)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._waiting) if self.pins.queue is None else self.pins.queue

    @property
    def kv(self) -> float:
        """Share of KV blocks in use by running requests, 0..1."""
        if self.pins.kv is not None:
            return self.pins.kv
        return min(1.0, sum(self._running.values()) / self.kv_blocks)

    @property
    def fullness(self) -> float:
        """Share of the capacity in use, 0..1; what `load_factor` is scaled by."""
        return min(1.0, len(self._running) / self.capacity) if self.capacity else 1.0

    def offer(self, request: int) -> Place:
        if len(self._running) < self.capacity and not self._waiting:
            self._running[request] = 0
            return "running"
        if len(self._waiting) >= self.room:
            return "refused"
        self._waiting.append(request)
        return "waiting"

    def hold(self, request: int, tokens: int) -> None:
        """*request*, running, now needs room for so many tokens."""
        self._running[request] = -(-tokens // self.block_tokens)

    def done(self, request: int) -> tuple[int, ...]:
        """Takes *request* out, wherever it is; gives back those that run from now on."""
        self._running.pop(request, None)
        if request in self._waiting:
            self._waiting.remove(request)
        return self.advance()

    def advance(self) -> tuple[int, ...]:
        """Lets as many waiting requests run as the capacity, which may have changed, has room for."""
        started = []
        while self._waiting and len(self._running) < self.capacity:
            request = self._waiting.popleft()
            self._running[request] = 0
            started.append(request)
        return tuple(started)

    def look_up(self, blocks: list[int]) -> int:
        """Tokens of a prompt that are cached; its blocks are cached from now on, oldest ones make room."""
        cached = 0
        for block in blocks:
            if block not in self._prefixes:
                break
            cached += 1
        for block in blocks:
            self._prefixes[block] = None
            self._prefixes.move_to_end(block)
        while len(self._prefixes) > self.kv_blocks:
            self._prefixes.popitem(last=False)
        self.queries += len(blocks) * self.block_tokens
        self.hits += cached * self.block_tokens
        return cached * self.block_tokens


def slower(fullness: float, load_factor: float) -> float:
    """By what all times are multiplied: 1 on an idle server, *load_factor* on a full one."""
    return 1.0 + (load_factor - 1.0) * fullness
