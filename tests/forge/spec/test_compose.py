"""YAML text becomes nodes with places, strictly and in bounded time, whichever parser is there."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.compose import MAX_FAULTS, MAX_NODES, compose
from forge.spec.events import MAX_DEPTH
from forge.spec.nodes import MapNode, at, plain
from forge.spec.scalars import resolve


def faults(text: str) -> list[str]:
    return [f"{f.code} {f.span.line}:{f.span.column} {f.message}" for f in compose(text).faults]


def test_values_are_read_as_yaml_1_2(parser: str) -> None:
    text = "restart: no\ndate: 2024-01-01\nmode: 0755\nport: 80\nflag: true\nnone:\nquoted: '80'\nlist: [on, ~, 1.5]\n"
    root = compose(text).root
    assert root is not None
    assert plain(root) == {
        "restart": "no", "date": "2024-01-01", "mode": "0755", "port": 80, "flag": True, "none": None,
        "quoted": "80", "list": ["on", None, 1.5],
    }  # fmt: skip


def test_every_node_knows_its_place(parser: str) -> None:
    root = compose("a:\n  - b: ü\n    c: {d: 'e'}\n").root
    assert isinstance(root, MapNode)
    node = at(root, ("a", 0, "c", "d"))
    assert node is not None
    assert (node.span.line, node.span.column, node.span.end_column) == (3, 12, 15)
    inner = at(root, ("a", 0))
    assert isinstance(inner, MapNode)
    assert (inner.keys["c"].line, inner.keys["c"].column) == (3, 5)
    assert at(root, ("a", 1)) is None
    assert at(root, ("a", "b", "c")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", ['FG0102 3:1 the key "a" is written twice; first at 1:1'], id="a key twice"),
        pytest.param("{a: 1, 'a': 2}", ['FG0102 1:8 the key "a" is written twice; first at 1:2'], id="quoted or not"),
        pytest.param("1: a\n", ["FG0107 1:1 a key must be text, and this is a number"], id="a number as key"),
        pytest.param("? [a]\n: b\n", ["FG0107 1:3 a key must be text, and this is a list"], id="a list as key"),
        pytest.param("? {a: b}\n: c\n", ["FG0107 1:3 a key must be text, and this is a mapping"], id="a mapping as key"),
        pytest.param("true: a\n", ["FG0107 1:1 a key must be text, and this is true or false"], id="a truth as key"),
        pytest.param("~: a\n", ["FG0107 1:1 a key must be text, and this is nothing"], id="nothing as key"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x\n", ["FG0106 3:3 a merge key (<<) is not supported"], id="a merge key"),
        pytest.param("a: !secret x\n", ["FG0106 1:4 tags are not supported"], id="a tag"),
        pytest.param("a: !!python/object:x {}\n", ["FG0106 1:4 tags are not supported"], id="a Python tag"),
    ],
)  # fmt: skip
def test_what_has_no_clear_meaning_is_a_fault(text: str, expected: list[str], parser: str) -> None:
    composed = compose(text)
    assert faults(text) == expected
    assert composed.root is not None, "the rest is still read"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\n---\nb: 2\n", "FG0101 2:1 a second document begins here", id="two documents"),
        pytest.param("a: *b\n", "FG0106 1:4 an alias here has no anchor above it", id="an alias without an anchor"),
        pytest.param("a: &b [*b]\n", "FG0106 1:8 an alias here stands inside its own anchor", id="an endless alias"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_fault_where_it_is(text: str, expected: str, parser: str) -> None:
    assert faults(text) == [expected]
    assert compose(text).root is None


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n...\n"])
def test_an_empty_document_has_no_root_or_nothing_in_it(text: str, parser: str) -> None:
    composed = compose(text)
    assert composed.faults == []
    assert composed.root is None or plain(composed.root) is None


def test_aliases_are_shared_nodes(parser: str) -> None:
    root = compose("a: &x [1, 2]\nb: *x\nc: &y {d: *x}\ne: *y\n").root
    assert root is not None
    assert plain(root) == {"a": [1, 2], "b": [1, 2], "c": {"d": [1, 2]}, "e": {"d": [1, 2]}}
    assert at(root, ("a",)) is at(root, ("b",))


def test_an_anchor_may_be_given_again(parser: str) -> None:
    root = compose("a: &x 1\nb: &x 2\nc: *x\n").root
    assert root is not None
    assert plain(root) == {"a": 1, "b": 2, "c": 2}


def test_a_bomb_of_aliases_is_refused_before_it_goes_off(parser: str) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 20)]
    (fault,) = compose("\n".join(lines)).faults
    assert (fault.code, fault.fatal) == ("FG0106", True)
    assert "aliases written out" in fault.message


def test_the_number_of_nodes_is_bounded() -> None:
    (fault,) = compose("- a\n" * (MAX_NODES + 1)).faults
    assert fault.code == "FG0106"


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_the_depth_is_bounded(opening: str, parser: str) -> None:
    assert [f.message for f in compose(opening * 5000).faults] == [f"nested deeper than {MAX_DEPTH} levels"]


def test_the_deepest_allowed_file_is_read(parser: str) -> None:
    assert compose("[" * MAX_DEPTH + "]" * MAX_DEPTH).faults == []


def test_the_number_of_faults_is_bounded() -> None:
    assert len(compose("{" + "a: 1, " * (MAX_FAULTS * 2) + "}").faults) == MAX_FAULTS


@settings(deadline=None)
@given(st.text(alphabet="ab:-?&*!|>'\"%@`{}[],#\n \t1~<", max_size=60))
def test_any_text_is_nodes_or_faults(text: str) -> None:
    composed = compose(text)
    assert composed.root is None or isinstance(
        plain(composed.root), (dict, list, str, int, float, type(None))
    )
    assert all(f.span.line >= 1 and f.span.column >= 1 for f in composed.faults)


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"])).filter(
    lambda s: not s or isinstance(resolve(s), str)
)
"""PyYAML writes by YAML 1.1, where `0E0` is text and needs no quotes; by 1.2 it is a number."""

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), _VALUES, max_size=4))
def test_what_pyyaml_writes_is_read_back(data: dict[str, object]) -> None:
    root = compose(yaml.safe_dump(data, allow_unicode=True)).root
    assert root is not None
    assert plain(root) == data
