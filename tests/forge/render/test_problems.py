"""Problems read like a compiler's, are safe on a terminal, and are plain values for programs."""

from __future__ import annotations

import json
import re

import pytest

from forge.errors import ForgeError, NotOurs, OperationFailed, Place
from forge.render.problems import (
    annotation,
    clean,
    config_errors_text,
    counted,
    error_text,
    problem_json,
    problem_text,
    problems_text,
)
from forge.spec.problems import ConfigErrors, Excerpt, Problem, Severity

SHOWN = Excerpt("        host: 8443", 15, 4)


def problem(
    *,
    severity: Severity = Severity.ERROR,
    message: str = "port 127.0.0.1:8443 is also taken",
    line: int = 41,
    excerpt: Excerpt | None = SHOWN,
    path: str = "spec.services[1].ports[0].host",
    help_: str = "choose another port",
) -> Problem:
    return Problem(
        "FG0120", severity, message, Place("forge.yaml", line, 15 if line else 0), path, help_, excerpt
    )


FULL = """\
error[FG0120]: port 127.0.0.1:8443 is also taken
   --> forge.yaml:41:15
   |
41 |         host: 8443
   |               ^^^^
   = at: spec.services[1].ports[0].host
   = help: choose another port"""


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        pytest.param(problem(), FULL, id="with everything"),
        pytest.param(
            problem(severity=Severity.WARNING, excerpt=None, path="", help_=""),
            "warning[FG0120]: port 127.0.0.1:8443 is also taken\n   --> forge.yaml:41:15",
            id="with nothing but its place",
        ),
        pytest.param(
            problem(line=0, excerpt=None, path="", help_="save it as UTF-8", message="the file is UTF-16"),
            "error[FG0120]: the file is UTF-16\n  --> forge.yaml\n  = help: save it as UTF-8",
            id="of the whole file",
        ),
        pytest.param(
            problem(excerpt=Excerpt("日本: x", 5, 1), path="", help_=""),
            "error[FG0120]: port 127.0.0.1:8443 is also taken\n   --> forge.yaml:41:15\n"
            "   |\n41 | 日本: x\n   |       ^",
            id="wide characters take two columns",
        ),
        pytest.param(
            problem(excerpt=Excerpt("", 1, 1), path="", help_=""),
            "error[FG0120]: port 127.0.0.1:8443 is also taken\n   --> forge.yaml:41:15\n   |\n41 |\n   | ^",
            id="an empty line",
        ),
    ],
)  # fmt: skip
def test_a_problem_as_text(shown: Problem, expected: str) -> None:
    assert problem_text(shown) == expected


def test_the_margin_is_as_wide_as_the_line_number() -> None:
    lines = problem_text(problem(line=12345)).splitlines()
    assert [line.index(mark) for line, mark in zip(lines[1:5], ["-->", "|", "|", "|"], strict=True)] == [
        6,
        6,
        6,
        6,
    ]


def test_colour_changes_nothing_but_colour() -> None:
    coloured = problem_text(problem(), coloured=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == FULL
    assert "\x1b" not in FULL


def test_several_problems_have_an_empty_line_between() -> None:
    assert problems_text([problem(), problem()]) == f"{FULL}\n\n{FULL}"
    assert problems_text([]) == ""


def test_a_configuration_error_lists_all_and_counts_them() -> None:
    errors = ConfigErrors("forge.yaml", [problem(), problem(line=50, severity=Severity.WARNING)])
    text = error_text(errors)
    assert text == config_errors_text(errors)
    assert text.startswith(FULL)
    assert text.endswith(
        "1 error, 1 warning in forge.yaml; nothing was changed; "
        "run `praxis-forge explain FG0120` for more on the first"
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            NotOurs("FG0301", "cannot manage network lab-net", why="it belongs to nobody", hint="rename it", changed=False),
            "error[FG0301]: cannot manage network lab-net\n   | it belongs to nobody\n   = help: rename it\n"
            "   = note: nothing was changed\n   = note: run `praxis-forge explain FG0301` for details",
            id="refused",
        ),
        pytest.param(
            OperationFailed("FG0302", "cannot start web", why="exit code 1\nno such file", changed=True,
                            place=Place("forge.yaml", 3, 4), detail=("last line of its log",)),
            "error[FG0302]: cannot start web\n  --> forge.yaml:3:4\n   | exit code 1\n   | no such file\n"
            "   | last line of its log\n   = note: what was done is kept; run the command again to go on\n"
            "   = note: run `praxis-forge explain FG0302` for details",
            id="failed half way",
        ),
        pytest.param(
            ForgeError("FG0303", "no"),
            "error[FG0303]: no\n   = note: run `praxis-forge explain FG0303` for details",
            id="the fact alone",
        ),
    ],
)  # fmt: skip
def test_any_error_as_text(error: ForgeError, expected: str) -> None:
    assert error_text(error) == expected


@pytest.mark.parametrize(
    ("problems", "expected"),
    [
        ([], "no problems"),
        ([problem()], "1 error"),
        ([problem(), problem(), problem(severity=Severity.WARNING)], "2 errors, 1 warning"),
    ],
    ids=["none", "one", "several"],
)
def test_counted(problems: list[Problem], expected: str) -> None:
    assert counted(problems) == expected


def test_a_problem_as_json() -> None:
    assert json.loads(json.dumps(problem_json(problem()))) == {
        "code": "FG0120",
        "severity": "error",
        "message": "port 127.0.0.1:8443 is also taken",
        "file": "forge.yaml",
        "line": 41,
        "column": 15,
        "path": "spec.services[1].ports[0].host",
        "help": "choose another port",
        "excerpt": {"text": "        host: 8443", "column": 15, "length": 4},
    }
    assert problem_json(problem(excerpt=None))["excerpt"] is None


def test_an_annotation_is_one_line_with_its_separators_escaped() -> None:
    assert annotation(problem(message="50%\nof: it")) == (
        "::error file=forge.yaml,line=41,col=15,title=FG0120 spec.services[1].ports[0].host::"
        "50%25\\nof: it: choose another port"
    )
    whole = problem(line=0, path="a,b:c", help_="", message="m", severity=Severity.WARNING)
    assert annotation(whole) == "::warning file=forge.yaml,title=FG0120 a%2Cb%3Ac::m"


def test_nothing_from_a_file_moves_the_cursor() -> None:
    evil = "\x1b[2J\r\x07\u202ename"
    shown = problem(message=evil, path=evil, help_=evil, excerpt=Excerpt(evil, 1, 3))
    for text in (
        problem_text(shown),
        annotation(shown),
        error_text(ForgeError("FG0303", evil, why=evil, detail=(evil,))),
    ):
        assert set(text) & {"\x1b", "\r", "\x07", "\u202e"} == set()
    assert clean("a\tb\x1b") == "a\\tb\\x1b"
    assert clean("plain ü") == "plain ü"
