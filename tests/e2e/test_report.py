"""The reports say the same of a run, whole, escaped, and need nothing beside them."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest

from e2e.lab import EAST
from e2e.numbers import Spread, failover
from e2e.play import Record
from e2e.report.documents import Result, as_json, as_junit
from e2e.report.page import page
from e2e.report.timeline import timeline
from e2e.scenario import Mark
from tests.kit.records import BEGUN, loss, record, sent

MARKS = (Mark(BEGUN + 1.0, "fault", "stop <east>"),)
REQUESTS = (
    sent(BEGUN + 0.5, cluster="gateway-provider-east"),
    sent(BEGUN + 2, cluster="gateway-provider-west"),
    sent(BEGUN + 3, status=502),
)


def result(*records: Record) -> Result:
    found = [f for r in records if (f := failover(r, EAST)) is not None]
    return Result(
        "grid-edge", "embedded", "2 cores", BEGUN, records, tuple(found), Spread.of([0.1]), ("a limit",)
    )


PASSED = record(marks=MARKS, requests=REQUESTS, revisions=loss())
FAILED = record(fault="it was <not> so", name="boundary")
SKIPPED = record(skipped="no engine", name="drain")


def test_json_holds_every_step_with_its_evidence() -> None:
    document = json.loads(as_json(result(PASSED, FAILED, SKIPPED)))
    assert document["ok"] is False
    assert [s["ok"] for s in document["scenarios"]] == [True, False, True]
    assert document["scenarios"][0]["steps"][0]["evidence"][0]["facts"] == {"n": 1}
    assert document["scenarios"][1]["notPlayed"] == ["the last thing"]
    assert document["scenarios"][0]["requests"] == {"sent": 3, "failed": 1}
    assert document["failover"]["spread"]["converged"]["max"] == pytest.approx(1.1)


def test_junit_counts_what_failed_and_what_was_not_played() -> None:
    root = ET.fromstring(as_junit(result(PASSED, FAILED, SKIPPED)))
    suites = {s.get("name"): s for s in root}
    assert [suites[n].get("failures") for n in ("failover", "boundary", "drain")] == ["0", "1", "0"]
    assert len(suites["boundary"]) == 3
    assert suites["boundary"].find("testcase/failure") is not None
    assert len(suites["drain"].findall("testcase/skipped")) == 3


def test_the_page_is_whole_and_loads_nothing() -> None:
    text = page(result(PASSED, FAILED, SKIPPED))
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import""", text)
    assert "it was &lt;not&gt; so" in text
    assert "another &lt;thing&gt;" in text
    assert "a limit" in text
    assert text.count("<svg") == text.count("</svg>") == 2


def test_the_timeline_is_xml_with_a_row_for_each_provider() -> None:
    root = ET.fromstring(timeline(PASSED))
    texts = [element.text for element in root.iter("text")]
    assert texts[:2] == ["gateway-provider-east", "gateway-provider-west"]
    assert "stop <east>" in texts
    assert "2" in texts


def test_an_empty_record_has_a_timeline_too() -> None:
    ET.fromstring(timeline(record()))
