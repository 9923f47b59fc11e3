"""One playing as a picture over time, in SVG: requests by provider, revisions, faults, failures. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from e2e.play import Record
from e2e.watch import ACCEPTED, RENDERED, SYNCED

_WIDTH, _LEFT, _RIGHT = 1100, 190, 20
_ROW = 26
_LINE = 14
_LEVELS = 4
_SHADES = ("#2563eb", "#0891b2", "#d97706", "#7c3aed", "#15803d")
_PLACES = (RENDERED, SYNCED, ACCEPTED)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Seconds since the record began -> pixels."""

    begun: float
    span: float

    def x(self, at: float) -> float:
        return _LEFT + (at - self.begun) / self.span * (_WIDTH - _LEFT - _RIGHT)


def timeline(record: Record) -> str:
    """An <svg>. Rows: one a provider cluster, one for failed requests, one a place of revisions, faults."""
    scale = _Scale(record.at, max(0.001, record.ended_at - record.at))
    clusters = sorted({s.cluster for s in record.sent if s.ok and s.cluster})
    rows = (*clusters, "failed requests", *(f"revision {p}" for p in _PLACES), "faults")
    height = _ROW * (len(rows) + 1) + 30 + _LEVELS * _LINE
    label = escape(f"timeline of {record.played.scenario.name}", quote=True)
    drawn = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">']
    drawn += _grid(rows, height, scale)
    for number, cluster in enumerate(clusters):
        times = (s.at for s in record.sent if s.ok and s.cluster == cluster)
        drawn += _ticks(times, number, _SHADES[number % len(_SHADES)], scale)
    drawn += _ticks((s.at for s in record.sent if not s.ok), len(clusters), "#dc2626", scale)
    for offset, place in enumerate(_PLACES, 1):
        drawn += _revisions(record, place, len(clusters) + offset, scale)
    drawn += _faults(record, len(rows) - 1, scale)
    return "".join((*drawn, "</svg>"))


def _y(row: int) -> int:
    return _ROW * (row + 1)


def _grid(rows: Sequence[str], height: int, scale: _Scale) -> Iterator[str]:
    for number, name in enumerate(rows):
        y = _y(number)
        yield f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end" class="row">{escape(name)}</text>'
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" class="base"/>'
    step = next((s for s in (1, 2, 5, 10, 30, 60, 300) if scale.span / s <= 15), 3600)
    for second in range(0, int(scale.span) + 1, step):
        at = scale.x(scale.begun + second)
        yield f'<text x="{at:.1f}" y="{height - 8}" text-anchor="middle" class="time">{second} s</text>'


def _ticks(times: Iterable[float], row: int, shade: str, scale: _Scale) -> Iterator[str]:
    """One path for all of a row: thousands of elements would be slow to show."""
    y = _y(row)
    path = "".join(f"M{scale.x(at):.1f} {y - 7}v14" for at in times)
    if path:
        yield f'<path d="{path}" stroke="{shade}" stroke-width="1.5" fill="none"/>'


def _revisions(record: Record, place: str, row: int, scale: _Scale) -> Iterator[str]:
    y = _y(row)
    for noted in record.noted:
        if noted.place == place and noted.at >= record.at:
            x = scale.x(noted.at)
            yield f'<circle cx="{x:.1f}" cy="{y}" r="3.5" class="revision"/>'
            yield f'<text x="{x + 5:.1f}" y="{y - 4}" class="time">{noted.revision}</text>'


def _faults(record: Record, row: int, scale: _Scale) -> Iterator[str]:
    """Texts one below the other, since faults come close together."""
    for number, mark in enumerate(record.marks):
        x, y = scale.x(mark.at), _y(row) + number % _LEVELS * _LINE
        anchor, at = ("start", x + 3) if x < _WIDTH * 0.75 else ("end", x - 3)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{y + 4}" class="fault"/>'
        yield f'<text x="{at:.1f}" y="{y + 4}" text-anchor="{anchor}" class="fault">'
        yield f"{escape(mark.text)}</text>"
