"""Steps come in an order in which each could run alone, and wait only for what is still to be made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.plan.order import order, removal_order
from forge.plan.text import plan_text
from forge.plan.values import Change, Condition, Desired, Need, Plan, Step, Verb
from tests.kit.plans import NET, need, network, service, svc


def test_dependencies_come_first_with_their_conditions() -> None:
    desired = {
        d.key: d
        for d in (
            service("web", needs=(need("api", Condition.HEALTHY), need("db"))),
            service("api", needs=(need("db", Condition.COMPLETED),), health=True),
            service("db"),
            network(),
        )
    }
    changes = [Change(Verb.CREATE, key, "not found") for key in desired]
    assert _text(order(changes, desired)) == (
        "create service/db, not found\n"
        "create network/lab, not found\n"
        "create service/api, not found <- service/db completed\n"
        "create service/web, not found <- service/api healthy, service/db\n"
    )


def test_a_need_that_is_kept_holds_already() -> None:
    desired = {d.key: d for d in (service("web", needs=(need("db"),)), service("db"))}
    changes = [Change(Verb.CREATE, svc("web"), "not found"), Change(Verb.KEEP, svc("db"), "running")]
    assert _text(order(changes, desired)) == "create service/web, not found\n"


def test_down_removes_users_before_what_they_use() -> None:
    changes = [Change(Verb.REMOVE, key, "down") for key in (NET, svc("a"), svc("b"))]
    steps = removal_order(changes, {})
    assert _text(steps) == (
        "remove service/a, down\nremove service/b, down\nremove network/lab, down <- service/a, service/b\n"
    )


def test_steps_that_wait_for_each_other_are_a_programming_error() -> None:
    desired = {d.key: d for d in (service("a", needs=(need("b"),)), service("b", needs=(need("a"),)))}
    with pytest.raises(ValueError, match="wait for each other"):
        order([Change(Verb.CREATE, key, "") for key in desired], desired)


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    )
)
def test_every_step_comes_after_all_it_waits_for(graph: tuple[int, set[tuple[int, int]]]) -> None:
    size, edges = graph
    needs: dict[int, list[Need]] = {n: [] for n in range(size)}
    for a, b in edges:
        if a != b:
            needs[max(a, b)].append(need(str(min(a, b))))
    desired: dict[object, Desired] = {}
    for n in reversed(range(size)):
        d = service(str(n), needs=tuple(needs[n]))
        desired[d.key] = d
    steps = order(
        [Change(Verb.CREATE, d.key, "") for d in desired.values()], {d.key: d for d in desired.values()}
    )
    place = {step.change.key: i for i, step in enumerate(steps)}
    assert len(steps) == size
    assert all(place[need.key] < place[step.change.key] for step in steps for need in step.after)


def _text(steps: tuple[Step, ...]) -> str:
    return plan_text(Plan("lab", "docker", steps))
