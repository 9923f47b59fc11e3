"""What must not be shown is found by where it stands: under a key, below an unknown one, in a key's place."""

from __future__ import annotations

import pytest

from forge.spec.compose import compose
from forge.spec.hidden import hidden
from forge.spec.nodes import Path
from forge.spec.text import lines_of


def hidden_texts(text: str, *unknown: Path) -> list[str]:
    """What is hidden, in order, of a file of one line."""
    root = compose(text).root
    assert root is not None
    spans = set(hidden(root, unknown).get(1, []))
    return [lines_of(text)[0][s.column - 1 : s.end_column - 1] for s in sorted(spans, key=lambda s: s.column)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("name: a", [], id="nothing elsewhere"),
        pytest.param("env: {A: x, B: 'y z'}", ["x", "'y z'"], id="env"),
        pytest.param("args: [x, --y=z]", ["x", "--y=z"], id="arguments"),
        pytest.param("values: {a: {b: [x]}}", ["x"], id="values at any depth, their keys stay"),
        pytest.param("env: {A: {b: x}}", ["{b: x}", "x"], id="what is nested in env goes whole"),
        pytest.param("env: {A: [x]}", ["[x]", "x"], id="a list in env too"),
        pytest.param("env: {A: &x }", ["&x"], id="an anchor in a value's place"),
        pytest.param("'a b: c': d", ["'a b: c'", "d"], id="a key that looks like none"),
        pytest.param("{a: x, a: y}", ["y"], id="the second value of a key"),
        pytest.param("{1: x}", ["1", "x"], id="a key that is no text, and its value"),
    ],
)
def test_what_is_hidden(text: str, expected: list[str]) -> None:
    assert hidden_texts(text) == expected


def test_what_is_below_an_unknown_key_is_hidden() -> None:
    assert hidden_texts("evn: {A: x, B: [y]}", ("evn",)) == ["x", "y"]
    assert hidden_texts("a: [b, c]", ("a", 1)) == ["c"]


def test_a_long_value_is_hidden_in_each_of_its_lines() -> None:
    root = compose("env:\n  A: |\n    x\n    y\n").root
    assert root is not None
    assert set(hidden(root)) >= {2, 3, 4}


def test_a_shared_value_is_hidden_where_it_is_written() -> None:
    text = "{open: &x y, env: {A: *x}}"
    assert hidden_texts(text) == ["&x y"]
