"""What the parser cannot read is said in our words, at the place that explains it, without a value."""

from __future__ import annotations

import pytest
import yaml

from forge.spec.compose import compose
from forge.spec.events import MAX_DEPTH, Stop, events


def test_events_come_with_their_places(parser: str) -> None:
    found = [(type(e).__name__, e.start_mark.line, e.start_mark.column) for e in events("a: [1]")]
    assert found[2:7] == [
        ("MappingStartEvent", 0, 0),
        ("ScalarEvent", 0, 0),
        ("SequenceStartEvent", 0, 3),
        ("ScalarEvent", 0, 4),
        ("SequenceEndEvent", 0, 5),
    ]


def test_a_complaint_is_a_stop_and_no_error_of_the_parser(parser: str) -> None:
    with pytest.raises(Stop) as raised:
        list(events("a: [1"))
    assert raised.value.fault.fatal
    assert not isinstance(raised.value, yaml.YAMLError)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("\ta: 1", "FG0101 1:1 a tab stands where YAML wants spaces", id="a tab at the start"),
        pytest.param("a:\n\tb: 1", "FG0101 2:1 a tab stands where YAML wants spaces", id="a tab as indentation"),
        pytest.param("a: b: c", "FG0101 1:5 a colon here makes no sense", id="two colons"),
        pytest.param("a: @b", "FG0101 1:4 a value cannot begin with this character", id="a reserved character"),
        pytest.param("a: 'b\nc: d\n", "FG0101 1:4 the quote opened here is never closed", id="an open quote"),
        pytest.param("a: {b: c\n", "FG0101 2:1 a comma or } is missing here", id="an open brace"),
        pytest.param("a: [b\n", "FG0101 2:1 a comma or ] is missing here", id="an open bracket"),
        pytest.param("- a\nb: c\n", "FG0101 2:1 this line fits no list or mapping above it", id="a list left"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_fault_where_it_is(text: str, expected: str, parser: str) -> None:
    assert [f"{f.code} {f.span.line}:{f.span.column} {f.message}" for f in compose(text).faults] == [expected]


def test_too_many_brackets_end_the_reading(parser: str) -> None:
    (fault,) = compose("[" * 5000).faults
    assert fault.message == f"nested deeper than {MAX_DEPTH} levels"


def test_an_unknown_escape_is_named(parser: str) -> None:
    (fault,) = compose('a: "\\z"').faults
    assert (fault.code, fault.span.line, fault.message) == ("FG0101", 1, "an unknown escape in double quotes")


def test_a_fault_never_quotes_a_value(parser: str) -> None:
    for text in (
        "p: *CANARY",
        "p: !CANARY x",
        "p: @CANARY",
        "p: %CANARY",
        "p: 'CANARY",
        "p: CANARY: x",
        "CANARY\np: x",
    ):
        for fault in compose(text).faults:
            assert "CANARY" not in fault.message + fault.help, text
