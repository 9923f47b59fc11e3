"""Every code of a configuration problem has its page, and every page a code."""

from __future__ import annotations

import re
from pathlib import Path

import forge.spec

SPEC = Path(forge.spec.__file__).parent
PAGES = SPEC.parent / "explain"


def test_codes_and_pages_are_the_same() -> None:
    used = {
        code for file in SPEC.rglob("*.py") for code in re.findall(r'"(FG01\d\d)"', file.read_text("utf-8"))
    }
    assert used == {page.stem for page in PAGES.glob("FG01*.md")}


def test_a_page_begins_with_its_code_and_title() -> None:
    for page in PAGES.glob("FG01*.md"):
        first, second, *rest = page.read_text("utf-8").splitlines()
        assert re.fullmatch(rf"# {page.stem}: [A-Z].*[A-Za-z]", first), page.name
        assert second == ""
        assert rest, page.name
