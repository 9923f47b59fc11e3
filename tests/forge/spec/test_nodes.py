"""Nodes become plain values, and paths lead to them."""

from __future__ import annotations

from forge.spec.compose import compose
from forge.spec.nodes import Node, ScalarNode, at, child, dotted, plain


def root(text: str) -> Node:
    found = compose(text).root
    assert found is not None
    return found


def test_plain_values_are_fresh_where_nodes_are_shared() -> None:
    value = plain(root("a: &x [1]\nb: *x\n"))
    assert isinstance(value, dict)
    assert value["a"] == value["b"]
    assert value["a"] is not value["b"]


def test_a_child_is_found_by_key_or_index_and_by_nothing_else() -> None:
    tree = root("a: [1]\n'0': x\n")
    assert child(tree, 0) is None
    assert child(tree, "b") is None
    items = child(tree, "a")
    assert items is not None
    assert child(items, 0) is not None
    assert child(items, -1) is None
    assert child(items, "0") is None


def test_a_path_of_nothing_is_the_node_itself() -> None:
    tree = root("a: 1")
    assert at(tree, ()) is tree
    found = at(tree, ("a",))
    assert isinstance(found, ScalarNode)
    assert found.value == 1


def test_dotted_is_how_messages_write_a_path() -> None:
    assert dotted(("spec", "services", 0, "env", "PATH")) == "spec.services[0].env.PATH"
    assert dotted(()) == ""


def test_what_was_written_stays_beside_what_was_filled_in() -> None:
    tree = root("a: ${env:X}")
    node = at(tree, ("a",))
    assert isinstance(node, ScalarNode)
    node.written, node.value = "${env:X}", "secret"
    assert plain(tree) == {"a": "secret"}
    assert plain(tree, written=True) == {"a": "${env:X}"}
