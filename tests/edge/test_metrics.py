"""Labels are closed sets that know every word the code can say."""

from __future__ import annotations

import re
from pathlib import Path

from edge.metrics import REFUSALS, EdgeMetrics

EDGE = Path(__file__).parents[2] / "edge"


def test_every_code_of_a_refusal_has_its_own_series() -> None:
    said = set[str]()
    for file in (*EDGE.glob("*.py"), *EDGE.glob("filters/*.py"), *EDGE.glob("wire/*.py")):
        said |= set(
            re.findall(r'(?:LocalFault|refuse)\(\s*(?:exchange,\s*)?\d+,\s*"(\w+)"', file.read_text())
        )
    assert len(said) > 20
    assert said <= set(REFUSALS)


def test_a_scrape_of_nothing_is_an_exposition() -> None:
    text = EdgeMetrics().metrics.scrape().decode()
    assert "# TYPE praxis_http_requests_total counter" in text
    assert "praxis_access_log_dropped_total 0.0" in text
