"""`status`, `service list` and `evidence` as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.plan.standing import Health, Row, Status
from forge.plan.values import Observed, Phase
from forge.render.style import Style, seconds


def table(rows: Sequence[Sequence[str]], style: Style, *, indent: str = "") -> tuple[str, ...]:
    """Columns in line, the first row as the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return (style.paint(lines[0], "dim"), *lines[1:])


def live_json(live: Observed | None) -> dict[str, Any] | None:
    """What the machine says of one resource."""
    if live is None:
        return None
    return {
        "phase": live.phase.value,
        "id": live.id,
        "pid": live.pid,
        "address": live.address,
        "startedAt": live.started_at,
        "restarts": live.restarts,
        "exitCode": live.exit_code,
        "detail": live.detail,
    }


def since(live: Observed | None, now: float) -> str:
    """How long it has been running, or `-`."""
    if live is None or live.started_at is None or live.pid is None:
        return "-"
    return seconds(max(0.0, now - live.started_at))


_HEADING: tuple[str, ...] = (
    "RESOURCE",
    "DESIRED",
    "RECORDED",
    "LIVE",
    "HEALTH",
    "UP",
    "RESTARTS",
    "ADDRESS",
)


def status_lines(status: Status, now: float, style: Style) -> tuple[str, ...]:
    """One row a resource, then everything that differs, a line each. now: Unix seconds."""
    head = f"{status.environment}  runtime {status.runtime or 'not chosen'}"
    if status.last_operation:
        head += f"  last: {status.last_operation}"
    if not status.rows:
        return (head, "Nothing is up and the file asks for nothing.")
    if not status.is_up:
        head += "  not up"
    rows = [_HEADING, *(_cells(row, now) for row in status.rows)]
    drift = [f"{style.paint('!', 'red')} {row.key}: {text}" for row in status.rows for text in _wrong(row)]
    drift += [
        f"{style.paint('~', 'yellow')} {row.key}: stopped on request; `up` starts it"
        for row in _stopped(status)
        if row.key not in {fault.key for fault in status.faults}
    ]
    drift += [
        f"{style.paint('~', 'yellow')} {fault.name}: held down by `fault {fault.how}`; `up` ends that"
        for fault in status.faults
    ]
    verdict = (
        style.paint("All is as forge.yaml says.", "green") if status.is_up and status.ok and not drift else ""
    )
    return (head, *table(rows, style), *drift, *([verdict] if verdict else []))


def _stopped(status: Status) -> list[Row]:
    return [
        row
        for row in status.rows
        if row.ok
        and row.desired is not None
        and row.desired.start
        and row.recorded
        and row.recorded.stopped
        and row.live is not None
        and row.live.phase is Phase.STOPPED
    ]


def _cells(row: Row, now: float) -> tuple[str, ...]:
    desired = "-" if row.desired is None else "yes" if row.desired.start else "manual"
    recorded = "-" if row.recorded is None else row.recorded.phase.value
    live = "-" if row.live is None else row.live.phase.value
    health = "-" if row.health is Health.NONE else row.health.value
    restarts = "-" if row.live is None or row.key.kind != "service" else str(row.live.restarts)
    address = (row.live.address or "-") if row.live is not None else "-"
    return (str(row.key), desired, recorded, live, health, since(row.live, now), restarts, address)


def _wrong(row: Row) -> tuple[str, ...]:
    unhealthy = (f"unhealthy: {row.health_detail}",) if row.health is Health.UNHEALTHY else ()
    return (*row.drift, *unhealthy)


def status_json(status: Status) -> dict[str, Any]:
    return {
        "environment": status.environment,
        "runtime": status.runtime,
        "up": status.is_up,
        "ok": status.ok,
        "configError": None if status.config_error is None else status.config_error.what,
        "lastOperation": status.last_operation or None,
        "faults": [{"name": fault.name, "how": fault.how.value, "at": fault.at} for fault in status.faults],
        "resources": [
            {
                "kind": row.key.kind,
                "name": row.key.name,
                "desired": row.desired is not None,
                "recorded": None if row.recorded is None else row.recorded.phase.value,
                "live": live_json(row.live),
                "health": row.health.value,
                "healthDetail": row.health_detail,
                "drift": list(row.drift),
                "ok": row.ok,
            }
            for row in status.rows
        ],
    }


def services_lines(rows: Sequence[tuple[str, Observed | None]], now: float, style: Style) -> tuple[str, ...]:
    """`service list`: name and what the machine says, None for one that is recorded but gone."""
    if not rows:
        return ("No services.",)
    cells = [("NAME", "LIVE", "UP", "RESTARTS", "PID", "ADDRESS")]
    cells += [
        (
            name,
            "missing" if live is None else live.phase.value,
            since(live, now),
            "-" if live is None else str(live.restarts),
            "-" if live is None or live.pid is None else str(live.pid),
            "-" if live is None or live.address is None else live.address,
        )
        for name, live in rows
    ]
    return table(cells, style)


def services_json(rows: Sequence[tuple[str, Observed | None]]) -> dict[str, Any]:
    return {"services": [{"name": name, "live": live_json(live)} for name, live in rows]}
