"""Every circle of a graph is named once, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.rules.graph import circles


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"a": ["b"], "b": []}, [], id="a chain"),
        pytest.param({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, [], id="a diamond"),
        pytest.param({"a": ["x"]}, [], id="a need outside the graph"),
        pytest.param({"a": ["a"]}, [("a",)], id="itself"),
        pytest.param({"a": ["b"], "b": ["a"]}, [("a", "b")], id="two"),
        pytest.param({"c": ["a"], "a": ["b"], "b": ["c"]}, [("c", "a", "b")], id="three, begun at the first"),
        pytest.param({"x": ["a"], "a": ["b"], "b": ["a"], "y": []}, [("a", "b")], id="what only leads to it is left out"),
        pytest.param({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"]}, [("a", "b"), ("c", "d")], id="two circles"),
        pytest.param({"a": ["b", "c"], "b": ["a"], "c": ["a"]}, [("a", "b")], id="circles that share a node: one"),
    ],
)  # fmt: skip
def test_circles(needs: dict[str, list[str]], expected: list[tuple[str, ...]]) -> None:
    assert circles(needs) == expected


_GRAPHS = st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4), max_size=9)


@settings(deadline=None)
@given(_GRAPHS)
def test_a_circle_is_a_way_round_and_shares_no_node(needs: dict[int, list[int]]) -> None:
    found = circles(needs)
    for circle in found:
        for one, other in zip(circle, (*circle[1:], circle[0]), strict=True):
            assert other in needs[one]
    nodes = [node for circle in found for node in circle]
    assert len(nodes) == len(set(nodes))


@settings(deadline=None)
@given(_GRAPHS)
def test_a_graph_without_its_circles_has_an_order(needs: dict[int, list[int]]) -> None:
    gone = {node for circle in circles(needs) for node in circle}
    left = {n: [m for m in below if m not in gone] for n, below in needs.items() if n not in gone}
    assert circles(left) == []
