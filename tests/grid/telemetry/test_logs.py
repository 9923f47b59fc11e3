"""Only listed facts reach a line, and a line stays one bounded JSON object."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from grid.telemetry import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root, kept = logging.getLogger(), logging.getLogger().handlers[:]
    level, raising = root.level, logging.raiseExceptions
    made = io.StringIO()
    logs.configure(made)
    yield made
    root.handlers[:], logging.raiseExceptions = kept, raising
    root.setLevel(level)


def test_a_line_carries_its_facts_as_fields(stream: io.StringIO) -> None:
    logging.getLogger("edge.test").info("overlay accepted", extra={"revision": 42, "digest": "sha256:ab"})
    line = json.loads(stream.getvalue())
    assert {k: line[k] for k in ("level", "log", "msg", "revision", "digest")} == {
        "level": "info",
        "log": "edge.test",
        "msg": "overlay accepted",
        "revision": 42,
        "digest": "sha256:ab",
    }


def test_a_fact_that_is_not_listed_shows_its_name_and_never_its_value(stream: io.StringIO) -> None:
    logging.getLogger("edge.test").info("request", extra={"authorization": "Bearer canary", "status": 200})
    assert "canary" not in stream.getvalue()
    assert json.loads(stream.getvalue())["dropped"] == ["authorization"]


def test_an_exception_is_its_type_and_places_without_its_message(stream: io.StringIO) -> None:
    try:
        raise ValueError("canary")
    except ValueError:
        logging.getLogger("edge.test").exception("request failed")
    line = json.loads(stream.getvalue())
    assert "canary" not in stream.getvalue()
    assert line["error"] == "ValueError"
    assert line["trace"][-1].startswith("test_logs.py:")


def test_text_with_line_breaks_stays_one_line(stream: io.StringIO) -> None:
    logging.getLogger("edge.test").info("request", extra={"path": 'a\n{"level":"error"}\u2028b'})
    assert len(stream.getvalue().splitlines()) == 1
    assert json.loads(stream.getvalue())["path"] == 'a\n{"level":"error"}\u2028b'


def test_libraries_are_heard_from_warning_on(stream: io.StringIO) -> None:
    logging.getLogger("httpx").info("HTTP Request: GET with a header")
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("x" * 2000, "x" * 511 + "…", id="long text is cut"),
        pytest.param(list(range(100)), list(range(32)), id="long lists are cut"),
        pytest.param(None, None, id="nothing stays nothing"),
        pytest.param(1.5, 1.5, id="numbers stay numbers"),
        pytest.param({"a": 1}, "{'a': 1}", id="anything else is text"),
    ],
)
def test_values_are_bounded(value: object, shown: object) -> None:
    assert logs.bounded(value) == shown


def test_no_listed_name_is_one_that_logging_has_for_itself() -> None:
    assert not logs.FIELDS & vars(logging.makeLogRecord({})).keys()
