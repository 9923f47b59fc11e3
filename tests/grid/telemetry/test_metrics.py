"""Series are as many as the configuration allows, whatever a client sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from grid.telemetry.metrics import SECONDS, Label, Metrics


def scraped(metrics: Metrics) -> dict[str, float]:
    """`name{a=b}` -> value of every sample."""
    return {
        sample.name
        + (
            "{" + ",".join(f"{k}={v}" for k, v in sample.labels.items()) + "}" if sample.labels else ""
        ): sample.value
        for family in text_string_to_metric_families(metrics.scrape().decode())
        for sample in family.samples
    }


def test_values_outside_the_set_count_as_other() -> None:
    metrics = Metrics()
    requests = metrics.counter("requests_total", "Requests.", Label("method", {"GET"}))
    for method in ("GET", "EVIL-1", "EVIL-2", "GET"):
        requests.add(method)
    assert scraped(metrics) == {"requests_total{method=GET}": 2, "requests_total{method=other}": 2}


def test_a_counter_without_labels_starts_at_zero() -> None:
    metrics = Metrics()
    metrics.counter("reloads_total", "Reloads.")
    assert scraped(metrics) == {"reloads_total": 0}


def test_a_new_configuration_admits_its_names() -> None:
    metrics, cluster = Metrics(), Label("cluster")
    requests = metrics.counter("requests_total", "Requests.", cluster)
    cluster.admit(["east"])
    requests.add("east")
    assert scraped(metrics) == {"requests_total{cluster=east}": 1}


def test_a_histogram_is_cumulative_and_bounds_are_inclusive() -> None:
    metrics = Metrics()
    seconds = metrics.histogram("wait_seconds", "Wait.", bounds=(0.1, 1.0))
    for value in (0.1, 0.5, 7.0):
        seconds.observe(value)
    assert scraped(metrics) == {
        "wait_seconds_bucket{le=0.1}": 1,
        "wait_seconds_bucket{le=1.0}": 2,
        "wait_seconds_bucket{le=+Inf}": 3,
        "wait_seconds_count": 3,
        "wait_seconds_sum": 7.6,
    }


@given(st.lists(st.floats(0, 400) | st.sampled_from(SECONDS), max_size=200), st.integers(1, 64))
def test_a_tally_is_scraped_as_if_each_value_had_been_observed(values: list[float], length: int) -> None:
    metrics, cluster = Metrics(), Label("cluster", {"east"})
    one_by_one = metrics.histogram("a_seconds", "A.", cluster)
    together = metrics.histogram("b_seconds", "B.", cluster)
    one_by_one.cell("east"), one_by_one.cell("other")
    tally = together.tally("east")
    assert together.tally("none of them") is together.tally("other")
    for value in values:
        one_by_one.observe(value, "east")
        tally.values.append(value)
        if len(tally.values) >= length:
            tally.fold()
    found = scraped(metrics)
    assert {name[1:]: v for name, v in found.items() if name[0] == "a"} == {
        name[1:]: v for name, v in found.items() if name[0] == "b"
    }


def test_a_gauge_may_be_read_at_the_scrape() -> None:
    metrics = Metrics()
    active: dict[tuple[str, ...], float] = {("a",): 1.0}
    metrics.gauge("active", "Active.", Label("listener", {"a"}), read=lambda: active)
    active["a",] = 5.0
    assert scraped(metrics) == {"active{listener=a}": 5}


def test_a_set_gauge_keeps_its_last_value() -> None:
    metrics = Metrics()
    revision = metrics.gauge("revision", "Revision.")
    revision.set(1)
    revision.set(2)
    assert scraped(metrics) == {"revision": 2}


def test_a_name_is_declared_once() -> None:
    metrics = Metrics()
    metrics.counter("reloads_total", "Reloads.")
    with pytest.raises(ValueError, match="reloads_total is declared twice"):
        metrics.gauge("reloads_total", "Reloads.")


def test_a_wrong_number_of_labels_is_our_bug() -> None:
    requests = Metrics().counter("requests_total", "Requests.", Label("method", {"GET"}))
    with pytest.raises(ValueError, match="zip"):
        requests.add("GET", "200")
