"""The chain runs filters in order, stops at the first answer, fails closed, and always runs the end phase."""

from __future__ import annotations

import json

import pytest

from edge.chain import Chain, Exchange, Reply, Response, Step, Traits, refuse
from edge.wire.balance import KeyFrom
from edge.wire.faults import Cause, End, LocalFault, RemoteFault
from edge.wire.pool import Cluster, Endpoint
from tests.kit.exchanges import exchange, request


class Recording:
    """A filter that writes down what was called."""

    traits = Traits()

    def __init__(self, name: str, seen: list[str], answer: Response | None = None) -> None:
        self._name, self._seen, self._answer = name, seen, answer

    def on_head(self, exchange: Exchange) -> Response | None:
        self._seen.append(f"{self._name} head")
        return self._answer

    def on_body(self, exchange: Exchange) -> Response | None:
        self._seen.append(f"{self._name} body")
        return None

    def on_reply(self, exchange: Exchange, reply: Reply) -> None:
        self._seen.append(f"{self._name} reply")

    def on_end(self, exchange: Exchange) -> None:
        self._seen.append(f"{self._name} end")


class Failing:
    """A filter with a bug in every phase."""

    traits = Traits()

    def on_head(self, exchange: Exchange) -> Response | None:
        raise RuntimeError("head")

    def on_reply(self, exchange: Exchange, reply: Reply) -> None:
        raise RuntimeError("reply")

    def on_end(self, exchange: Exchange) -> None:
        raise RuntimeError("end")


def _cluster(name: str = "a") -> Cluster:
    return Cluster(name, [Endpoint("127.0.0.1", 1)])


def test_phases_run_forwards_for_requests_and_backwards_for_replies() -> None:
    seen: list[str] = []
    made = exchange(chain=Chain([Step("a", Recording("a", seen)), Step("b", Recording("b", seen))]))
    made.on_head()
    made.on_body()
    made.on_reply(Reply(200, []))
    made.on_end(End.COMPLETE, 3)
    assert seen == ["a head", "b head", "a body", "b body", "b reply", "a reply", "b end", "a end"]
    assert (made.status, made.end, made.sent_bytes) == (200, End.COMPLETE, 3)


def test_the_first_answer_stops_the_phase() -> None:
    seen: list[str] = []
    steps = [Step("a", Recording("a", seen, Response(403))), Step("b", Recording("b", seen))]
    assert exchange(chain=Chain(steps)).on_head() == Response(403)
    assert seen == ["a head"]


def test_a_filter_that_breaks_refuses_the_request() -> None:
    made = exchange(chain=Chain([Step("a", Failing())]))
    response = made.on_head()
    assert response is not None
    assert response.status == 500
    assert made.refusal == "internal_error"


def test_a_filter_that_breaks_is_passed_over_when_it_may_fail_open() -> None:
    seen: list[str] = []
    chain = Chain([Step("a", Failing(), open_on_error=True), Step("b", Recording("b", seen))])
    assert exchange(chain=chain).on_head() is None
    assert seen == ["b head"]


def test_a_filter_that_breaks_keeps_no_other_from_reply_and_end() -> None:
    seen: list[str] = []
    made = exchange(chain=Chain([Step("a", Recording("a", seen)), Step("b", Failing())]))
    made.on_reply(Reply(200, []))
    made.on_end(End.CLIENT_GONE, 0)
    assert seen == ["a reply", "a end"]


def _only_get(exchange: Exchange) -> bool:
    return exchange.request.method == b"GET"


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        pytest.param(b"GET", ["a head", "a reply", "a end"], id="it applies"),
        pytest.param(b"POST", ["a end"], id="it does not, and its end still runs"),
    ],
)
def test_a_condition_guards_all_phases_but_the_end(method: bytes, expected: list[str]) -> None:
    seen: list[str] = []
    made = exchange(request(method), chain=Chain([Step("a", Recording("a", seen), applies=_only_get)]))
    made.on_head()
    made.on_reply(Reply(200, []))
    made.on_end(End.COMPLETE, 0)
    assert seen == expected


def test_without_a_chosen_cluster_the_answer_is_404() -> None:
    response = exchange().on_body()
    assert isinstance(response, Response)
    assert response.status == 404


def test_a_refusal_is_openai_shaped_and_carries_the_request_id() -> None:
    made = exchange()
    made.request_id = "r-1"
    response = refuse(made, 429, "rate_limit_exceeded", retry_after_s=3)
    assert json.loads(response.body) == {
        "error": {
            "message": "Too many requests. Try again later.",
            "type": "rate_limit_error",
            "param": None,
            "code": "rate_limit_exceeded",
            "request_id": "r-1",
        }
    }
    assert (b"retry-after", b"3") in response.fields


def test_what_the_engine_found_keeps_its_status_and_param() -> None:
    response = exchange().refuse(LocalFault(400, "bad_json", "No.", param="model"))
    assert json.loads(response.body)["error"]["param"] == "model"


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (Cause.REFUSED, 502),
        (Cause.PROTOCOL, 502),
        (Cause.CONNECT_TIMEOUT, 504),
        (Cause.FIRST_BYTE_TIMEOUT, 504),
        (Cause.NO_ENDPOINT, 503),
        (Cause.FULL, 503),
    ],
)
def test_an_upstream_fault_has_one_status_and_tells_no_topology(cause: Cause, status: int) -> None:
    response = exchange().on_unsent(RemoteFault(cause, unsent=True, endpoint="10.0.0.9:8000"))
    assert isinstance(response, Response)
    assert response.status == status
    assert b"10.0.0.9" not in response.body
    assert ((b"retry-after", b"1") in response.fields) == (status == 503)


def test_another_cluster_is_tried_when_the_routing_has_one_left() -> None:
    made, other = exchange(), _cluster("b")
    left = [other]
    made.next_upstream = lambda _: left.pop() if left else None
    fault = RemoteFault(Cause.REFUSED, unsent=True)
    assert made.on_unsent(fault) is other
    assert ([attempt.cause for attempt in made.attempts], made.fault) == ([fault.cause], None)
    assert isinstance(made.on_unsent(fault), Response)
    assert made.fault is fault
    assert made.unsent


@pytest.mark.parametrize(
    ("trusted", "value", "expected"),
    [
        pytest.param(True, b"1", True, id="a trusted hop's word"),
        pytest.param(False, b"1", False, id="anybody else's word"),
        pytest.param(True, b"yes", False, id="not the exact word"),
    ],
)
def test_unsent_is_believed_of_trusted_hops_only(trusted: bool, value: bytes, expected: bool) -> None:
    made = exchange()
    made.trusts_unsent = trusted
    assert made.says_unsent(Reply(503, [(b"x-ai-provider-unsent", value)])) is expected


def test_the_body_bound_is_only_tightened() -> None:
    made = exchange()
    made.bound_body(5)
    made.bound_body(9)
    assert made.body_limit == 5


def test_a_chain_keeps_its_steps() -> None:
    step = Step("a", Recording("a", []))
    assert Chain([step]).steps == (step,)


@pytest.mark.parametrize(
    ("key_from", "fields", "session", "expected"),
    [
        pytest.param(KeyFrom("header", b"x-user"), {b"x-user": b"u"}, None, b"u", id="header"),
        pytest.param(KeyFrom("header", b"x-user"), {b"x-user": b""}, None, b"", id="empty header"),
        pytest.param(KeyFrom("header", b"x-user"), {}, b"s", b"/v1/a", id="no header: the path"),
        pytest.param(KeyFrom("path"), {}, b"s", b"/v1/a", id="path without its query"),
        pytest.param(KeyFrom("session"), {}, b"s", b"s", id="session"),
        pytest.param(KeyFrom("session"), {}, None, b"198.51.100.1", id="no session: the client"),
        pytest.param(KeyFrom("client_address"), {}, b"s", b"198.51.100.1", id="client"),
    ],
)
def test_what_keeps_requests_together(
    key_from: KeyFrom, fields: dict[bytes, bytes], session: bytes | None, expected: bytes
) -> None:
    made = exchange(request(target=b"/v1/a?b=c", fields=fields))
    made.client_address, made.session = "198.51.100.1", session
    assert made.balance_key(key_from) == expected
