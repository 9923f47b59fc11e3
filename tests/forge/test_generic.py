"""Forge is generic: no word of the grid stands in its code, its messages or its pages."""

from __future__ import annotations

import re
from pathlib import Path

import forge

WORDS = re.compile(r"gridsite|gridnetwork|inferenceprovider|\boverlay(?!fs)|praxis-edge", re.IGNORECASE)
FOLDER = Path(str(forge.__file__)).parent
TEXTS = (".py", ".md", ".txt", ".json", ".yaml")


def test_no_word_of_the_grid_is_in_forge() -> None:
    files = [path for path in FOLDER.rglob("*") if path.suffix in TEXTS]
    found = [
        f"{path.relative_to(FOLDER)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WORDS.search(line)
    ]
    assert len(files) > 200
    assert found == []
