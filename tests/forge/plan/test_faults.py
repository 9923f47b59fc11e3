"""Names of faults mean one thing each, and what ending a fault takes is never forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.plan.faults import KINDS, Fault, How, Part, Target, added, meant, parse, without

NAME = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("web", Target(Part.EITHER, "web")),
        ("service/web", Target(Part.SERVICE, "web")),
        ("cluster/east", Target(Part.CLUSTER, "east")),
        ("east/deployment/sim", Target(Part.WORKLOAD, "sim", "east", "Deployment")),
        ("east/deploy/sim", Target(Part.WORKLOAD, "sim", "east", "Deployment")),
        ("east/StatefulSets/db", Target(Part.WORKLOAD, "db", "east", "StatefulSet")),
        ("east/shop/rs/old", Target(Part.WORKLOAD, "old", "east", "ReplicaSet", "shop")),
    ],
)
def test_a_name_means(text: str, target: Target) -> None:
    assert parse(text) == target


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("east//sim", "empty"),
        ("east/pod/sim", "'pod' is no kind that can be scaled"),
        ("east/sim", "write SERVICE"),
        ("a/b/deploy/c/d", "write SERVICE"),
    ],
)
def test_a_name_that_means_nothing_is_told_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(text)


TARGETS = st.one_of(
    st.builds(Target, st.sampled_from([Part.SERVICE, Part.CLUSTER, Part.EITHER]), NAME),
    st.builds(
        Target, st.just(Part.WORKLOAD), NAME, NAME, st.sampled_from(sorted(KINDS)), st.one_of(st.none(), NAME)
    ),
)


@given(TARGETS)
def test_a_target_is_read_back_as_it_was_written(target: Target) -> None:
    assert parse(str(target)) == target


def test_stopping_twice_remembers_the_first_count() -> None:
    once = added((), Fault("east/shop/deployment/sim", How.STOP, 1.0, 3, "uid"))
    twice = added(once, Fault("east/shop/deployment/sim", How.KILL, 2.0, 0, "uid"))
    assert twice == (Fault("east/shop/deployment/sim", How.KILL, 1.0, 3, "uid"),)


def test_another_object_of_that_name_is_another_fault() -> None:
    once = added((), Fault("east/shop/deployment/sim", How.STOP, 1.0, 3, "uid"))
    assert added(once, Fault("east/shop/deployment/sim", How.STOP, 2.0, 2, "new"))[0].replicas == 2


FAULTS = tuple(
    Fault(name, How.STOP, 1.0)
    for name in ("service/web", "cluster/web", "east/shop/deployment/web", "east/blog/deployment/web")
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("web", ["service/web", "cluster/web"]),
        ("service/web", ["service/web"]),
        ("east/deploy/web", ["east/shop/deployment/web", "east/blog/deployment/web"]),
        ("east/shop/deploy/web", ["east/shop/deployment/web"]),
        ("west/deploy/web", []),
        ("api", []),
    ],
)
def test_which_faults_a_name_means(text: str, found: list[str]) -> None:
    assert [fault.name for fault in meant(FAULTS, parse(text))] == found


def test_one_that_is_ended_is_gone() -> None:
    assert [f.name for f in without(FAULTS, "service/web")] == [f.name for f in FAULTS[1:]]


def test_its_cause_reads_as_a_sentence() -> None:
    assert Fault("service/web", How.KILL, 1.0).cause == "fault kill service/web is ended"
