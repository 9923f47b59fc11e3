"""Where an environment stands: every resource as asked for, recorded and live, and what differs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from forge.errors import ForgeError
from forge.plan.faults import Fault
from forge.plan.ports import ProbeResult
from forge.plan.values import Desired, Key, Observed, Owner, Phase, Recorded


class Health(StrEnum):
    """HEALTHY and UNHEALTHY are a check's answer now; NONE: it has no check, or does not run."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Row:
    """One resource. desired, recorded, live: None where it is absent there. drift: what differs, a
    sentence each. ok: nothing is wrong with it."""

    key: Key
    desired: Desired | None
    recorded: Recorded | None
    live: Observed | None
    health: Health
    health_detail: str
    drift: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.drift and self.health is not Health.UNHEALTHY


@dataclass(frozen=True, slots=True)
class Status:
    """config_error: why the file could not be read; the rows then show what is recorded and live.
    is_up: something is recorded.
    last_operation: command and outcome of the last run, empty before any. faults: what is held down."""

    environment: str
    runtime: str
    is_up: bool
    last_operation: str
    rows: tuple[Row, ...]
    config_error: ForgeError | None = None
    faults: tuple[Fault, ...] = ()

    @property
    def ok(self) -> bool:
        """A file that cannot be read is not followed: nothing is as it says."""
        return self.config_error is None and all(row.ok for row in self.rows)


def row(
    key: Key,
    desired: Desired | None,
    recorded: Recorded | None,
    live: Observed | None,
    probe: ProbeResult | None,
    owner: Owner | None = None,
    *,
    judged: bool = True,
) -> Row:
    """One resource's standing. owner: this environment, None while nothing is recorded, when there
    is no drift either. judged: whether the file could be read, so that its silence means something."""
    health, detail = Health.NONE, ""
    if probe is not None:
        health, detail = (Health.HEALTHY if probe.ok else Health.UNHEALTHY), probe.detail
    drift = _drift(desired, recorded, live, owner, judged=judged) if owner is not None else ()
    return Row(key, desired, recorded, live, health, detail, drift)


def _drift(
    desired: Desired | None, recorded: Recorded | None, live: Observed | None, owner: Owner, *, judged: bool
) -> tuple[str, ...]:
    """Every way in which the three disagree. judged: whether the file could be read at all."""
    found: list[str] = []
    if live is not None and live.owner != owner and not (desired and not desired.owned):
        return ("its name is taken by something that is not ours",)
    if judged and desired is None and live is not None:
        found.append("no longer in forge.yaml")
    if desired is not None and desired.start and live is None:
        found.append("missing" if recorded is not None else "not made yet")
    if desired is not None and desired.owned and live is not None and live.fingerprint != desired.fingerprint:
        found.append("configuration differs from forge.yaml")
    if live is not None and live.phase in (Phase.FAILED, Phase.BROKEN, Phase.STARTING):
        found.append(_fault(live))
    if live is not None and live.phase is Phase.STOPPED and not (recorded and recorded.stopped):
        found.append("stopped, though nobody asked Forge to")
    return tuple(found)


def _fault(live: Observed) -> str:
    match live.phase:
        case Phase.FAILED:
            return f"exited with {live.exit_code}"
        case Phase.STARTING:
            return f"keeps exiting (last with {live.exit_code}), restarted {live.restarts} times"
        case _:
            return live.detail or "half made"
