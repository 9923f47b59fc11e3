"""One node spoken to by hand: what it is told, and what of its outputs a test looks at."""

from __future__ import annotations

import random

from grid.swim.codec import decode, encode
from grid.swim.members import Claim, State
from grid.swim.messages import (
    Event,
    Kind,
    Message,
    Notify,
    Output,
    SendTo,
)
from grid.swim.node import Memory, SwimNode
from grid.swim.tuning import Tuning, tuned

TUNING = tuned(1.0, 5.0)
EAST = Claim("east", "east:1", 11, 1)
WEST = Claim("west", "west:1", 22, 1)


def node(tuning: Tuning = TUNING, memory: Memory | None = None) -> SwimNode:
    made = SwimNode("here", "here:1", 99, random.Random(1), tuning, memory or Memory(0, {}, ()))
    made.join([], 0.0)
    return made


def message(kind: Kind, sender: Claim = EAST, **fields: object) -> bytes:
    return encode(Message(kind, **{"seq": 0, "digest": 0, **fields}, sender=sender))  # type: ignore[arg-type]


def sent(outputs: list[Output], kind: Kind) -> list[tuple[str, Message]]:
    decoded = [(o.address, decode(o.text)) for o in outputs if isinstance(o, SendTo)]
    return [(address, m) for address, m in decoded if isinstance(m, Message) and m.kind is kind]


def events(outputs: list[Output]) -> list[Event]:
    return [output.event for output in outputs if isinstance(output, Notify)]


def here(incarnation: int, state: State, instance: int = 99) -> Claim:
    return Claim("here", "here:1", instance, incarnation, state)


def woken(subject: SwimNode, outputs: list[Output], until: float) -> list[Output]:
    """These, and all outputs of ticking whenever asked to up to an instant."""
    gathered = list(outputs)
    while subject.wake_at is not None and subject.wake_at <= until:
        gathered += subject.tick(subject.wake_at)
    return gathered
