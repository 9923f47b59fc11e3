"""Problems are sorted by place, each once, and an error of the file names the first."""

from __future__ import annotations

from forge.errors import ForgeError, Place
from forge.spec.problems import ConfigErrors, Problem, Severity, by_place


def problem(line: int, code: str = "FG0104", severity: Severity = Severity.ERROR) -> Problem:
    return Problem(code, severity, f"m{line}", Place("f", line, 1), help="h")


def test_by_place_sorts_and_drops_repetition() -> None:
    assert by_place([problem(3), problem(1), problem(3), problem(2)]) == (problem(1), problem(2), problem(3))


def test_config_errors_are_a_usage_error_that_changed_nothing() -> None:
    errors = ConfigErrors("f", [problem(5), problem(1, severity=Severity.WARNING), problem(3, "FG0105")])
    assert isinstance(errors, ForgeError)
    assert (errors.exit_code, errors.changed, errors.code) == (2, False, "FG0105")
    assert (errors.what, errors.why, errors.place) == ("f cannot be used: 2 problems", "m3", Place("f", 3, 1))
    assert [p.place.line for p in errors.problems] == [1, 3, 5]


def test_one_problem_is_one() -> None:
    assert ConfigErrors("f", [problem(1)]).what == "f cannot be used: 1 problem"
