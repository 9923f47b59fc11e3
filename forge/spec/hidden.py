"""Where in a file the values stand that must not be shown.

Under some keys everything is hidden, since it is where secrets are written; so is what stands below
a key nobody knows, which may be a misspelt one of those, and what looks like a value in a key's place.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from forge.spec.nodes import ListNode, MapNode, Node, Path, ScalarNode, Span, shown_key

SECRET_KEYS = frozenset({"values", "properties", "secrets", "inputs", "kindConfig"})
"""Keys whose values, at any depth, are never shown. Keys under them are."""

SECRET_LISTS = frozenset({"env", "args", "command", "data", "process"})
"""The same for what holds texts and nothing deeper: what is nested there is a slip, and hidden whole."""


def hidden(root: Node, hides: Collection[Path] = ()) -> dict[int, list[Span]]:
    """The spans to hide, by line; a span of several lines stands under each. hides: paths below which
    everything is hidden, wherever it stands."""
    search = _Search(frozenset(hides))
    search.visit(root, (), secret=False)
    return search.spans


@dataclass(slots=True)
class _Search:
    """seen: nodes shared by aliases are visited once, which also bounds the work."""

    hides: frozenset[Path]
    spans: dict[int, list[Span]] = field(default_factory=dict)
    seen: set[tuple[int, bool]] = field(default_factory=set)

    def visit(self, node: Node, path: Path, *, secret: bool, flat: bool = False) -> None:
        """flat: directly below one of SECRET_LISTS."""
        secret = secret or path in self.hides
        if (id(node), secret) in self.seen:
            return
        self.seen.add((id(node), secret))
        if isinstance(node, MapNode):
            self._visit_map(node, path, secret=secret, flat=flat)
        elif isinstance(node, ListNode):
            for index, item in enumerate(node.items):
                self._visit_inner(item, (*path, index), secret=secret, flat=flat)
        elif secret:
            self._hide(node.span)

    def _visit_map(self, node: MapNode, path: Path, *, secret: bool, flat: bool) -> None:
        for key, value in node.entries.items():
            strange = shown_key(key) != key
            if strange:
                self._hide(node.keys[key])
            if key in SECRET_LISTS:
                self.visit(value, (*path, key), secret=True, flat=True)
            else:
                below = secret or strange or key in SECRET_KEYS
                self._visit_inner(value, (*path, key), secret=below, flat=flat)
        for lost in node.lost:
            self._hide(lost.span)
            self.visit(lost, path, secret=True)

    def _visit_inner(self, node: Node, path: Path, *, secret: bool, flat: bool) -> None:
        if flat and not isinstance(node, ScalarNode):
            self._hide(node.span)
        self.visit(node, path, secret=secret)

    def _hide(self, span: Span) -> None:
        for line in range(span.line, span.end_line + 1):
            self.spans.setdefault(line, []).append(span)
