"""Selectors choose what the real server would choose, and complain in its words."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.selectors import (
    BadSelector,
    Term,
    label_selector,
    match_fields,
    parse_fields,
    parse_labels,
)
from tests.forge.embedded.recorded import needs_recordings, pairs

X = {"app": "x", "tier": "2"}
LABELS = [
    ("", X, True),
    ("app=x", X, True),
    ("app==y", X, False),
    ("app!=y", X, True),
    ("other!=y", X, True),
    ("app in (x,y)", X, True),
    ("app notin (x, y)", X, False),
    ("other notin (x)", X, True),
    ("app", X, True),
    ("!app", X, False),
    ("! other", X, True),
    ("tier>1,tier<3", X, True),
    ("tier>2", X, False),
    ("app>1", X, False),
    ("app=x,tier=2", X, True),
    ("app=x,tier=3", X, False),
    ("empty=", {"empty": ""}, True),
    ("app in ()", {"app": ""}, True),
    ("app in (,x)", {"app": "x"}, True),
    ("in=x", {"in": "x"}, True),
    ("a.b/c=d", {"a.b/c": "d"}, True),
]


@pytest.mark.parametrize(("text", "labels", "chosen"), LABELS)
def test_what_a_label_selector_chooses(text: str, labels: dict[str, str], chosen: bool) -> None:
    assert parse_labels(text).matches(labels) is chosen


BAD_LABELS = [
    ("app in x", "unable to parse requirement: found 'x' expected: '('"),
    ("a b=c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("=x", "found '=', expected: !, identifier, or 'end of string'"),
    ("app=x=y", "found '=', expected: ',' or 'end of string'"),
    ("app=x,", "found '', expected: identifier after ','"),
    ("app in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
    (
        "tier>one",
        "unable to parse requirement: values[0]: Invalid value: \"one\": for 'Gt', 'Lt' operators, the value must be an integer",
    ),
]


@pytest.mark.parametrize(("text", "told"), BAD_LABELS)
def test_what_is_no_label_selector(text: str, told: str) -> None:
    with pytest.raises(BadSelector) as refused:
        parse_labels(text)
    assert str(refused.value) == told


FIELDS = [
    ("metadata.name=a", (Term("metadata.name", "a"),)),
    ("metadata.name==a", (Term("metadata.name", "a"),)),
    ("metadata.name!=a,spec.x=", (Term("metadata.name", "a", equal=False), Term("spec.x", ""))),
    (r"a=b\,c\=d\\", (Term("a", r"b,c=d" + "\\"),)),
    ("", ()),
]


@pytest.mark.parametrize(("text", "terms"), FIELDS)
def test_the_terms_of_a_field_selector(text: str, terms: tuple[Term, ...]) -> None:
    assert parse_fields(text) == terms


@pytest.mark.parametrize("text", ["metadata.name", "a>b", "a in (b)", r"a=b\x", "a=b=c", "a=\\"])
def test_what_is_no_field_selector(text: str) -> None:
    with pytest.raises(BadSelector, match=r"invalid (field )?selector"):
        parse_fields(text)


def test_fields_match_by_equality() -> None:
    values: dict[str, str] = {"a": "1", "b": ""}
    assert match_fields(parse_fields("a=1,b=,c!=x"), lambda f: values.get(f, ""))
    assert not match_fields(parse_fields("a!=1"), lambda f: values.get(f, ""))


def test_a_selector_object_is_the_same_conditions() -> None:
    spec: dict[str, Any] = {
        "matchLabels": {"app": "x"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["1", "2"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }
    assert label_selector(spec).matches(X)
    assert not label_selector(spec).matches({**X, "old": ""})
    assert label_selector({}).matches({})
    with pytest.raises(BadSelector):
        label_selector({"matchExpressions": [{"key": "a", "operator": "Gt"}]})


@given(st.text(alphabet="ab=!,<>() in\tnot1-/", max_size=20))
def test_any_text_is_a_selector_or_is_refused(text: str) -> None:
    for read in (parse_labels, parse_fields):
        with suppress(BadSelector):
            assert read(text) is not None


@pytest.mark.shared
@needs_recordings
def test_recorded_complaints() -> None:
    compared = 0
    for pair in pairs("kube-apiserver-1.32-cr-list"):
        query = dict(pair["request"].get("query") or {})
        if pair["response"]["status"] != 400 or not pair["id"].startswith(("label-bad", "field-bad")):
            continue
        message = pair["response"]["body"]["message"]
        if "not supported" in message:
            continue
        with pytest.raises(BadSelector) as refused:
            parse_labels(query["labelSelector"]) if "labelSelector" in query else parse_fields(
                query["fieldSelector"]
            )
        assert str(refused.value) == message
        compared += 1
    assert compared >= 11
