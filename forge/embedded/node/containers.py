"""One container: what to do with it next, and how it stands in the pod's status. Pure.

    not made ──► running ──► ended ──policy──► (back-off) ──► running
                                └────────────► stays ended

The supervisor runs every container without a policy of its own: restarts are decided here, where the
pod's policy, its probes and its deletion are known. A run that a dead daemon left behind counts as
killed, with 137.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from forge.embedded.api.values import Json
from forge.embedded.process import restart
from forge.embedded.process.spec import Backoff, Phase, Status

BACKOFF = Backoff(first_s=0.5, cap_s=60.0, stable_s=10.0)
"""A lab wants its crash loops quick (kubelet: at once, then 10 s doubling to 5 min)."""

RETRY_S = 3.0
"""Between two looks at an image that has no process, or a program that could not start."""

KILLED = 137
_ENDED = (Phase.COMPLETED, Phase.FAILED, Phase.STOPPED, Phase.BROKEN)


@dataclass(slots=True)
class Memory:
    """What the node knows of a container beyond its process.

    ready, started: by its probes. last: the state in which the run before ended. seen: the run whose
    end was taken notice of. image: of this run. quick: quick exits in a row. due_at: not started
    before, Unix seconds. waiting: (reason, message) while it cannot be started. reason: why the node
    itself ended this run. said: the last warning of each reason.
    """

    ready: bool = False
    started: bool = False
    last: Json | None = None
    seen: int = 0
    image: str = ""
    quick: int = 0
    due_at: float = 0.0
    waiting: tuple[str, str] = ("ContainerCreating", "")
    reason: str = ""
    said: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Next:
    """start: now. wait_s: look again after so long, None for when something happens."""

    start: bool = False
    wait_s: float | None = None


def is_running(status: Status | None) -> bool:
    return status is not None and status.phase is Phase.RUNNING


def has_ended(status: Status | None) -> bool:
    """Whether it ran and does not any more."""
    return status is not None and status.phase in _ENDED and status.run > 0


def has_succeeded(status: Status | None) -> bool:
    return status is not None and has_ended(status) and exit_code(status) == 0


def exit_code(status: Status) -> int:
    if status.phase is Phase.BROKEN or status.exit_code is None:
        return KILLED
    return status.exit_code


def is_over(status: Status | None, policy: str) -> bool:
    """Whether it has ended for good under the pod's restart policy."""
    if status is None or not has_ended(status):
        return False
    return policy == "Never" or (policy == "OnFailure" and exit_code(status) == 0)


def take_end(memory: Memory, status: Status, now: float) -> bool:
    """Notices the end of a run, once: True then. Sets when it may start again: at once where the run
    ended with the node that began it, which says nothing of the program."""
    if not has_ended(status) or memory.seen == status.run:
        return False
    memory.seen = status.run
    memory.ready = memory.started = False
    ran_s = (status.ended_at or now) - (status.started_at or now)
    if status.phase is Phase.BROKEN or not memory.image:
        memory.quick, memory.due_at = 0, 0.0
    else:
        memory.quick = restart.in_a_row(memory.quick, ran_s, BACKOFF)
        memory.due_at = now + restart.delay_s(memory.quick, BACKOFF)
    return True


def step(status: Status | None, policy: str, memory: Memory, now: float) -> Next:
    """What to do with it, given that its turn has come."""
    if is_running(status) or is_over(status, policy):
        return Next()
    if memory.due_at > now:
        return Next(wait_s=memory.due_at - now)
    return Next(start=True)


def describe(container: Json, status: Status | None, policy: str, memory: Memory, now: float) -> Json:
    """Its entry in containerStatuses."""
    state, last = _state(container, status, policy, memory, now), memory.last
    if status is not None and has_ended(status) and "waiting" in state:
        last = terminated(status, memory.reason)
    described: Json = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "" if status is None or not status.run else f"process://{container['image']}",
        "ready": memory.ready,
        "started": memory.started,
        "restartCount": max(0, status.run - 1) if status is not None else 0,
        "state": state,
        "lastState": {"terminated": last} if last else {},
    }
    if status is not None and status.run:
        described["containerID"] = container_id(status)
    return described


def container_id(status: Status) -> str:
    """Of its present run."""
    return f"process://{status.id}-{status.run}"


def _state(container: Json, status: Status | None, policy: str, memory: Memory, now: float) -> Json:
    if status is not None and is_running(status):
        return {"running": {"startedAt": instant(status.started_at or now)}}
    if status is None or not has_ended(status):
        return {"waiting": _waiting(*memory.waiting)}
    if is_over(status, policy) or memory.seen != status.run:
        return {"terminated": terminated(status, memory.reason)}
    if memory.waiting[0] not in ("ContainerCreating", "PodInitializing"):
        return {"waiting": _waiting(*memory.waiting)}
    if not memory.quick:  # it starts again at once: nothing of it is looping
        return {"terminated": terminated(status, memory.reason)}
    wait_s = restart.delay_s(memory.quick, BACKOFF) if memory.quick else 0.0
    said = f"back-off {wait_s:g}s restarting failed container={container['name']}"
    return {"waiting": _waiting("CrashLoopBackOff", said)}


def _waiting(reason: str, message: str) -> Json:
    return {"reason": reason, "message": message} if message else {"reason": reason}


def terminated(status: Status, why: str = "") -> Json:
    """The terminated state of its last run. why: what the node ended it for."""
    code = exit_code(status)
    state: Json = {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": instant(status.started_at or 0.0),
        "finishedAt": instant(status.ended_at or status.started_at or 0.0),
        "containerID": container_id(status),
    }
    message = "the node's daemon ended, and the container with it" if status.phase is Phase.BROKEN else why
    if message:
        state["message"] = message
    return state


def instant(at: float) -> str:
    """Unix seconds as metadata writes them."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
