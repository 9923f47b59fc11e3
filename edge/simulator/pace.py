"""How long things take: the latency model, and waiting by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from edge.simulator import tokens
from edge.simulator.faults import Faults
from edge.simulator.load import Load, slower
from edge.simulator.metrics import SimMetrics
from edge.simulator.seen import Seen
from edge.simulator.settings import Settings


@dataclass(frozen=True, slots=True)
class Pace:
    settings: Settings
    faults: Faults
    load: Load
    metrics: SimMetrics
    now: Callable[[], float]

    async def first_token(self, seen: Seen, uncached: int) -> None:
        """Waits for the prompt to be read; *uncached* tokens of it cost extra."""
        base = self.settings.ttft_ms / 1e3 + uncached * self.settings.prefill_us / 1e6
        await asyncio.sleep(base * self.stretch(seen.request_id, 0))
        seen.first_token_s = self.now() - seen.started
        self.metrics.first_token.observe(seen.first_token_s, str(seen.model))

    async def next_tokens(self, seen: Seen, index: int, count: int = 1) -> None:
        """Waits for *count* tokens from the *index*-th on (1 is the second token of an answer)."""
        seconds = self.settings.itl_ms / 1e3 * self.stretch(seen.request_id, index)
        await asyncio.sleep(seconds * count)
        self.metrics.inter_token.observe(seconds, str(seen.model))

    def stretch(self, request_id: str, step: int) -> float:
        """By what a step's time is multiplied: load, the slow fault, and jitter that is the same next
        time."""
        fault = self.faults.present("slow", self.now())
        jitter = tokens.rng(self.settings.seed, "pace", request_id, str(step)).uniform(-1, 1)
        return (
            (1 + self.settings.jitter * jitter)
            * slower(self.load.fullness, self.settings.load_factor)
            * (fault.factor if fault else 1.0)
        )
