"""YAML text to nodes with positions, in bounded time and memory, strictly YAML 1.2.

Events come from forge/spec/events.py; everything that has a meaning is decided here. Duplicate keys,
keys that are not text, merge keys and tags are faults; aliases are shared nodes whose written-out size
is bounded; the first syntax error ends the reading.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from forge.spec.events import MAX_DEPTH, Fault, Stop, events, stop
from forge.spec.nodes import ListNode, MapNode, Node, ScalarNode, Span, kind_of, shown_key
from forge.spec.scalars import resolve

MAX_NODES = 200_000
"""Nodes with aliases written out. 200 services have about 8,000."""
MAX_FAULTS = 500
"""Faults that are kept: nobody reads more, and each costs an excerpt."""


@dataclass(slots=True)
class Composed:
    """root: None where the document is empty or a fault was fatal."""

    root: Node | None = None
    faults: list[Fault] = field(default_factory=list)


def compose(text: str) -> Composed:
    """The one document of *text* as nodes, with all faults found on the way."""
    made = Composed()
    try:
        made.root = _Composer(text, made.faults).document()
    except Stop as stop:
        made.faults.append(stop.fault)
        made.root = None
    return made


class _Composer:
    """Reads events one by one. anchors: name -> node, once the node is complete."""

    def __init__(self, text: str, faults: list[Fault]) -> None:
        self._events = events(text)
        self._faults = faults
        self._anchors: dict[str, Node | None] = {}
        self._count = 0

    def document(self) -> Node | None:
        event = self._next()
        while isinstance(event, yaml.StreamStartEvent):
            event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            return None
        root = self._node(self._next(), 0)
        self._next()  # the document's end
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise stop(
                "FG0101", "a second document begins here", _span(after), "keep one document in the file"
            )
        return root

    def _next(self) -> Any:
        return next(self._events)

    def _node(self, event: Any, depth: int) -> Node:
        self._count += 1
        if self._count > MAX_NODES:
            raise _too_large(_span(event))
        if depth > MAX_DEPTH:
            raise stop("FG0106", f"nested deeper than {MAX_DEPTH} levels", _span(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None  # known, not complete: an alias to it now is a loop
        self._check_tag(event)
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            node = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._list(event, depth)
        else:
            node = self._map(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Node:
        if event.anchor not in self._anchors:
            help_ = "put a value that begins with * in quotes"
            raise stop("FG0106", "an alias here has no anchor above it", _span(event), help_)
        node = self._anchors[event.anchor]
        if node is None:
            raise stop("FG0106", "an alias here stands inside its own anchor", _span(event))
        return node

    def _check_tag(self, event: Any) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            help_ = "remove it; a value that begins with ! needs quotes"
            self._fault("FG0106", "tags are not supported", _span(event), help_)

    def _list(self, start: Any, depth: int) -> ListNode:
        items: list[Node] = []
        event = self._next()
        while not isinstance(event, yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
            event = self._next()
        weight = 1 + sum(item.weight for item in items)
        return ListNode(_between(start, event), items, self._bounded(weight, start))

    def _map(self, start: Any, depth: int) -> MapNode:
        node = MapNode(_span(start))
        weight = 1
        event = self._next()
        while not isinstance(event, yaml.MappingEndEvent):
            key = self._key(event, depth + 1, node)
            value = self._node(self._next(), depth + 1)
            weight += value.weight
            if key is None:
                node.lost.append(value)
            else:
                node.entries[key] = value
                node.keys[key] = _span(event)
            event = self._next()
        node.span = _between(start, event)
        node.weight = self._bounded(weight, start)
        return node

    def _key(self, event: Any, depth: int, into: MapNode) -> str | None:
        """The key's text; None, with a fault, where it cannot be one."""
        node = self._node(event, depth)
        span = _span(event)
        if isinstance(node, ScalarNode) and node.plain and node.value == "<<":
            help_ = "YAML 1.2 has no merge keys: write the keys out, or alias the whole value"
            self._fault("FG0106", "a merge key (<<) is not supported", span, help_)
            return None
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            into.lost.append(node)
            what = f"a key must be text, and this is {kind_of(node)}"
            self._fault("FG0107", what, span, "put the key in quotes")
            return None
        if node.value in into.entries:
            first = into.keys[node.value]
            what = f'the key "{shown_key(node.value)}" is written twice; first at {first.line}:{first.column}'
            self._fault("FG0102", what, span, "keep one of the two")
            return None
        return node.value

    def _fault(self, code: str, message: str, span: Span, help_: str) -> None:
        if len(self._faults) < MAX_FAULTS:
            self._faults.append(Fault(code, message, span, help_))

    def _bounded(self, weight: int, start: Any) -> int:
        if weight > MAX_NODES:
            raise _too_large(_span(start))
        return weight


def _scalar(event: Any) -> ScalarNode:
    plain = not event.style and event.tag is None  # libyaml says '' for plain, PyYAML None
    return ScalarNode(_span(event), resolve(event.value) if plain else event.value, plain)


def _span(event: Any) -> Span:
    return _between(event, event)


def _between(start: Any, end: Any) -> Span:
    first, last = start.start_mark, end.end_mark
    return Span(first.line + 1, first.column + 1, last.line + 1, last.column + 1)


def _too_large(span: Span) -> Stop:
    what = f"more than {MAX_NODES:,} values with aliases written out"
    return stop("FG0106", what, span, "use fewer aliases, or split the environment")
