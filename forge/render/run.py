"""A run while it goes, a line a transition, and its summary: timings and the critical path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from forge.errors import ForgeError
from forge.plan.run import Event, Happening, Outcome, critical_path
from forge.plan.values import Key, Verb
from forge.render.style import Style, seconds

_DOING: Final = {
    Verb.CREATE: "creating",
    Verb.START: "starting",
    Verb.UPDATE: "bringing up to date",
    Verb.REPLACE: "replacing",
    Verb.REMOVE: "removing",
    Verb.WAIT: "waiting for",
    Verb.KEEP: "keeping",
}
_DID: Final = {
    Verb.CREATE: "created",
    Verb.START: "started",
    Verb.UPDATE: "up to date",
    Verb.REPLACE: "replaced",
    Verb.REMOVE: "removed",
    Verb.WAIT: "ready",
    Verb.KEEP: "kept",
}


def doing(event: Event) -> str:
    """What a step is at, in words: `creating`, `created, waiting: connection refused`."""
    match event.happening:
        case Happening.STARTED:
            return _DOING[event.verb]
        case Happening.PROGRESS:
            return f"{_DOING[event.verb]}: {event.text}"
        case Happening.ACTED:
            return f"{_DID[event.verb]}, waiting until it is ready"
        case Happening.GATE:
            return f"waiting: {event.text}"
        case Happening.DONE:
            return _DID[event.verb]
        case Happening.FAILED:
            return f"failed: {event.text}"
        case Happening.SKIPPED:
            return f"skipped: {event.text}"
        case Happening.STOPPED:
            return "stopped"


def event_line(event: Event, clock: str, style: Style) -> str:
    """One transition, for logs and CI. clock: the time of day, made by whoever reads the clock."""
    text = doing(event)
    match event.happening:
        case Happening.DONE:
            text = style.paint(text, "green")
        case Happening.FAILED | Happening.SKIPPED | Happening.STOPPED:
            text = style.paint(text, "red")
        case _:
            text = style.paint(text, "dim")
    return f"{style.paint(clock, 'dim')} {event.key} {text}"


def summary_lines(verb: str, outcome: Outcome, took: float, style: Style) -> tuple[str, ...]:
    """The end of a run: every step's time, slowest first, the critical path, and the verdict."""
    lines = [*_timing_lines(outcome, style)] if len(outcome.timings) > 1 else []
    if outcome.is_complete:
        lines.append(style.paint(f"{verb} done in {seconds(took)}", "green"))
        return tuple(lines)
    counts = f"{len(outcome.done)} done, {len(outcome.failed)} failed, {len(outcome.skipped)} not reached"
    word = "stopped" if outcome.cancelled else "failed"
    lines.append(style.paint(f"{verb} {word} after {seconds(took)}: {counts}", "red"))
    if outcome.skipped:
        lines += [f"  {key}: {why}" for key, why in outcome.skipped.items()]
    return tuple(lines)


def _timing_lines(outcome: Outcome, style: Style) -> tuple[str, ...]:
    path = critical_path(outcome.timings)
    width = max(len(str(key)) for key in outcome.timings)
    rows = sorted(outcome.timings.items(), key=lambda item: -item[1].took)[:20]
    lines = [
        f"  {key!s:<{width}}  {seconds(t.took):>9}"
        + (
            style.paint(f"  (of it {seconds(t.ended - t.acted)} until ready)", "dim")
            if t.ended - t.acted > 0.05
            else ""
        )
        for key, t in rows
    ]
    if len(outcome.timings) > len(rows):
        lines.append(style.paint(f"  ... and {len(outcome.timings) - len(rows)} quicker ones", "dim"))
    if len(path) > 1:
        lines.append(f"  critical path: {' -> '.join(map(str, path))}")
    return tuple(lines)


def outcome_json(outcome: Outcome, took: float) -> dict[str, Any]:
    return {
        "complete": outcome.is_complete,
        "cancelled": outcome.cancelled,
        "seconds": round(took, 3),
        "done": [str(key) for key in outcome.done],
        "failed": {str(key): error_json(error) for key, error in outcome.failed.items()},
        "skipped": {str(key): why for key, why in outcome.skipped.items()},
        "timings": {str(k): _timing_json(outcome, k) for k in outcome.timings},
        "criticalPath": [str(key) for key in critical_path(outcome.timings)],
    }


def _timing_json(outcome: Outcome, key: Key) -> Mapping[str, float]:
    timing = outcome.timings[key]
    return {
        "started": round(timing.started, 3),
        "acted": round(timing.acted, 3),
        "ended": round(timing.ended, 3),
    }


def error_json(error: ForgeError) -> dict[str, Any]:
    return {
        "code": error.code,
        "what": error.what,
        "why": error.why,
        "hint": error.hint,
        "changed": error.changed,
        "place": str(error.place) if error.place else None,
        "detail": list(error.detail),
    }
