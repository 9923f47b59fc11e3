"""A YAML document with its positions: what the composer makes and the checks point into.

Lines and columns count from 1, as editors show them. Nodes shared by aliases are one object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from forge.spec.scalars import Scalar

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node stands. end_line and end_column: just behind its last character."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(slots=True, eq=False)
class ScalarNode:
    """plain: written without quotes, so that its value was resolved from its text.
    written: the text before inputs were filled in; None where there were none."""

    span: Span
    value: Scalar
    plain: bool = True
    weight: int = 1
    written: str | None = None


@dataclass(slots=True, eq=False)
class ListNode:
    """weight: how many nodes it stands for with every alias written out."""

    span: Span
    items: list[Node] = field(default_factory=list)
    weight: int = 1


@dataclass(slots=True, eq=False)
class MapNode:
    """entries: key -> value. keys: key -> where the key itself stands. lost: nodes that are in no
    entry, since their key is written twice or is none."""

    span: Span
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Span] = field(default_factory=dict)
    lost: list[Node] = field(default_factory=list)
    weight: int = 1


Node = ScalarNode | ListNode | MapNode


def plain(node: Node, *, written: bool = False) -> object:
    """The node's value in Python's own types, aliases written out. written: without inputs filled in."""
    if isinstance(node, MapNode):
        return {key: plain(value, written=written) for key, value in node.entries.items()}
    if isinstance(node, ListNode):
        return [plain(item, written=written) for item in node.items]
    return node.written if written and node.written is not None else node.value


def kind_of(node: Node) -> str:
    """What a node is, as messages call it."""
    if isinstance(node, MapNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return "true or false"
    return "text" if isinstance(node.value, str) else "a number"


def child(node: Node, step: str | int) -> Node | None:
    """The value under a key or at an index; None where there is none."""
    if isinstance(node, MapNode) and isinstance(step, str):
        return node.entries.get(step)
    if isinstance(node, ListNode) and isinstance(step, int) and 0 <= step < len(node.items):
        return node.items[step]
    return None


def at(node: Node, path: Path) -> Node | None:
    """The node a path leads to; None where it leads nowhere."""
    found: Node | None = node
    for step in path:
        if found is None:
            return None
        found = child(found, step)
    return found


def dotted(path: Path) -> str:
    """`spec.services[0].env.PATH`, the form in messages."""
    text = ""
    for step in path:
        key = step if isinstance(step, int) else shown_key(step)
        text += f"[{key}]" if isinstance(step, int) else f".{key}" if text else str(key)
    return text


def shown_key(key: str) -> str:
    """The key as messages show it: what does not look like one may be a value that slipped there."""
    return key if re.fullmatch(r"[\w./@-]{1,64}", key) else "***"
