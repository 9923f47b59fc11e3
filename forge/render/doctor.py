"""`doctor`'s findings: a mark, what was found, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from forge.plan.checkup import Finding, Severity
from forge.render.style import Style

_MARKS: Final = {
    Severity.OK: ("ok", "green"),
    Severity.WARNING: ("warning", "yellow"),
    Severity.ERROR: ("error", "red"),
}


def findings_lines(findings: Sequence[Finding], style: Style) -> tuple[str, ...]:
    lines: list[str] = []
    width = max((len(f.check) for f in findings), default=0)
    for finding in findings:
        word, colour = _MARKS[finding.severity]
        lines.append(f"{style.paint(f'{word:>7}', colour)}  {finding.check:<{width}}  {finding.found}")
        if finding.fix:
            lines.append(f"{'':>7}  {'':<{width}}  {style.paint('fix:', 'bold')} {finding.fix}")
    return tuple(lines)


def findings_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {"check": f.check, "severity": f.severity.value, "found": f.found, "fix": f.fix} for f in findings
    ]
