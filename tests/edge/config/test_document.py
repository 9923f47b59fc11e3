"""YAML is read as people mean it, and everything in it has a place."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from edge.config import document
from edge.config.problems import ConfigRejected, Problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: on", {"a": "on"}, id="on is a word"),
        pytest.param("a: no", {"a": "no"}, id="no is a word"),
        pytest.param("a: true", {"a": True}, id="true is true"),
        pytest.param("a: 010", {"a": "010"}, id="a leading zero is no octal number"),
        pytest.param("a: 1:30", {"a": "1:30"}, id="no base-60 numbers"),
        pytest.param("a: 2026-01-01", {"a": "2026-01-01"}, id="no dates"),
        pytest.param("a: ~", {"a": None}, id="nothing"),
        pytest.param("a: 1.5", {"a": 1.5}, id="a fraction"),
        pytest.param("a: [1, x]", {"a": [1, "x"]}, id="a list"),
        pytest.param("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}, id="an alias"),
        pytest.param('a: "5"', {"a": "5"}, id="quoted is text"),
    ],
)
def test_values(text: str, value: object) -> None:
    assert document.read("f.yaml", text).value == value


def test_places_are_those_of_keys_and_items() -> None:
    read = document.read("f.yaml", "a:\n  - b: 1\n  - c: 2\n")
    assert str(read.problem(("a", 1, "c"), "is wrong")) == "f.yaml:3:5: a[1].c: is wrong"
    assert str(read.problem(("a", 1, "missing"), "is required")) == "f.yaml:3:5: a[1].missing: is required"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "f.yaml: the file is empty", id="nothing at all"),
        pytest.param("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: a: stands twice, first on line 1", id="a key twice"),
        pytest.param("a: {b: 1, b: 2}", "f.yaml:1:11: a.b: stands twice, first on line 1", id="nested twice"),
        pytest.param("a: [1", "f.yaml:1:6: not YAML: expected ',' or ']'", id="not closed"),
        pytest.param("a: \x00", "f.yaml: not YAML", id="a control character"),
        pytest.param("[" * 100_000, "f.yaml: nested too deeply", id="very deep"),
        pytest.param("a: !!int x", "cannot be read as int", id="a tag that lies"),
        pytest.param("a: !!python/object:os.system {}", "", id="a tag that would run something is data"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    if not said:
        assert document.read("f.yaml", text).value == {"a": {}}
        return
    try:
        problems: Iterable[Problem] = document.read("f.yaml", text).problems
    except ConfigRejected as rejected:
        problems = rejected.problems
    assert said in "\n".join(map(str, problems))


def test_aliases_cannot_blow_up() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    with pytest.raises(ConfigRejected, match="more than 200000 values"):
        document.read("f.yaml", bomb)


def test_a_huge_file_is_not_parsed() -> None:
    with pytest.raises(ConfigRejected, match="larger than"):
        document.read("f.yaml", "a: " + "x" * (4 * 1024 * 1024))
