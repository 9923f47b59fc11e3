"""Lines of the source as excerpts, with everything that may be secret painted over.

Of a file that was understood, forge/spec/hidden.py knows where such values stand. A line that was
not understood keeps its keys and its punctuation, and every other word becomes asterisks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from forge.spec.hidden import hidden
from forge.spec.nodes import Node, Path, Span
from forge.spec.problems import Excerpt

MASK = "***"
_MAX_LINE = 160  # wider lines are cut round the caret: a terminal shows no more

_FIRST_KEY = r"^\s*(?:- +)*[\w./-]+(?=\s*:(?:\s|$))"
_FLOW_KEY = r"(?<=[{,])\s*[A-Za-z_][\w./-]*(?=\s*:(?:\s|$))"
_REST = r"[^\s{}\[\],:\"'#&|>-]+[\w=+/-]*"
_LINE = re.compile(f"(?P<key>{_FIRST_KEY})|{_REST}")
_FLOW_LINE = re.compile(f"(?P<key>{_FIRST_KEY}|{_FLOW_KEY})|{_REST}")
_USERINFO = re.compile(r"(?<=://)[^/@\s\"']+(?=@)")


class Painter:
    """Makes the excerpts of one file. hides: paths below which nothing is shown.

    Spans are collected, and each line is painted, once: a file may be one line of 4 MiB.
    """

    def __init__(self, lines: tuple[str, ...], root: Node, hides: Collection[Path] = ()) -> None:
        self._lines = lines
        self._root = root
        self._hides = hides
        self._spans: dict[int, list[Span]] | None = None
        self._painted: dict[int, _Painted] = {}

    def excerpt(self, span: Span) -> Excerpt | None:
        """The line *span* begins on with its caret; None beyond the last line."""
        if not 1 <= span.line <= len(self._lines):
            return None
        line = self._line(span.line)
        written = self._lines[span.line - 1]
        stop = span.end_column if span.end_line == span.line else len(written.rstrip()) + 1
        start = line.column(span.column)
        return _cut(line.text, start, max(1, line.column(stop) - start))

    def _line(self, number: int) -> _Painted:
        if self._spans is None:
            self._spans = hidden(self._root, self._hides)
        if number not in self._painted:
            self._painted[number] = _paint(self._lines[number - 1], number, self._spans.get(number, ()))
        return self._painted[number]


@dataclass(frozen=True, slots=True)
class _Painted:
    """cuts: (first column, column behind the last, first column now) of each hidden piece, in order."""

    text: str
    cuts: tuple[tuple[int, int, int], ...]

    def column(self, written: int) -> int:
        """Where a column of the written line is now; inside a hidden piece, its beginning."""
        index = bisect_right(self.cuts, written, key=lambda cut: cut[0]) - 1
        if index < 0:
            return written
        _, end, now = self.cuts[index]
        return now if written < end else now + len(MASK) + written - end


_COMMENT = re.compile(r"(?:^|[\s}\]\"'])#(.*)")  # libyaml takes one directly behind a bracket, too


def _paint(text: str, line: int, secret: Iterable[Span]) -> _Painted:
    """Comments are hidden as well: a secret that was commented out is still one. What only looks like
    a comment, in quotes, goes with them."""
    pieces: list[str] = []
    cuts: list[tuple[int, int, int]] = []
    done = now = 1
    comment = _COMMENT.search(text)
    behind = [Span(line, comment.start(1) + 1, line, len(text) + 1)] if comment else []
    for span in sorted((*secret, *behind), key=lambda s: (s.line, s.column)):
        indentation = len(text) - len(text.lstrip()) + 1 if span.line < line else 1
        begin = max(done, span.column if span.line == line else indentation)
        end = span.end_column if span.end_line == line else len(text) + 1
        if begin < end:
            pieces += (text[done - 1 : begin - 1], MASK)
            now += begin - done
            cuts.append((begin, end, now))
            now += len(MASK)
            done = end
    pieces.append(text[done - 1 :])
    return _Painted(without_userinfo("".join(pieces)), tuple(cuts))


def blind_excerpt(lines: tuple[str, ...], line: int, column: int) -> Excerpt | None:
    """As excerpt, for a file that could not be read: words become asterisks of their length."""
    if not 1 <= line <= len(lines):
        return None
    text = lines[line - 1].replace("\t", "\u2192")
    words = _LINE if "'" in text or '"' in text else _FLOW_LINE  # in a quoted text nothing is a key
    painted = words.sub(lambda m: m[0] if m["key"] else re.sub(r"\S", "*", m[0]), text)
    shown = "".join(c if c.isprintable() else "\ufffd" for c in painted)
    return _cut(shown, min(column, len(shown) + 1), 1)


def without_userinfo(text: str) -> str:
    """The text with user and password of its addresses as asterisks of their length."""
    return _USERINFO.sub(lambda m: "*" * len(m[0]), text)


def _cut(text: str, column: int, length: int) -> Excerpt:
    text = text.rstrip()
    if len(text) <= _MAX_LINE:
        return Excerpt(text, column, length)
    begin = max(0, min(column - _MAX_LINE // 2, len(text) - _MAX_LINE))
    lead = "\u2026" if begin else ""
    shown = lead + text[begin : begin + _MAX_LINE]
    at = column - begin + len(lead)
    return Excerpt(shown, at, max(1, min(length, len(shown) - at + 1)))
