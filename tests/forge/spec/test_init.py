"""The starter file is valid as it stands and says what it does."""

from __future__ import annotations

import pytest

from forge.spec.init import name_from, starter
from forge.spec.load import load_text


def test_the_starter_is_valid_and_has_two_services() -> None:
    loaded = load_text(starter("my-lab"))
    assert loaded.warnings == ()
    spec = loaded.environment.spec
    assert (loaded.environment.metadata.name, [s.name for s in spec.services]) == ("my-lab", ["api", "web"])
    assert [p.bind_address for s in spec.services for p in s.ports] == ["127.0.0.1", "127.0.0.1"]


def test_the_starter_runs_without_an_engine() -> None:
    spec = load_text(starter()).environment.spec
    assert {s.image for s in spec.services} == {i.name for i in spec.images if i.process is not None}
    assert all("${POD_IP:-0.0.0.0}" in s.args[-1] for s in spec.services)


def test_the_starter_explains_itself() -> None:
    assert starter().count("#") > 10
    assert "@NAME@" not in starter()


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("my lab", "my-lab"),
        ("Grid_Edge.v2", "grid-edge-v2"),
        ("---", "lab"),
        ("", "lab"),
        ("ü", "lab"),
        ("x" * 90, "x" * 40),
        ("a" * 39 + "-b", "a" * 39),
    ],
)
def test_a_folder_gives_a_name(folder: str, name: str) -> None:
    assert name_from(folder) == name
    assert load_text(starter(name_from(folder))).environment.metadata.name == name
