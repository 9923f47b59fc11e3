"""Excerpts show where a problem stands, and nothing that may be a secret."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.compose import compose
from forge.spec.mask import Painter, blind_excerpt
from forge.spec.nodes import Path, Span, at
from forge.spec.text import lines_of


def shown(text: str, path: Path, unknown: frozenset[Path] = frozenset()) -> str:
    """The excerpt at a path: its text, and below it the caret."""
    root = compose(text).root
    assert root is not None
    node = at(root, path)
    assert node is not None
    excerpt = Painter(lines_of(text), root, unknown).excerpt(node.span)
    assert excerpt is not None
    return f"{excerpt.text}\n{' ' * (excerpt.column - 1)}{'^' * excerpt.length}"


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        pytest.param("a: {port: 80}", ("a", "port"), "a: {port: 80}\n          ^^", id="an open value is shown"),
        pytest.param("env: {A: CANARY, B: x}", ("env", "B"), "env: {A: ***, B: ***}\n                 ^^^", id="env"),
        pytest.param("env: {A: CANARY}\nb: 1", ("b",), "b: 1\n   ^", id="another line"),
        pytest.param("a: [{env: {A: s}, port: 0}]", ("a", 0, "port"), "a: [{env: {A: ***}, port: 0}]\n                          ^", id="behind a secret"),
        pytest.param("args: [a, 'b c']", ("args", 1), "args: [***, ***]\n            ^^^", id="arguments"),
        pytest.param('values: {a: {b: "x"}}', ("values", "a", "b"), "values: {a: {b: ***}}\n                ^^^", id="at any depth"),
        pytest.param("secrets: [{name: k}]", ("secrets", 0, "name"), "secrets: [{name: ***}]\n                 ^^^", id="what is said of secrets"),
        pytest.param("port: 80 # was CANARY", ("port",), "port: 80 #***\n      ^^", id="a comment"),
        pytest.param("url: https://u:CANARY@h/x", ("url",), "url: https://********@h/x\n     ^^^^^^^^^^^^^^^^^^^^", id="a password in an address"),
    ],
)  # fmt: skip
def test_a_line_and_its_caret(text: str, path: Path, expected: str) -> None:
    assert shown(text, path) == expected


def test_what_stands_below_an_unknown_key_is_hidden() -> None:
    text = "enviroment: {A: CANARY}"
    assert (
        shown(text, ("enviroment", "A"), frozenset({("enviroment",)}))
        == "enviroment: {A: ***}\n                ^^^"
    )


def test_a_value_whose_key_is_written_twice_is_hidden() -> None:
    text = "env: {A: x, A: CANARY, 1: CANARY, [CANARY]: CANARY}"
    root = compose(text).root
    assert root is not None
    excerpt = Painter(lines_of(text), root).excerpt(Span(1, 1, 1, 4))
    assert excerpt is not None
    assert "CANARY" not in excerpt.text


@pytest.mark.parametrize("style", ["|", ">", "|-"])
def test_every_line_of_a_long_value_is_hidden(style: str) -> None:
    text = f"env:\n  KEY: {style}\n    CANARY one\n    CANARY two\nb: 1\n"
    root = compose(text).root
    assert root is not None
    painter = Painter(lines_of(text), root)
    seen = [painter.excerpt(Span(line, 1, line, 2)) for line in range(1, 6)]
    assert all(e is not None and "CANARY" not in e.text for e in seen)
    assert seen[4] is not None
    assert seen[4].text == "b: 1"


def test_a_long_line_is_cut_round_its_caret() -> None:
    text = "a: [" + "x, " * 500 + "here, " + "y, " * 500 + "]"
    lines = shown(text, ("a", 500)).splitlines()
    assert len(lines[0]) <= 162
    start = lines[1].index("^")
    assert lines[0][start : start + lines[1].count("^")] == "here"


def test_beyond_the_last_line_there_is_no_excerpt() -> None:
    root = compose("a: 1").root
    assert root is not None
    assert Painter(("a: 1",), root).excerpt(Span(9, 1, 9, 2)) is None
    assert blind_excerpt(("a: 1",), 9, 1) is None


@pytest.mark.parametrize(
    "line",
    ["  KEY: CANARY", "  KEY: *CANARY", "- CANARY", "KEY: 'CANARY", '"CANARY": x: y', "KEY: 'a CANARY: b'", "CANARY=",
     "KEY: &CANARY x", "KEY: !CANARY x", "KEY: |CANARY", "KEY: {A: @CANARY}", "\tKEY: CANARY", "a:CANARY@x y: z",
     "KEY: #CANARY", "url: http://u:CANARY@h", "- --token=CANARY", "KEY: >-CANARY", "KEY: -CANARY", "KEY: [CANARY"],
)  # fmt: skip
def test_a_line_that_was_not_understood_shows_no_word(line: str) -> None:
    excerpt = blind_excerpt((line,), 1, 3)
    assert excerpt is not None
    assert "CANARY" not in excerpt.text


def test_a_line_that_was_not_understood_keeps_its_keys_and_its_length() -> None:
    line = "  - {host: 8443, container: x: 1}"
    excerpt = blind_excerpt((line,), 1, 5)
    assert excerpt is not None
    assert excerpt.text == "  - {host: ****, container: *: *}"


@settings(deadline=None)
@given(st.text(max_size=80), st.integers(1, 90))
def test_any_line_has_an_excerpt_with_its_caret_inside(line: str, column: int) -> None:
    excerpt = blind_excerpt((line,), 1, column)
    assert excerpt is not None
    assert 1 <= excerpt.column <= len(excerpt.text) + 90
    assert excerpt.length >= 1
    assert excerpt.text.isprintable() or excerpt.text == ""
