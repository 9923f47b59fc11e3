"""Joins and deaths by n against their bounds, as an SVG that needs nothing but a browser."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from grid.swim.tuning import detection_bound, dissemination_rounds, tuned

TUNING = tuned(1.0, 5.0)
WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 720, 420, 56, 56, 48
LOWEST, HIGHEST, MOST = 8, 1024, 64
COLOURS = {"dead": "#b3261e", "join": "#1f5fa8"}


@dataclass(frozen=True, slots=True)
class Point:
    """One size under one loss. speed: node-rounds a CPU second. rate: bytes a node and second. Others: rounds."""

    count: int
    loss: float
    speed: float
    rate: float
    joined: float
    suspected: float
    dead: float

    @classmethod
    def worst(cls, points: Sequence[Point]) -> Point:
        """The slowest of each."""
        first = points[0]
        most = (max(getattr(p, name) for p in points) for name in ("rate", "joined", "suspected", "dead"))
        return cls(first.count, first.loss, min(p.speed for p in points), *most)


def draw(points: Sequence[Point]) -> str:
    """The whole document."""
    parts = [*_frame(), *_bounds()]
    for loss, same in groupby(sorted(points, key=lambda p: (p.loss, p.count)), key=lambda p: p.loss):
        row = list(same)
        dashes = "" if not loss else "5 4"
        parts += _curve([(p.count, p.dead) for p in row], COLOURS["dead"], dashes)
        parts += _curve([(p.count, p.joined) for p in row], COLOURS["join"], dashes)
    parts += _legend()
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
    title = "<title>Rounds until all members know of a join, and of a death, by the size of the grid</title>"
    return "\n".join([head, title, '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>", ""])


def _x(count: float) -> float:
    share = math.log2(count / LOWEST) / math.log2(HIGHEST / LOWEST)
    return LEFT + share * (WIDTH - LEFT - 24)


def _y(rounds: float) -> float:
    return HEIGHT - BELOW - rounds / MOST * (HEIGHT - BELOW - ABOVE)


def _frame() -> list[str]:
    parts = []
    for rounds in range(0, MOST + 1, 8):
        y = _y(rounds)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 24}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{rounds}</text>')
    for power in range(3, 11):
        x, count = _x(2**power), 2**power
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BELOW + 18}" text-anchor="middle" fill="#555">{count}</text>'
        )
    middle = (LEFT + WIDTH - 24) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 14}" text-anchor="middle">members</text>')
    parts.append(f'<text x="{LEFT}" y="20">rounds until all know, the worst of three histories</text>')
    return parts


def _bounds() -> list[str]:
    def curve(law: Callable[[int], float]) -> list[tuple[int, float]]:
        return [(2**power, law(2**power)) for power in range(3, 11)]

    deaths = curve(lambda n: detection_bound(n, TUNING))
    return [
        *_curve(deaths, COLOURS["dead"], "1.5 4", width=1.8),
        *_curve(curve(dissemination_rounds), COLOURS["join"], "1.5 4", width=1.8),
    ]


def _curve(points: Sequence[tuple[int, float]], colour: str, dashes: str, width: float = 2.0) -> list[str]:
    path = " ".join(f"{_x(count):.1f},{_y(rounds):.1f}" for count, rounds in points)
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>']


def _legend() -> list[str]:
    rows = [("a death", COLOURS["dead"]), ("a join", COLOURS["join"])]
    parts = []
    for place, (words, colour) in enumerate(rows):
        x = LEFT + 10 + place * 100
        parts.append(f'<rect x="{x}" y="30" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 20}" y="36">{words}</text>')
    words = "line: no loss; dashes: 5 % loss; dots: the published bound"
    parts.append(f'<text x="{LEFT + 230}" y="36" fill="#555">{words}</text>')
    return parts
