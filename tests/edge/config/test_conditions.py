"""Conditions are ANDed, and hold on the normalised path."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from edge.config.conditions import Condition, ReplyCondition, compile_reply, compile_request


def request(*conditions: dict[str, object]) -> bool:
    test = compile_request([Condition.model_validate(c) for c in conditions])
    assert test is not None
    return test(b"POST", b"/v1//chat/%63ompletions", {b"x-team": b"blue"})


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        pytest.param([{"when": {"path": "/v1/chat/completions"}}], True, id="the exact path, normalised"),
        pytest.param([{"when": {"path_prefix": "/v1"}}], True, id="a prefix"),
        pytest.param([{"when": {"path_prefix": "/v"}}], False, id="half a segment"),
        pytest.param([{"when": {"methods": ["post"]}}], True, id="a method in any case"),
        pytest.param([{"when": {"methods": ["GET"]}}], False, id="another method"),
        pytest.param([{"when": {"headers": {"X-Team": "blue"}}}], True, id="a header"),
        pytest.param([{"when": {"headers": {"X-Team": "Blue"}}}], False, id="a header's exact value"),
        pytest.param([{"unless": {"path_prefix": "/v1"}}], False, id="unless"),
        pytest.param([{"when": {"path_prefix": "/v1", "methods": ["GET"]}}], False, id="all of a match"),
        pytest.param(
            [{"when": {"path_prefix": "/v1"}}, {"unless": {"methods": ["POST"]}}], False, id="all of them"
        ),
    ],
)
def test_requests(conditions: list[dict[str, object]], holds: bool) -> None:
    assert request(*conditions) is holds


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        pytest.param({"when": {"status": [200, 204]}}, True, id="one of the statuses"),
        pytest.param({"unless": {"status": [200]}}, False, id="unless"),
        pytest.param({"when": {"headers": {"Content-Type": "text/plain"}}}, False, id="another header"),
    ],
)
def test_replies(condition: dict[str, object], holds: bool) -> None:
    test = compile_reply([ReplyCondition.model_validate(condition)])
    assert test is not None
    assert test(200, {b"content-type": b"application/json"}.get) is holds


def test_no_conditions_are_no_test() -> None:
    assert compile_request([]) is None
    assert compile_reply([]) is None


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        pytest.param({}, "exactly one of when, unless", id="neither"),
        pytest.param({"when": {"path": "/a"}, "unless": {"path": "/b"}}, "exactly one", id="both"),
        pytest.param({"when": {}}, "at least one of", id="an empty match"),
        pytest.param(
            {"when": {"path": "//a"}}, "must begin with '/' and be normalised", id="could never hold"
        ),
        pytest.param({"when": {"path": "a"}}, "must begin with '/'", id="not a path"),
        pytest.param({"when": {"host": "a"}}, "host", id="unknown key"),
    ],
)
def test_what_a_condition_cannot_be(condition: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Condition.model_validate(condition)
