"""One HTML page that holds a whole run: verdict, numbers, timelines, every step with its evidence. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape

from e2e.numbers import Spread
from e2e.play import Record
from e2e.report.documents import Result, spreads
from e2e.report.timeline import timeline
from e2e.scenario import Done

_STYLE = """
:root{color-scheme:light dark;--ok:#15803d;--bad:#dc2626;--dim:#6b7280;--line:#d1d5db;--card:#f9fafb}
@media (prefers-color-scheme:dark){
:root{--ok:#4ade80;--bad:#f87171;--dim:#9ca3af;--line:#374151;--card:#111827}}
body{font:15px/1.5 system-ui,sans-serif;max-width:1140px;margin:2rem auto;padding:0 1rem}
h1{margin:0}h2{margin:2.5rem 0 .2rem}.dim{color:var(--dim)}.ok{color:var(--ok)}.bad{color:var(--bad)}
table{border-collapse:collapse;margin:.8rem 0}
td,th{padding:.25rem .8rem;text-align:left;border-bottom:1px solid var(--line)}
td.n{text-align:right;font-variant-numeric:tabular-nums}
svg{width:100%;background:var(--card);border:1px solid var(--line);border-radius:6px;margin:.6rem 0}
svg text{font:11px system-ui,sans-serif;fill:currentColor}svg .time{fill:var(--dim);font-size:10px}
svg .base{stroke:var(--line)}svg .revision{fill:#7c3aed}svg line.fault{stroke:var(--bad);stroke-dasharray:3 3}
svg text.fault{fill:var(--bad)}
details{border-bottom:1px solid var(--line);padding:.25rem 0}summary{cursor:pointer}
pre{white-space:pre-wrap;font-size:12px;margin:.3rem 0 .3rem 1.4rem}
"""

_NAMES = {
    "answered": "first answer after the loss",
    "detected": "loss noticed and rendered",
    "synced": "rendered, to the edge's file",
    "accepted": "in the file, to routed by",
    "converged": "loss, to routed by: all of it",
}


def page(result: Result) -> str:
    """The page. It loads nothing from anywhere."""
    when = datetime.fromtimestamp(result.at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    steps = [step for record in result.records for step in record.played.steps]
    verdict = "passed" if result.ok else "failed"
    return "".join(
        (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>grid-e2e: {verdict}</title>',
            f"<style>{_STYLE}</style><h1>{escape(result.environment)}: ",
            f'<span class="{"ok" if result.ok else "bad"}">{verdict}</span></h1>',
            f'<p class="dim">{when} on {escape(result.runtime)}, {escape(result.machine)}. ',
            f"{len(result.records)} scenarios, {sum(s.ok for s in steps)} of {len(steps)} steps passed.</p>",
            *_limits(result),
            *_numbers(result),
            *(part for record in result.records for part in _scenario(record)),
            "</html>",
        )
    )


def _limits(result: Result) -> Iterator[str]:
    if result.limits:
        yield "<p>What this run cannot show:</p><ul>"
        yield from (f"<li>{escape(limit)}</li>" for limit in result.limits)
        yield "</ul>"


def _numbers(result: Result) -> Iterator[str]:
    if not result.failovers:
        return
    found = spreads(result.failovers)
    yield f"<h2>Failover</h2><p>{_times(len(result.failovers))}. "
    failed = sum(f.failed for f in result.failovers)
    elsewhere = sum(f.failed_elsewhere for f in result.failovers)
    yield f"Requests that failed while the loss was noticed: {failed}; at any other time: {elsewhere}.</p>"
    yield "<table><tr><th>part<th>p50<th>p99<th>max</tr>"
    yield from (_row(text, found[name], "s") for name, text in _NAMES.items())
    yield _row("slowest request meanwhile", found["slowest_ms"], "ms")
    yield _row("render, to routed by, of any revision", result.accept, "s")
    yield "</table>"


def _times(count: int) -> str:
    return "Once" if count == 1 else f"{count} times"


def _row(text: str, spread: Spread | None, unit: str) -> str:
    if spread is None:
        return f"<tr><td>{escape(text)}<td colspan=3 class=dim>not seen</tr>"
    digits = 0 if unit == "ms" else 3
    cells = "".join(f'<td class="n">{v:.{digits}f} {unit}' for v in (spread.p50, spread.p99, spread.max))
    return f"<tr><td>{escape(text)}{cells}</tr>"


def _scenario(record: Record) -> Iterator[str]:
    played = record.played
    state = "skipped" if played.skipped else "passed" if played.ok else "failed"
    shade = "dim" if played.skipped else "ok" if played.ok else "bad"
    yield f'<h2>{escape(played.scenario.name)} <span class="{shade}">{state}</span></h2>'
    yield f"<p>{escape(played.scenario.intent)}</p>"
    if played.skipped:
        yield f'<p class="dim">{escape(played.skipped)}</p>'
        return
    failed = sum(not s.ok for s in record.sent)
    yield f'<p class="dim">{len(record.sent)} requests beside it, {failed} failed.</p>'
    yield timeline(record)
    for step in played.steps:
        yield from _step(step)
    for left in played.scenario.steps[len(played.steps) :]:
        yield f'<details><summary class="dim">not played: {escape(left.title)}</summary></details>'


def _step(step: Done) -> Iterator[str]:
    sign, shade = ("✓", "ok") if step.ok else ("✗", "bad")
    took = f"{step.ended_at - step.at:.2f} s"
    opened = "" if step.ok else " open"
    yield f'<details{opened}><summary><span class="{shade}">{sign}</span> {escape(step.title)} '
    yield f'<span class="dim">{took}</span></summary>'
    if step.fault:
        yield f'<pre class="bad">{escape(step.fault)}</pre>'
    for evidence in step.evidence:
        facts = json.dumps(dict(evidence.facts), ensure_ascii=False, default=str) if evidence.facts else ""
        yield f"<pre>{escape(evidence.claim)}: {escape(evidence.seen)} ({evidence.within_s:.2f} s)\n"
        yield f'<span class="dim">{escape(facts)}</span></pre>'
    yield "</details>"
