"""The template language: what is an expression, where it leads, what stands as text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.expression import (
    Absent,
    Expression,
    TemplateBroken,
    Unknown,
    as_text,
    expressions,
    holds,
    look_up,
    parse,
)


def test_a_text_comes_in_pieces_with_their_offsets() -> None:
    assert list(parse('a {{ b.c }}-{{"{{"}}d')) == [
        "a ",
        Expression(("b", "c"), "", 2, 11),
        "-",
        Expression((), "{{", 12, 20),
        "d",
    ]
    assert [str(e) for e in parse('{{ b.c }}{{ "x" }}')] == ["b.c", '"x"']
    assert expressions('{{ "x" }}{{ a }}') == (Expression(("a",), "", 9, 16),)


@pytest.mark.parametrize(
    "text",
    ["{{", "{{ a", "{{}}", "{{ . }}", "{{ a. }}", "{{ a b }}", "{{ {{ a }}", '{{ "a }}', "{{ a\n.b }}"],
)
def test_what_cannot_be_read_says_where(text: str) -> None:
    with pytest.raises(TemplateBroken) as raised:
        expressions("xx" + text)
    assert raised.value.offset == 2


SCOPE: dict[str, object] = {"a": {"b": [1, {"c": "x"}], "later": Unknown.LATER, "any": Unknown.ANY}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b.0", 1),
        ("a.b.1.c", "x"),
        ("a.later", Unknown.LATER),
        ("a.any", Unknown.LATER),
        ("a.any.x.y", Unknown.LATER),
    ],
)
def test_where_a_path_leads(path: str, value: object) -> None:
    assert look_up(tuple(path.split(".")), SCOPE) == value


@pytest.mark.parametrize(
    ("path", "depth", "known"),
    [
        ("x", 0, ("a",)),
        ("a.x", 1, ("b", "later", "any")),
        ("a.b.2", 2, ()),
        ("a.b.-1", 2, ()),
        ("a.b.0.x", 3, ()),
        ("a.later.x", 2, ()),
    ],
)
def test_where_a_path_ends_in_nothing(path: str, depth: int, known: tuple[str, ...]) -> None:
    with pytest.raises(Absent) as raised:
        look_up(tuple(path.split(".")), SCOPE)
    assert (raised.value.depth, raised.value.known) == (depth, known)


@pytest.mark.parametrize(
    ("value", "text"), [("x", "x"), (1, "1"), (1.5, "1.5"), (True, "true"), (False, "false"), ("", "")]
)
def test_what_stands_as_text(value: object, text: str) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize(("value", "what"), [(None, "empty"), ([], "a list"), ({}, "a mapping")])
def test_what_is_no_text(value: object, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        as_text(value)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("a == a", True),
        ("a==b", False),
        ("a != b", True),
        ("true", True),
        (" true ", True),
        ("yes", False),
        ("? == a", None),
        ("?", None),
    ],
)
def test_conditions(when: str, expected: bool | None) -> None:
    assert holds(when, lambda text: None if "?" in text else text) is expected


@settings(deadline=None)
@given(st.text(alphabet='{}ab. "', max_size=40))
def test_pieces_cover_the_text_up_to_what_cannot_be_read(text: str) -> None:
    covered, end = "", len(text)
    try:
        for piece in parse(text):
            covered += piece if isinstance(piece, str) else text[piece.start : piece.end]
    except TemplateBroken as broken:
        end = broken.offset
    assert covered == text[:end]
    assert end == len(text) or text[end : end + 2] == "{{"
