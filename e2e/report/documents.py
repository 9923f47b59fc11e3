"""A run as JSON and as JUnit XML. Pure: records in, text out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree as ET

from e2e.numbers import Failover, Spread
from e2e.play import Record
from e2e.scenario import Done

API_VERSION = "e2e.praxis.dev/v1alpha1"


@dataclass(frozen=True, slots=True)
class Result:
    """One run. runtime: what the lab is on, as Forge says. machine: for whoever compares numbers.
    failovers: of every playing of the failover scenario. accept: render to acceptance, seconds."""

    environment: str
    runtime: str
    machine: str
    at: float
    records: tuple[Record, ...]
    failovers: tuple[Failover, ...] = ()
    accept: Spread | None = None
    limits: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return all(record.played.ok for record in self.records)


def as_json(result: Result) -> str:
    """Everything, for programs."""
    document = {
        "apiVersion": API_VERSION,
        "environment": result.environment,
        "runtime": result.runtime,
        "machine": result.machine,
        "at": result.at,
        "ok": result.ok,
        "limits": list(result.limits),
        "scenarios": [_scenario(record) for record in result.records],
        "failover": {
            "runs": [asdict(f) for f in result.failovers],
            "spread": {name: _spread(spread) for name, spread in spreads(result.failovers).items()},
            "acceptedAfterRender": _spread(result.accept),
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def spreads(failovers: Sequence[Failover]) -> dict[str, Spread | None]:
    """name of a part -> its spread over all runs."""
    parts = ("detected", "synced", "accepted", "converged", "answered", "slowest_ms")
    return {part: Spread.of([v for f in failovers if (v := getattr(f, part)) is not None]) for part in parts}


def as_junit(result: Result) -> str:
    """One suite a scenario, one case a step."""
    root = ET.Element("testsuites", name="grid-e2e")
    for record in result.records:
        played = record.played
        steps = played.steps
        suite = ET.SubElement(
            root,
            "testsuite",
            name=played.scenario.name,
            tests=str(max(1, len(played.scenario.steps))),
            failures=str(sum(not step.ok for step in steps)),
            skipped=str(len(played.scenario.steps) if played.skipped else 0),
            time=f"{record.ended_at - record.at:.3f}",
        )
        for step in steps:
            _case(suite, played.scenario.name, step)
        for left in played.scenario.steps[len(steps) :]:
            case = ET.SubElement(suite, "testcase", classname=played.scenario.name, name=left.title)
            ET.SubElement(case, "skipped", message=played.skipped or "a step before it failed")
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _case(suite: ET.Element, scenario: str, step: Done) -> None:
    took = f"{step.ended_at - step.at:.3f}"
    case = ET.SubElement(suite, "testcase", classname=scenario, name=step.title, time=took)
    if not step.ok:
        ET.SubElement(case, "failure", message=step.fault[:500])
    out = ET.SubElement(case, "system-out")
    out.text = "\n".join(f"{e.claim}: {e.seen} ({e.within_s:.2f} s)" for e in step.evidence)


def _scenario(record: Record) -> dict[str, Any]:
    played = record.played
    return {
        "name": played.scenario.name,
        "intent": played.scenario.intent,
        "ok": played.ok,
        "skipped": played.skipped or None,
        "at": record.at,
        "endedAt": record.ended_at,
        "steps": [_step(step) for step in played.steps],
        "notPlayed": [step.title for step in played.scenario.steps[len(played.steps) :]],
        "marks": [asdict(mark) for mark in played.marks],
        "requests": {"sent": len(record.sent), "failed": sum(not s.ok for s in record.sent)},
        "revisions": [{"at": n.at, "place": n.place, "revision": n.revision} for n in record.noted],
    }


def _step(step: Done) -> dict[str, Any]:
    return {
        "title": step.title,
        "ok": step.ok,
        "fault": step.fault or None,
        "at": step.at,
        "endedAt": step.ended_at,
        "evidence": [asdict(evidence) for evidence in step.evidence],
    }


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else asdict(spread)
