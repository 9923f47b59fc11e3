"""The parser's events, and its complaints in our words. The only door to PyYAML's reading half.

libyaml gives the events, or PyYAML's own parser where that is missing; both say the same here. What
an event means is decided in forge/spec/compose.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from forge.spec.nodes import Span
from forge.spec.text import lines_of

MAX_DEPTH = 64
"""Levels of nesting. Real files have 12; Helm values rarely more than 20."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something the text itself gets wrong. fatal: nothing behind it was read."""

    code: str
    message: str
    span: Span
    help: str = ""
    fatal: bool = False


class Stop(Exception):
    """Carries a fatal fault out of the recursion."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def stop(code: str, message: str, span: Span, help_: str = "") -> Stop:
    """A fatal fault, to be raised."""
    return Stop(Fault(code, message, span, help_, fatal=True))


def events(text: str) -> Iterator[Any]:
    """The parser's events; its errors as Stop."""
    loader: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    parser = loader(text)
    try:
        while parser.check_event():
            yield parser.get_event()
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, text) from None
    except (yaml.YAMLError, ValueError):
        raise stop("FG0101", "cannot be read as YAML", Span(1, 1, 1, 2)) from None
    finally:
        parser.dispose()


_WORDING: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a colon here makes no sense",
        "put a value with a colon and a space in quotes",
    ),
    ("could not find expected ':'", "a colon is missing after a key", "check this line and the one above"),
    ("cannot start any token", "a value cannot begin with this character", "put the value in quotes"),
    ("maximum nesting depth", f"nested deeper than {MAX_DEPTH} levels", ""),
    (
        "expected '-' indicator",
        "this line fits no list or mapping above it",
        "check the indentation",
    ),
    ("block end", "this line fits no list or mapping above it", "check the indentation"),
    ("expected ',' or '}'", "a comma or } is missing here", "put a value that holds { or } in quotes"),
    ("expected ',' or ']'", "a comma or ] is missing here", "put a value that holds [ or ] in quotes"),
    ("alias", "not a valid alias", "put a value that begins with * in quotes"),
    ("anchor", "not a valid anchor", "put a value that begins with & in quotes"),
    ("tag", "not a valid tag", "put a value that begins with ! in quotes"),
    ("escape", "an unknown escape in double quotes", "use single quotes, or double the backslash"),
)
"""What the parser's words mean to whoever wrote the file: part of its message, ours, a way out."""


def _syntax(error: yaml.MarkedYAMLError, text: str) -> Stop:
    """The parser's complaint in our words, at the place that explains it. Quotes nothing of the file."""
    mark, context = error.problem_mark or error.context_mark, error.context_mark
    problem = error.problem or "cannot be read as YAML"
    if context and "quoted scalar" in (error.context or "") and "end of stream" in problem:
        span = Span(context.line + 1, context.column + 1, context.line + 1, context.column + 2)
        return stop("FG0101", "the quote opened here is never closed", span, "close it")
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    span = Span(line, column, line, column + 1)
    if mark and _character(text, line, column) == "\t":
        return stop("FG0101", "a tab stands where YAML wants spaces", span, "indent with spaces")
    for part, message, help_ in _WORDING:
        if part in problem:
            return stop("FG0101", message, span, help_)
    help_ = f"it begins in line {context.line + 1}" if context and context.line + 1 != line else ""
    return stop("FG0101", problem, span, help_)


def _character(text: str, line: int, column: int) -> str:
    lines = lines_of(text)
    return lines[line - 1][column - 1 : column] if line <= len(lines) else ""
