"""State outlives a reload while somebody asks for it, and no longer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from edge.setup import Files, Kept, Unusable


@dataclass
class Count:
    value: int = 0


def test_state_is_the_same_for_the_same_place_and_type() -> None:
    kept = Kept()
    kept.begin()
    first = kept.keep("main/a", Count, Count)
    kept.end()
    kept.begin()
    assert kept.keep("main/a", Count, Count) is first
    assert kept.keep("main/b", Count, Count) is not first
    assert kept.keep("main/a", list, list) == []


def test_what_nobody_asked_for_is_forgotten_when_the_new_one_serves() -> None:
    kept = Kept()
    kept.begin()
    first = kept.keep("main/a", Count, Count)
    kept.end()
    kept.begin()  # a configuration that is refused in the end
    kept.begin()
    assert kept.keep("main/a", Count, Count) is first
    kept.begin()
    kept.end()
    kept.begin()
    assert kept.keep("main/a", Count, Count) is not first


def test_files_are_remembered_also_when_they_are_missing(tmp_path: Path) -> None:
    files = Files()
    (tmp_path / "a").write_bytes(b"x")
    assert files.read(str(tmp_path / "a")) == b"x"
    with pytest.raises(Unusable, match="cannot be read") as unusable:
        files.read(str(tmp_path / "b"), "keys", 0)
    assert unusable.value.path == ("keys", 0)
    assert files.seen == {tmp_path / "a", tmp_path / "b"}
