"""Every code that the source can raise has a page, every page a code, and a page helps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import forge

ROOT = Path(forge.__file__).parent
PAGES = ROOT / "explain"
USED = {
    code
    for path in ROOT.rglob("*.py")
    for code in re.findall(r'"(FG\d{4})"', path.read_text(encoding="utf-8"))
}


def test_there_are_codes() -> None:
    assert len(USED) > 50


@pytest.mark.parametrize("code", sorted(USED))
def test_every_code_has_a_page(code: str) -> None:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {code}: ")
    assert len(text.splitlines()) > 2


def test_every_page_has_a_code() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - USED == set()
