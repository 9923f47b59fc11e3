"""Gauges show the overlay in use, and leave no series of those before it."""

from __future__ import annotations

from pathlib import Path

from tests.edge.test_status import PLAIN, WORLD, look
from tests.kit.edges import Edge, edge
from tests.kit.overlays import current, put


def scraped(made: Edge) -> dict[str, float]:
    """series -> value, of routing and readiness."""
    text = made.outside.metrics.metrics.scrape().decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    wanted = ("praxis_ready", "praxis_not_ready", "praxis_overlay", "praxis_affinity")
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith(wanted))
    return {name: float(value) for name, value in pairs}


async def test_the_overlay_in_use(tmp_path: Path) -> None:
    put(tmp_path / "grid-config.json", current(WORLD, 7))
    async with edge(tmp_path, PLAIN) as made:
        first = scraped(made)
        put(tmp_path / "grid-config.json", current(WORLD[:1], 8))
        look(made)
        second = scraped(made)
    assert first["praxis_ready"] == 1
    assert not any(value for name, value in first.items() if name.startswith("praxis_not_ready"))
    assert 0 <= first["praxis_overlay_age_seconds"] < 60
    assert first['praxis_overlay_age_state{state="ok"}'] == 1
    assert first['praxis_overlay_candidates{reach="configured"}'] == 2
    assert first['praxis_overlay_candidates{reach="unconfigured"}'] == 1
    assert first["praxis_affinity_bindings"] == 0
    infos = [[name for name in found if name.startswith("praxis_overlay_info")] for found in (first, second)]
    assert [len(names) for names in infos] == [1, 1]
    assert 'revision="7"' in infos[0][0]
    assert 'revision="8"' in infos[1][0]


async def test_before_the_first_overlay(tmp_path: Path) -> None:
    async with edge(tmp_path, PLAIN) as made:
        found = scraped(made)
    assert found["praxis_ready"] == 0
    assert found['praxis_not_ready{reason="no_overlay"}'] == 1
    assert found['praxis_overlay_age_state{state="absent"}'] == 1
    assert not any(name.startswith("praxis_overlay_info") for name in found)
    assert found['praxis_overlay_rejections_total{reason="missing_key"}'] == 1
