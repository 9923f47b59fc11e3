"""The file as it was read, for whoever has to point into it: paths to places, problems with excerpts.

Paths are those of the model: keys in camelCase and indices. Where a broken element was left out so
that the rest could be checked, indices are translated back to those of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from forge.errors import Place
from forge.spec.mask import Painter
from forge.spec.nodes import ListNode, MapNode, Node, Path, ScalarNode, Span, at, child, dotted
from forge.spec.problems import Problem, Severity
from forge.spec.text import lines_of


@dataclass(slots=True)
class Source:
    """text and root: the file. hides: paths below which nothing is shown in excerpts.

    removed: list -> indices that were left out of the model, in order. damaged: every path that was
    left out, unknown keys aside.
    """

    file: str
    text: str = field(repr=False)
    root: Node = field(repr=False)
    hides: frozenset[Path] = frozenset()
    removed: Mapping[Path, tuple[int, ...]] = field(default_factory=dict)
    damaged: frozenset[Path] = frozenset()
    _painter: Painter | None = field(default=None, repr=False)

    def problem(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        help: str = "",  # noqa: A002 - the word of the Problem
        on_key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> Problem:
        """A problem at *path*: under its value, or with on_key under its key."""
        found = self.original(path)
        return self.raw_problem(code, message, found, help=help, on_key=on_key, severity=severity)

    def raw_problem(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        help: str = "",  # noqa: A002 - the word of the Problem
        on_key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> Problem:
        """As problem, for a path whose indices are those of the file."""
        span = self.span(path, on_key=on_key)
        return self.problem_at(code, message, span, dotted(path), help=help, severity=severity)

    def problem_at(
        self,
        code: str,
        message: str,
        span: Span,
        path: str = "",
        *,
        help: str = "",  # noqa: A002 - the word of the Problem
        severity: Severity = Severity.ERROR,
    ) -> Problem:
        """A problem at a place of the text."""
        if self._painter is None:
            self._painter = Painter(lines_of(self.text), self.root, self.hides)
        place = Place(self.file, span.line, span.column)
        return Problem(code, severity, message, place, path, help, self._painter.excerpt(span))

    def warning(self, code: str, message: str, path: Path, *, help: str = "") -> Problem:  # noqa: A002 - as above
        return self.problem(code, message, path, help=help, severity=Severity.WARNING)

    def span(self, path: Path, *, on_key: bool = False) -> Span:
        """Where a path stands, or the nearest thing above it that exists. Indices are the file's."""
        node, above = self.root, self.root
        for depth, step in enumerate(path):
            inner = child(node, step)
            if inner is None:
                return _opening(node, above, path[:depth])
            above, node = node, inner
        if on_key and path and isinstance(above, MapNode):
            return above.keys.get(str(path[-1]), node.span)
        return _opening(node, above, path)

    def place(self, path: Path) -> Place:
        """Where a model's path stands in the file."""
        span = self.span(self.original(path))
        return Place(self.file, span.line, span.column)

    def original(self, path: Path) -> Path:
        """The path in the file for a path in the model."""
        done: Path = ()
        for step in path:
            index = step
            if isinstance(index, int):
                for gone in self.removed.get(done, ()):
                    index += gone <= index
            done = (*done, index)
        return done

    def names(self, path: Path) -> frozenset[str]:
        """Names declared in the file under a list or mapping, broken elements included."""
        node = at(self.root, path)
        if isinstance(node, MapNode):
            return frozenset(node.entries)
        items: Iterable[Node] = node.items if isinstance(node, ListNode) else ()
        found = (child(item, "name") for item in items)
        return frozenset(n.value for n in found if isinstance(n, ScalarNode) and isinstance(n.value, str))

    def is_damaged(self, *paths: Path) -> bool:
        """Whether anything at or below one of these paths (of the model) was left out."""
        whole = [self.original(path) for path in paths]
        return any(gone[: len(path)] == path for gone in self.damaged for path in whole)


def _opening(node: Node, above: Node, path: Path) -> Span:
    """What to mark for a node: a scalar whole; of a list or mapping its key, or its first line."""
    if isinstance(node, ScalarNode) and node.span.column != node.span.end_column:  # an empty one has no width
        return node.span
    if isinstance(above, MapNode) and path and str(path[-1]) in above.keys:
        return above.keys[str(path[-1])]
    if isinstance(node, MapNode) and node.keys:
        return next(iter(node.keys.values()))
    return Span(node.span.line, node.span.column, node.span.line, node.span.column + 1)
