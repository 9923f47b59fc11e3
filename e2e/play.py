"""Plays scenarios on a lab, with traffic through the edge and an eye on every overlay all the while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from e2e.lab import US, Lab
from e2e.scenario import Done, Mark, Played, Run, Scenario, Step, play
from e2e.traffic import Sent, Traffic, located
from e2e.watch import Noted, Watch

Tell = Callable[[Scenario, Step, Done | None], None]


@dataclass(frozen=True, slots=True)
class Record:
    """One playing with all that was seen beside it. sent: traffic, with the cluster that answered each.
    noted: revisions. at, ended_at: Unix seconds."""

    played: Played
    sent: tuple[Sent, ...]
    noted: tuple[Noted, ...]
    at: float
    ended_at: float

    @property
    def marks(self) -> tuple[Mark, ...]:
        return self.played.marks


def play_all(
    lab: Lab, scenarios: Sequence[Scenario], tell: Tell, cancel: threading.Event
) -> tuple[Record, ...]:
    """Every scenario in its order; a failure of one does not keep the next from being played."""
    records = []
    for scenario in scenarios:
        if cancel.is_set():
            break
        records.append(_record(lab, scenario, tell, cancel))
    return tuple(records)


def _record(lab: Lab, scenario: Scenario, tell: Tell, cancel: threading.Event) -> Record:
    traffic, watch, begun = Traffic(lab), Watch(lab), time.time()
    run = Run(lab, cancel=cancel)
    with watch.looking(), traffic.flowing():
        played = play(scenario, run, lambda step, done: tell(scenario, step, done))
    try:
        sent = located(traffic.sent, lab.log(f"grid-edge-{US}", int(time.time() - begun) + 5))
    except Exception:  # noqa: BLE001 - a lab that fell over has no log; what was sent is known anyway
        sent = traffic.sent
    return Record(played, sent, watch.noted, begun, time.time())
