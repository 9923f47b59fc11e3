"""The model is what the backend will read too, or the request is refused."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from edge.filters.json_body_field import JsonBodyField, without_long_strings
from tests.kit.filter_bench import Bench, field_of, on_body, status_of


def run(body: bytes, method: str = "POST", **options: object) -> tuple[int | None, str | None, str | None]:
    """(status of a refusal, model, header as sent on) for a client that also claims a model of its own."""
    bench = Bench()
    made = bench.build(JsonBodyField, **(options or {"field": "model", "header": "X-Model"}))
    exchange = bench.exchange(made, body=body, method=method, fields={"X-Model": "spoofed"})
    status = status_of(on_body(exchange))
    return status, exchange.model, field_of(exchange, "x-model")


@pytest.mark.parametrize(
    ("body", "model"),
    [
        pytest.param(b'{"model":"m","messages":[]}', "m", id="plain"),
        pytest.param(
            b'{"messages":[{"content":"model"}],"model":"m"}', "m", id="last, after its own name as text"
        ),
        pytest.param(b'{"tools":[{"model":"x"}],"model":"m"}', "m", id="a nested key of the same name"),
        pytest.param(b'{"a":"\\"model\\":\\"x\\"","model":"m"}', "m", id="the key inside a text"),
        pytest.param(b'{"model":"Qwen/Qwen3-0.6B"}', "Qwen/Qwen3-0.6B", id="a slash and dots"),
        pytest.param('{"model":"mödel"}'.encode(), "mödel", id="beyond ASCII"),
        pytest.param(b'{"model":"\\u006d"}', "m", id="an escaped value"),
        pytest.param(b' \n{"model" : "m"}\n', "m", id="white space"),
        pytest.param(b'{"model":"' + b"m" * 256 + b'"}', "m" * 256, id="as long as may be"),
    ],
)
def test_models(body: bytes, model: str) -> None:
    assert run(body) == (None, model, model)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"model":"a","model":"b"}', id="twice"),
        pytest.param(b'{"model":"a","model":"a"}', id="twice the same"),
        pytest.param(b'{"mod\\u0065l":"a","model":"b"}', id="twice, once escaped"),
        pytest.param(b'{"model":"a","\\u006Dodel":"b"}', id="twice, escaped with a capital digit"),
        pytest.param(b'{"x":{"model":1},"model":"a","model":"b"}', id="twice and nested"),
        pytest.param(b'{"model":5}', id="a number"),
        pytest.param(b'{"model":["a"]}', id="a list"),
        pytest.param(b'{"model":{"a":"b"}}', id="an object"),
        pytest.param(b'{"model":""}', id="empty"),
        pytest.param(b'{"model":null}', id="null"),
        pytest.param(b'{"model":"' + b"m" * 257 + b'"}', id="too long"),
        pytest.param(b'{"model":"a\\u0000b"}', id="a control character"),
        pytest.param(b'{"model":"a\\r\\nX-Admin: 1"}', id="a header in it"),
        pytest.param(b'{"model":"a\\u0085b"}', id="a control character beyond ASCII"),
        pytest.param(b'{"model":"\\ud800"}', id="half a character"),
        pytest.param(b'{"model":"\xff"}', id="not UTF-8"),
        pytest.param(b'{"messages":[]}', id="missing"),
        pytest.param(b"[]", id="a list as a whole"),
        pytest.param(b'"model"', id="a text as a whole"),
        pytest.param(b'{"model":"a"', id="cut off"),
        pytest.param(b'{"model":"a"} x', id="something after it"),
        pytest.param(b"\xef\xbb\xbf" + b'{"model":"a"}', id="a byte order mark"),
        pytest.param(b"", id="no body at all"),
        pytest.param(b'{"a":' * 100_000, id="very deep"),
        pytest.param(b'{"model":"a","model":' * 50_000, id="very deep and twice"),
    ],
)
def test_what_is_refused(body: bytes) -> None:
    assert run(body) == (400, None, None)


LONG = b"x" * 20_000
HUGE = b"x" * 100_000


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        pytest.param(b'{"model":"m","prompt":"%b"}', (None, "m", "m"), id="without spaces"),
        pytest.param(b'{"model": "m", "prompt": "%b"}', (None, "m", "m"), id="with spaces"),
        pytest.param(
            b'{"prompt":"%b","tools":[{"model":"x"}],"model":"m"}', (None, "m", "m"), id="a nested key"
        ),
        pytest.param(b'{"prompt":"%b"}', (400, None, None), id="missing"),
        pytest.param(b'{"model":5,"prompt":"%b"}', (400, None, None), id="a number"),
        pytest.param(b'{"model":null,"prompt":"%b"}', (400, None, None), id="null"),
        pytest.param(b'{"model":"a","prompt":"%b","model":"b"}', (400, None, None), id="twice"),
        pytest.param(
            b'{"model":"a","prompt":"%b","mod\\u0065l":"b"}', (400, None, None), id="twice, once escaped"
        ),
        pytest.param(b'{"mod\\u0065l":"a","model":"b","prompt":"%b"}', (400, None, None), id="escaped first"),
        pytest.param(
            b'{"model":"a","model":"b","prompt":"%b", "x":1}', (400, None, None), id="twice, and a space"
        ),
        pytest.param(b'["%b"]', (400, None, None), id="a list"),
        pytest.param(b'{"model":"m","prompt":"%b"', (400, None, None), id="cut off"),
        pytest.param(b'{"model":"m","prompt":"%b"}}', (400, None, None), id="something after it"),
    ],
)
def test_large_bodies_are_read_another_way_with_the_same_answer(
    body: bytes, answer: tuple[int | None, str | None, str | None]
) -> None:
    assert run(body % LONG) == answer
    assert run(body % b"") == answer
    assert run(body % HUGE) == answer
    assert run(body % (HUGE + b'\\\\\\"')) == answer


@given(
    st.lists(st.sampled_from(["model", "prompt", "n", "mode", "é", 'a"b']), max_size=5),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,", ":")]),
    st.integers(0, 40),
)
def test_a_second_model_is_found_whatever_the_spacing(
    keys: list[str], separators: tuple[str, str], padding: int
) -> None:
    comma, colon = separators
    members = [f"{json.dumps(key)}{colon}{json.dumps('v' * padding)}" for key in keys]
    body = ("{" + comma.join(members) + "}").encode()
    comma = "," if keys else ""
    longer = [body[:-1] + comma.encode() + b'"long":"' + long + b'"}' for long in (LONG, HUGE)]
    for text in (body, *longer):
        status, model, _ = run(text)
        expected = "v" * padding if keys.count("model") == 1 and padding else None
        assert (status, model) == ((None, expected) if expected else (400, None))


def test_a_refusal_never_quotes_the_body() -> None:
    bench = Bench()
    made = bench.build(JsonBodyField, field="model", header="X-Model")
    for body in (
        b'{"canary-secret": x',
        b'{"model": {"canary-secret": 1}}',
        b'{"model":"canary-secret\\u0000"}',
    ):
        response = on_body(bench.exchange(made, body=body))
        assert response is not None
        assert b"canary" not in response.body


def test_a_request_without_a_body_passes_without_the_clients_claim() -> None:
    assert run(b"", method="GET") == (None, None, None)


def test_the_field_may_be_optional() -> None:
    assert run(b"{}", field="model", header="X-Model", required=False) == (None, None, None)


def test_other_fields_are_promoted_but_are_not_the_model() -> None:
    fields = [{"field": "user", "header": "X-Model"}]
    assert run(b'{"user":"u","model":"m"}', fields=fields) == (None, None, "u")


@pytest.mark.parametrize(
    "options", [{}, {"field": "model"}, {"header": "X-Model"}, {"field": "a b", "header": "X"}]
)
def test_what_it_cannot_be_told(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Bench().build(JsonBodyField, **options)


@given(st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.text(), st.lists, max_leaves=8)))
def test_it_agrees_with_the_standard_parser(rest: dict[str, object]) -> None:
    rest.pop("model", None)
    for ascii_only in (True, False):
        body = json.dumps({**rest, "model": "m"}, ensure_ascii=ascii_only).encode(errors="surrogatepass")
        status, model, _ = run(body)
        assert (status, model) == (None, "m") or (status == 400 and not _is_utf8(body))


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.binary(max_size=80))
def test_any_bytes_are_a_model_or_a_refusal(body: bytes) -> None:
    status, model, header = run(body)
    assert (status, model, header) == (400, None, None) or (status is None and model == header is not None)


PIECES = st.sampled_from(['"', "\\", '\\"', "\\\\", "a" * 1100, "b", "{", ",", ":", "é"])


@given(st.lists(PIECES, max_size=12).map("".join), st.integers(0, 70))
def test_long_strings_end_where_the_standard_parser_says(text: str, backslashes: int) -> None:
    """Whatever a string holds, what follows it is kept, and it is empty when it was long."""
    text += "\\" * backslashes
    whole = {"a": text, "model": "m", "b": text, "filler": "x" * 300_000}  # room for 73 quotes
    body = json.dumps(whole, ensure_ascii=False).encode()
    skeleton = without_long_strings(body)
    if skeleton is not None:
        assert json.loads(skeleton) == {key: "" if _is_long(value) else value for key, value in whole.items()}
    else:
        assert max(map(len, re.findall(rb"\\+", body))) >= 64, "only so many in a row are given up on"
    assert run(body) == (None, "m", "m")


def _is_long(value: str) -> bool:
    return len(json.dumps(value, ensure_ascii=False).encode()) > 1025


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"a":"' + b'\\"' * 40_000 + b'"}', id="many quotes"),
        pytest.param(b'{"a":"' + b"\\" * 90_000 + b'"}', id="many backslashes"),
        pytest.param(b'{"a":"' + b"x" * 90_000, id="no end"),
    ],
)
def test_what_is_left_to_the_parser(body: bytes) -> None:
    assert without_long_strings(body) is None
