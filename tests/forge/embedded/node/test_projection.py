"""Volumes on disk: whole changes or none, and no trace of what went."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from forge.embedded.node.projection import project
from forge.embedded.node.volumes import File


def files(**content: str) -> dict[str, File]:
    return {name.replace("__", "/"): File(text.encode(), 0o644) for name, text in content.items()}


def read(volume: Path) -> dict[str, str]:
    """What a program that does not look at hidden names finds."""
    found: dict[str, str] = {}
    for place in volume.iterdir():
        if not place.name.startswith(".."):
            inner = [p for p in place.rglob("*") if p.is_file()] if place.is_dir() else [place]
            found |= {str(p.relative_to(volume)): p.read_text() for p in inner}
    return found


def test_a_change_is_one_swap(tmp_path: Path) -> None:
    assert project(tmp_path, files(a="1", b__c="2"), "one")
    before = (tmp_path / "..data").readlink()
    assert not project(tmp_path, files(a="1", b__c="2"), "two")
    assert (tmp_path / "..data").readlink() == before
    assert project(tmp_path, files(a="3"), "three")
    assert read(tmp_path) == {"a": "3"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["..data", "..three", "a"]


def test_modes_are_kept_and_matter(tmp_path: Path) -> None:
    project(tmp_path, {"key": File(b"x", 0o400)}, "one")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o400
    assert project(tmp_path, {"key": File(b"x", 0o440)}, "two")


def test_an_open_file_keeps_its_content_over_a_change(tmp_path: Path) -> None:
    project(tmp_path, files(a="old"), "one")
    with (tmp_path / "a").open() as held:
        project(tmp_path, files(a="new"), "two")
        assert held.read() == "old"
    assert (tmp_path / "a").read_text() == "new"


def test_no_path_leaves_the_volume(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    project(volume, {"../../out": File(b"x", 0o644)}, "one")
    assert read(volume) == {"out": "x"}
    assert [p.name for p in tmp_path.iterdir()] == ["volume"]


NAMES = st.sampled_from(["a", "b", "c/d", "c/e"])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.dictionaries(NAMES, st.text("xyz", max_size=3)), max_size=5))
def test_whatever_came_before_the_last_content_is_what_is_there(contents: list[dict[str, str]]) -> None:
    with TemporaryDirectory() as folder:
        for index, content in enumerate(contents):
            project(
                Path(folder), {name: File(text.encode(), 0o644) for name, text in content.items()}, f"{index}"
            )
            assert read(Path(folder)) == content
