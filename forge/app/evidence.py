"""`evidence mark` and `evidence diff`: proof that nothing was restarted in between, or what was.

A mark holds every service's id, PID, start time and restart count as the machine tells them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from forge.app import lab as labs
from forge.app.lab import Lab, now
from forge.app.services import look
from forge.errors import OperationFailed, UsageError
from forge.plan.values import Observed

DEFAULT_NAME = "mark"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Fact:
    """What cannot stay the same over a restart. started_at: Unix seconds."""

    id: str
    pid: int | None
    started_at: float | None
    restarts: int
    phase: str


@dataclass(frozen=True, slots=True)
class Mark:
    """services: name -> its facts at the instant `at`, Unix seconds."""

    at: float
    services: Mapping[str, Fact]


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one service; before or after is None where the service was not there."""

    service: str
    field: str
    before: object
    after: object


def mark(lab: Lab, name: str, open_host: labs.HostOpener = labs.open_host) -> Mark:
    """Takes the facts now and keeps them under a name, over an older mark of that name."""
    taken = _take(lab, open_host)
    path = _path(lab, name)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(taken), indent=1), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise OperationFailed("FG0410", f"cannot keep the mark {path}", why=str(error)) from error
    return taken


def diff(
    lab: Lab, name: str, open_host: labs.HostOpener = labs.open_host
) -> tuple[Mark, tuple[Difference, ...]]:
    """The mark, and what differs now. Raises UsageError FG0411 where there is no such mark."""
    before = _read(lab, name)
    return before, compare(before.services, _take(lab, open_host).services)


def compare(before: Mapping[str, Fact], after: Mapping[str, Fact]) -> tuple[Difference, ...]:
    """Every field that differs, by service and field. Pure."""
    found: list[Difference] = []
    for service in sorted(set(before) | set(after)):
        if service not in before or service not in after:
            there = service in before, service in after
            found.append(Difference(service, "present", *there))
            continue
        old, new = asdict(before[service]), asdict(after[service])
        found += [
            Difference(service, field, old[field], new[field]) for field in old if old[field] != new[field]
        ]
    return tuple(found)


def _take(lab: Lab, open_host: labs.HostOpener) -> Mark:
    return Mark(now(), {name: _fact(thing) for name, thing in look(lab, open_host).live.items()})


def _fact(thing: Observed) -> Fact:
    return Fact(thing.id, thing.pid, thing.started_at, thing.restarts, thing.phase.value)


def _path(lab: Lab, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise UsageError(
            "FG0411", f"{name!r} is no name for a mark", hint="use letters, digits, . _ -", changed=False
        )
    return lab.state_dir / "evidence" / f"{name}.json"


def _read(lab: Lab, name: str) -> Mark:
    path = _path(lab, name)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        services = {service: Fact(**fact) for service, fact in document["services"].items()}
        return Mark(float(document["at"]), services)
    except FileNotFoundError as error:
        raise UsageError(
            "FG0411",
            f"there is no mark called {name!r}",
            hint="take one first with: praxis-forge evidence mark",
            changed=False,
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            "FG0411", f"the mark {path} cannot be read", why=str(error), changed=False
        ) from error
