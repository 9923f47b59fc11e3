"""Problems and errors as people and programs read them: text like rustc's, and plain values for JSON.

    error[FG0120]: port 127.0.0.1:8443 is also taken by "edge"
      --> forge.yaml:41:15
       |
    41 |         host: 8443
       |               ^^^^
       = at: spec.services[1].ports[0].host
       = help: choose another port

Excerpts come masked; everything else is cleaned of control characters here, so that a name from the
file cannot move a terminal's cursor.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from forge.errors import ForgeError, Place
from forge.render.style import Style
from forge.spec.problems import ConfigErrors, Excerpt, Problem, Severity


def error_text(error: ForgeError, *, coloured: bool = False) -> str:
    """Any failure as text, without a line end: all problems of a configuration, or the one fact."""
    if isinstance(error, ConfigErrors):
        return config_errors_text(error, coloured=coloured)
    style = Style(coloured)
    lines = [_title(style, "error", "red", error.code, error.what)]
    if error.place:
        lines.append(f"  {style.paint('-->', 'blue')} {clean(str(error.place))}")
    lines += [
        f"   {style.paint('|', 'blue')} {clean(line)}" for line in (*error.why.splitlines(), *error.detail)
    ]
    notes = [("help", error.hint), ("note", _changed(error.changed)), ("note", explain_line(error.code))]
    lines += [_note(style, "   ", word, text) for word, text in notes if text]
    return "\n".join(lines)


def config_errors_text(error: ConfigErrors, *, coloured: bool = False) -> str:
    """Every problem, then how many there are and that nothing was changed."""
    codes = [p.code for p in error.problems if p.is_error]
    last = f"{counted(error.problems)} in {clean(error.file)}; nothing was changed"
    hint = f"run `praxis-forge explain {codes[0]}` for more on the first"
    return f"{problems_text(error.problems, coloured=coloured)}\n\n{last}; {hint}"


def problems_text(problems: Iterable[Problem], *, coloured: bool = False) -> str:
    """Problems one below the other, an empty line between."""
    return "\n\n".join(problem_text(problem, coloured=coloured) for problem in problems)


def problem_text(problem: Problem, *, coloured: bool = False) -> str:
    """One problem with its excerpt."""
    style = Style(coloured)
    tint = "red" if problem.is_error else "yellow"
    margin = " " * len(str(problem.place.line))
    lines = [_title(style, problem.severity.value, tint, problem.code, problem.message)]
    lines.append(f"{margin} {style.paint('-->', 'blue')} {clean(str(problem.place))}")
    if problem.excerpt:
        lines += _excerpt(problem.excerpt, problem.place, margin, style, tint)
    notes = [("at", problem.path), ("help", problem.help)]
    lines += [_note(style, f"{margin} ", word, text) for word, text in notes if text]
    return "\n".join(lines)


def counted(problems: Sequence[Problem]) -> str:
    """`2 errors, 1 warning`."""
    parts = []
    for severity in Severity:
        count = sum(p.severity is severity for p in problems)
        if count:
            parts.append(f"{count} {severity.value}" + ("s" if count > 1 else ""))
    return ", ".join(parts) or "no problems"


def problem_json(problem: Problem) -> dict[str, object]:
    """A problem for JSON. line and column are 0 where the whole file is meant; excerpt may be None."""
    shown = problem.excerpt
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
        "file": problem.place.file,
        "line": problem.place.line,
        "column": problem.place.column,
        "path": problem.path,
        "help": problem.help,
        "excerpt": {"text": shown.text, "column": shown.column, "length": shown.length} if shown else None,
    }


def annotation(problem: Problem) -> str:
    """A problem as GitHub's workflow command, which shows it beside the line of the file."""
    text = f"{problem.message}: {problem.help}" if problem.help else problem.message
    where = f"file={_property(problem.place.file)}"
    if problem.place.line:
        where += f",line={problem.place.line},col={problem.place.column}"
    title = _property(f"{problem.code} {problem.path}".strip())
    return f"::{problem.severity.value} {where},title={title}::{_escaped(clean(text))}"


def explain_line(code: str) -> str:
    """Where more is said on a code."""
    return f"run `praxis-forge explain {code}` for details"


def clean(text: str) -> str:
    """The text with control and invisible characters written as escapes, so that it stays one line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _title(style: Style, severity: str, tint: str, code: str, message: str) -> str:
    return style.paint(f"{severity}[{code}]", "bold", tint) + style.paint(f": {clean(message)}", "bold")


def _excerpt(shown: Excerpt, place: Place, margin: str, style: Style, tint: str) -> Iterator[str]:
    before, marked = shown.text[: shown.column - 1], shown.text[shown.column - 1 :][: shown.length]
    carets = style.paint("^" * max(1, _width(clean(marked))), tint)
    bar = style.paint("|", "blue")
    yield f"{margin} {bar}"
    yield f"{style.paint(str(place.line), 'blue')} {bar} {clean(shown.text)}".rstrip()
    yield f"{margin} {bar} {' ' * _width(clean(before))}{carets}"


def _width(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _note(style: Style, margin: str, word: str, text: str) -> str:
    return f"{margin}{style.paint('=', 'blue')} {style.paint(f'{word}:', 'bold')} {clean(text)}"


def _changed(changed: bool | None) -> str:
    if changed is None:
        return ""
    return "what was done is kept; run the command again to go on" if changed else "nothing was changed"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(clean(text)).replace(":", "%3A").replace(",", "%2C")
