"""Paths lead where kubectl's lead; what is not there gives nothing; any text is a path or is refused with a place."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.stack.jsonpath import JsonPathBroken, parse

SERVICE: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"a.b/c": "dotted", "app": "web"}},
    "spec": {"clusterIP": "10.96.0.7", "ports": [{"name": "http", "port": 80}, {"name": "tls", "port": 443}]},
    "status": {
        "loadBalancer": {"ingress": [{"ip": "10.0.0.9"}, {"ip": "10.0.0.10"}]},
        "conditions": [
            {"type": "Ready", "status": "True", "n": 3, "ok": True},
            {"type": "Synced", "status": "False", "n": 5, "ok": False},
        ],
        "empty": None,
        "zero": 0,
        "ratio": 0.5,
    },
}

ROWS = [
    pytest.param("{.spec.clusterIP}", "10.96.0.7", id="field"),
    pytest.param(".spec.clusterIP", "10.96.0.7", id="without braces"),
    pytest.param("{spec.clusterIP}", "10.96.0.7", id="without the first dot"),
    pytest.param("{$.spec.clusterIP}", "10.96.0.7", id="from the root"),
    pytest.param("{ .spec.clusterIP }", "10.96.0.7", id="spaces"),
    pytest.param("{.status.loadBalancer.ingress[0].ip}", "10.0.0.9", id="index"),
    pytest.param("{.status.loadBalancer.ingress[-1].ip}", "10.0.0.10", id="from the end"),
    pytest.param("{.status.loadBalancer.ingress[5].ip}", "", id="no such item"),
    pytest.param("{.status.loadBalancer.ingress[*].ip}", "10.0.0.9 10.0.0.10", id="all items"),
    pytest.param("{.spec.ports[0:1].port}", "80", id="slice"),
    pytest.param("{.spec.ports[1:].port}", "443", id="open slice"),
    pytest.param("{.spec.ports[0,1].port}", "80 443", id="two items"),
    pytest.param("{..port}", "80 443", id="at any depth"),
    pytest.param("{.metadata.labels.*}", "dotted web", id="all fields"),
    pytest.param(r"{.metadata.labels.a\.b/c}", "dotted", id="escaped dot"),
    pytest.param("{.metadata.labels['a.b/c']}", "dotted", id="quoted key"),
    pytest.param(r'{.metadata.labels["a\.b/c"]}', "dotted", id="quoted and escaped"),
    pytest.param('{.status.conditions[?(@.type=="Ready")].status}', "True", id="filter"),
    pytest.param("{.status.conditions[?(@.type == 'Synced')].status}", "False", id="filter with spaces"),
    pytest.param('{.status.conditions[?(@.type!="Ready")].type}', "Synced", id="not equal"),
    pytest.param("{.status.conditions[?(@.n>3)].type}", "Synced", id="greater"),
    pytest.param("{.status.conditions[?(@.n<=3)].type}", "Ready", id="at most"),
    pytest.param("{.status.conditions[?(@.ok==true)].type}", "Ready", id="truth"),
    pytest.param("{.status.conditions[?(@.missing)].type}", "", id="filter by what is not there"),
    pytest.param("{.status.conditions[?(@.n)].type}", "Ready Synced", id="filter by what is there"),
    pytest.param("{.status.zero}", "0", id="zero is a value"),
    pytest.param("{.status.ratio}", "0.5", id="fraction"),
    pytest.param("{.status.empty}", "", id="null is none"),
    pytest.param("{.status.loadBalancer.ingress[0]}", '{"ip":"10.0.0.9"}', id="mapping as JSON"),
    pytest.param("{.status.conditions[0].ok}", "true", id="true"),
    pytest.param("{.not.there}", "", id="nothing there"),
    pytest.param("{.spec.clusterIP.deeper}", "", id="below a text"),
    pytest.param(
        "http://{.spec.clusterIP}:{.spec.ports[0].port}/", "http://10.96.0.7:80/", id="text round it"
    ),
    pytest.param('{.metadata.name}{"-"}{.spec.clusterIP}', "web-10.96.0.7", id="literal"),
]


@pytest.mark.parametrize(("path", "expected"), ROWS)
def test_a_path_gives_what_it_leads_to(path: str, expected: str) -> None:
    assert parse(path).text(SERVICE) == expected


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("{.a", "never closed", id="open brace"),
        pytest.param("{.a[}", "brackets want", id="open bracket"),
        pytest.param("{.a[0}", "] is missing", id="unclosed bracket"),
        pytest.param("{.a['x]}", "quote", id="open quote"),
        pytest.param("{.a[?(@.x==)]}", "compares", id="filter without a value"),
        pytest.param("{.a[?(@.x==1]}", ") is missing", id="open filter"),
        pytest.param("{range .items[*]}{.x}{end}", "range", id="range"),
        pytest.param("{.a b}", "no part", id="two words"),
        pytest.param("{..}", "name of a field", id="two dots alone"),
        pytest.param("{" + ".a[?(@" * 100 + "}", "filters", id="filters inside filters"),
        pytest.param("." + "a" * 5000, "characters", id="too long"),
    ],
)
def test_a_path_that_cannot_be_read_is_refused(path: str, reason: str) -> None:
    with pytest.raises(JsonPathBroken, match=re.escape(reason)) as caught:
        parse(path)
    assert 0 <= caught.value.offset <= len(path)


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(st.text(alphabet="{}[].*$@?()'\"=!<>0123-:,ab \\", max_size=30) | st.text(max_size=30), DOCUMENTS)
def test_any_text_is_a_path_or_refused_with_its_place(text: str, document: object) -> None:
    offset, printed = 0, ""
    try:
        printed = parse(text).text(document)
    except JsonPathBroken as broken:
        offset = broken.offset
    assert 0 <= offset <= len(text)
    assert isinstance(printed, str)


@given(st.text(min_size=1, max_size=20), DOCUMENTS.filter(lambda d: d is not None))
def test_any_key_can_be_reached(key: str, value: object) -> None:
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    assert parse("{['" + quoted + "']}").values({key: value}) == (value,)
