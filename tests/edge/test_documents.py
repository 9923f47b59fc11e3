"""The documentation's configuration is one that loads, and its table of filters is the catalog's."""

from __future__ import annotations

import re
from pathlib import Path

from edge.catalog import FILTERS
from edge.config.model import FilterEntry
from edge.simulator.faults import KINDS
from tests.kit.edges import built, write

DOCS = Path(__file__).parents[2] / "docs"


def test_the_whole_file_loads(tmp_path: Path) -> None:
    found = re.search(r"```yaml\n(.*?)```", (DOCS / "gateway.md").read_text(), re.DOTALL)
    assert found is not None
    assert set(built(write(tmp_path, found[1])).clusters) == {"models"}


def test_every_filter_and_every_option_is_named() -> None:
    text = (DOCS / "gateway.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)`[^|]*\|(.*)\|", text, re.MULTILINE))
    assert set(FILTERS) <= set(rows)
    for name, kind in FILTERS.items():
        for option in kind.config.model_fields:
            stem = option.partition("_")[0] if name == "headers" else option
            assert stem in rows[name], f"{name}: {option}"
    for common in set(FilterEntry.model_fields) - {"filter"}:
        assert f"`{common}`" in text


def test_every_fault_is_named() -> None:
    text = (DOCS / "simulator.md").read_text()
    assert all(f"| `{kind}` |" in text for kind in KINDS)
