"""Paths of the model lead to places of the file, also behind elements that were left out."""

from __future__ import annotations

import pytest

from forge.errors import Place
from forge.spec.compose import compose
from forge.spec.nodes import Path
from forge.spec.source import Source

TEXT = """\
spec:
  services:
    - name: a
      ports:
        - {host: 1}
        - {host: 2}
    - name: b
  empty:
  map: {x: 1}
"""


def source(**kwargs: object) -> Source:
    root = compose(TEXT).root
    assert root is not None
    return Source("f", TEXT, root, **kwargs)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param(("spec", "services", 1, "name"), "7:13", id="a value"),
        pytest.param(("spec", "services", 0), "3:7", id="an element: its first key"),
        pytest.param(("spec", "services"), "2:3", id="a list: its key"),
        pytest.param(("spec", "services", 0, "image"), "3:7", id="what is missing: the element"),
        pytest.param(("spec", "services", 7), "2:3", id="an element too far: the list"),
        pytest.param(("spec", "empty"), "8:3", id="nothing: its key"),
        pytest.param(("spec", "map"), "9:3", id="a mapping: its key"),
        pytest.param(
            ("spec", "services", 0, "name", "deeper", "still"), "3:13", id="inside a text: the text"
        ),
        pytest.param((), "1:1", id="the whole file"),
    ],
)
def test_places(path: Path, place: str) -> None:
    assert str(source().place(path)) == f"f:{place}"


def test_on_key_marks_the_key() -> None:
    found = source().problem("FG0103", "m", ("spec", "map", "x"), on_key=True)
    assert found.place == Place("f", 9, 9)
    assert found.excerpt is not None
    assert (found.excerpt.column, found.excerpt.length) == (9, 1)


def test_indices_are_those_of_the_file() -> None:
    left = source(removed={("spec", "services"): (0,), ("spec", "services", 1, "x"): (0, 2)})
    assert left.original(("spec", "services", 0, "x", 0, "y")) == ("spec", "services", 1, "x", 1, "y")
    assert left.original(("spec", "services", 0, "x", 1)) == ("spec", "services", 1, "x", 3)
    assert left.problem("FG0110", "m", ("spec", "services", 0, "name")).path == "spec.services[1].name"


def test_declared_names_are_read_from_the_file() -> None:
    assert source().names(("spec", "services")) == {"a", "b"}
    assert source().names(("spec", "map")) == {"x"}
    assert source().names(("spec", "nowhere")) == frozenset()


def test_damage_is_known_by_what_is_above_it() -> None:
    hurt = source(damaged=frozenset({("spec", "services", 0, "ports", 1)}))
    assert hurt.is_damaged(("spec", "services"))
    assert hurt.is_damaged(("spec", "map"), ("spec", "services", 0, "ports"))
    assert not hurt.is_damaged(("spec", "services", 1))
