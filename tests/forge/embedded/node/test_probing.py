"""What a row of answers means for a container."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.node.probing import Kind, Rule, begin, judge, rule, wait_s

RULE = Rule(delay_s=0, period_s=10, timeout_s=1, successes=1, failures=3)


def results(kind: Kind, answers: str, law: Rule = RULE, every_s: float = 10.0) -> str:
    """`+` or `-` after each answer: whether it passes."""
    standing, said = begin(kind), ""
    for index, answer in enumerate(answers):
        standing = judge(standing, law, 100 + index * every_s, ok=answer == "+")
        said += "+" if standing.passed else "-"
    return said


@pytest.mark.parametrize(
    ("kind", "answers", "expected"),
    [
        pytest.param(
            Kind.READINESS,
            "--+--+---+",
            "--+++++" + "+" + "-" + "+",
            id="ready until three failures in a row",
        ),
        pytest.param(Kind.LIVENESS, "--+---", "+++++-", id="alive until three failures in a row"),
        pytest.param(Kind.STARTUP, "-----+", "-----+", id="not started before the first success"),
    ],
)
def test_results_follow_the_thresholds(kind: Kind, answers: str, expected: str) -> None:
    assert results(kind, answers) == expected


def test_successes_may_have_to_come_in_a_row() -> None:
    assert results(Kind.READINESS, "+-++-+", Rule(0, 10, 1, successes=2, failures=1)) == "---+--"


def test_early_failures_do_not_count_against_a_container() -> None:
    standing = begin(Kind.STARTUP)
    for index in range(40):
        standing = judge(standing, RULE, 100 + index * 0.5, ok=False)
        assert not standing.failed
    assert standing.row == 2


@given(st.lists(st.floats(0.01, 30), max_size=40))
def test_a_startup_fails_only_after_its_periods(gaps: list[float]) -> None:
    standing, now, begun = begin(Kind.STARTUP), 50.0, 50.0
    for gap in gaps:
        standing = judge(standing, RULE, now, ok=False)
        if standing.failed:
            assert now - begun >= RULE.period_s * (RULE.failures - 1)
            return
        now += gap


def test_questions_come_quickly_at_first_and_by_the_period_later() -> None:
    standing = begin(Kind.READINESS)
    waits = []
    for index in range(12):
        waits.append(wait_s(standing, RULE))
        standing = judge(standing, RULE, 100 + index, ok=False)
    assert waits == sorted(waits)
    assert waits[0] < 0.1
    assert waits[-1] <= 1.0
    assert wait_s(judge(standing, RULE, 200, ok=True), RULE) == 10


def test_what_a_probe_leaves_out_is_kubernetes_default() -> None:
    assert rule({}) == Rule(0, 10, 1, 1, 3)
