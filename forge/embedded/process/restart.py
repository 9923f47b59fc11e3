"""The law of restarts: whether a process that ended is started again, and after how long.

    policy            exit 0        other exit
    no                completed     failed
    on-failure        completed     again
    always            again         again
    unless-stopped    again         again

`again` waits: the first restart shortly, each further one twice as long up to a cap, until a run has
lasted long enough to count as stable. Pure: no clock.
"""

from __future__ import annotations

from forge.embedded.process.spec import Backoff, Phase, Restart


def restarts(policy: Restart, exit_code: int) -> bool:
    """Whether the policy starts it again after this exit."""
    match policy:
        case Restart.NO:
            return False
        case Restart.ON_FAILURE:
            return exit_code != 0
        case Restart.ALWAYS | Restart.UNLESS_STOPPED:
            return True


def ended(exit_code: int) -> Phase:
    """The phase of a process that is not started again."""
    return Phase.COMPLETED if exit_code == 0 else Phase.FAILED


def in_a_row(before: int, ran_s: float, backoff: Backoff) -> int:
    """How many quick exits in a row, the one after ran_s seconds included when it was quick."""
    return 0 if ran_s >= backoff.stable_s else before + 1


def delay_s(quick_exits: int, backoff: Backoff) -> float:
    """Seconds to wait before the next start. quick_exits: as in_a_row counts them."""
    doublings = min(max(quick_exits - 1, 0), 32)  # 2**32 is over any cap
    return float(min(backoff.first_s * 2**doublings, backoff.cap_s))
