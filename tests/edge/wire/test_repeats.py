"""A head that is recognised means what it meant when it was parsed, whatever comes between and after."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.wire.intake import SCRATCH, Arriving, Intake
from edge.wire.limits import Limits
from edge.wire.repeats import MOST_BYTES, Pattern, pattern_of
from edge.wire.replies import Memory, ReplyReader
from tests.edge.wire.smuggling import CORPUS
from tests.kit.raw_http import get, post

HEAD = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX: 1\r\n\r\n"
CORPUS_SHORT = [row.raw for row in CORPUS if len(row.raw) < 1_000]
ORDINARY = [
    get(b"/a"),
    post(b""),
    post(b"hello"),
    post(b"x" * 300),
    post(b"0\r\n\r\n", b"/b", b"Authorization: Bearer a"),
    HEAD + b"\r\n\r\n1",
    HEAD.replace(b"5", b"005") + b"hello",
    HEAD.replace(b": 5", b":\t5") + b"hello",
]


def _requests(reads: Sequence[bytes], *, learns: bool) -> list[tuple[object, ...]]:
    """What comes out of *reads*, each request answered before the next read, as an ordinary client's are."""
    intake = Intake(Limits())
    seen = []
    for data in reads:
        if not learns:
            intake._lessons, intake._pattern = 0, None  # the parser reads every byte
        SCRATCH[: len(data)] = data
        intake.feed(SCRATCH[: len(data)])
        while intake.requests and (intake.requests[0].complete or intake.requests[0].fault is not None):
            seen.append(_seen(intake.requests.popleft()))
    return [*seen, ("closed", intake.closed, len(intake.requests))]


def _seen(request: Arriving) -> tuple[object, ...]:
    if request.fault is not None:
        return ("refused", request.fault.status)
    facts = (request.method, request.target, request.host, request.minor, request.fields, request.repeated)
    length = (request.declared_length, request.received, request.keep_alive, request.expects_continue)
    return (*facts, *length, bytes(request.body))


@given(
    st.lists(st.sampled_from([*ORDINARY, *ORDINARY, *CORPUS_SHORT]), min_size=2, max_size=12),
    st.data(),
)
@settings(max_examples=600, deadline=None)
def test_with_and_without_recognition_the_same_requests_come(
    messages: list[bytes], data: st.DataObject
) -> None:
    """Messages one a read, some cut in two, some without their end, joined with the one before or with a byte
    changed."""
    reads: list[bytes] = []
    for message in messages:
        match data.draw(st.sampled_from(("whole", "whole", "whole", "cut", "torn", "joined", "changed"))):
            case "cut":
                at = data.draw(st.integers(0, len(message)))
                reads += [message[:at], message[at:]]
            case "torn":
                reads.append(message[: data.draw(st.integers(0, len(message)))])
            case "joined" if reads:
                reads[-1] += message
            case "changed":
                at = data.draw(st.integers(0, len(message) - 1))
                reads.append(message[:at] + data.draw(st.binary(min_size=0, max_size=2)) + message[at + 1 :])
            case _:
                reads.append(message)
    reads = [read for read in reads if read]
    assert _requests(reads, learns=True) == _requests(reads, learns=False)


def test_a_repeated_head_is_recognised_with_another_length() -> None:
    intake, request = Intake(Limits()), Arriving(b"")
    for body in (b"one", b"two", b"three and more", b""):
        raw = post(body, b"/a", b"X-Model: m")
        SCRATCH[: len(raw)] = raw
        intake.feed(SCRATCH[: len(raw)])
        request = intake.requests.popleft()
        assert (bytes(request.body), request.declared_length) == (body, len(body))
        request.fields.clear()  # a filter's changes stay with its own request
    assert intake._pattern is not None
    assert request.target == b"/a"


@pytest.mark.parametrize(
    ("read", "body_at"),
    [
        pytest.param(HEAD + b"hello", len(HEAD), id="the same"),
        pytest.param(HEAD.replace(b"5", b"12") + b"hello, there", len(HEAD) + 1, id="another length"),
        pytest.param(HEAD + b"hell", 0, id="a byte missing"),
        pytest.param(HEAD + b"hello!", 0, id="a byte too many"),
        pytest.param(HEAD.replace(b"5", b"") + b"", 0, id="no digits"),
        pytest.param(HEAD.replace(b"5", b"+5") + b"hello", 0, id="a sign"),
        pytest.param(HEAD.replace(b"5", b"5 ") + b"hello", 0, id="a blank"),
        pytest.param(HEAD.replace(b"5", b"5,5") + b"hello", 0, id="a list"),
        pytest.param(HEAD.replace(b"5", "\u0665".encode()) + b"hello", 0, id="digits of another script"),
        pytest.param(HEAD.replace(b"5", b"5\r\nX: 2") + b"hello", 0, id="a field more"),
        pytest.param(HEAD.replace(b"/a", b"/b") + b"hello", 0, id="another target"),
        pytest.param(HEAD.replace(b"X: 1", b"X: 2") + b"hello", 0, id="another field"),
        pytest.param(HEAD.lower() + b"hello", 0, id="other letters"),
        pytest.param(b"\r\n" + HEAD + b"hello", 0, id="an empty line before"),
        pytest.param(b"", 0, id="nothing"),
    ],
)
def test_what_is_recognised(read: bytes, body_at: int) -> None:
    pattern = pattern_of(HEAD + b"hello", 5)
    assert pattern is not None
    assert pattern.body_at(read) == body_at


@pytest.mark.parametrize(
    ("read", "body_bytes"),
    [
        pytest.param(b"\r\n\r\n" + HEAD + b"hello", 5, id="empty lines before it"),
        pytest.param(HEAD + b"hello\r\n", 5, id="something after it"),
        pytest.param(HEAD.replace(b": 5", b":\t5") + b"hello", 5, id="a length written unusually"),
        pytest.param(HEAD.replace(b"5", b"4") + b"\r\n\r\n" + b"\r\n\r\n", 4, id="a body like a head's end"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"x" * MOST_BYTES + b"\r\n\r\n", 0, id="a long head"),
    ],
)
def test_what_is_not_remembered(read: bytes, body_bytes: int) -> None:
    assert pattern_of(read, body_bytes) is None


def test_a_head_without_a_body_is_recognised_whole() -> None:
    pattern = pattern_of(get(b"/a"), 0)
    assert isinstance(pattern, Pattern)
    assert pattern.body_at(get(b"/a")) == len(get(b"/a"))
    assert pattern.body_at(get(b"/a") + b"x") == 0


REPLY = (
    b"HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 5\r\nConnection: keep-alive, x\r\nX: 1\r\nY: 2\r\n\r\n"
)
REPLIES = [
    REPLY + b"hello",
    REPLY.replace(b"5", b"2") + b"ok",
    REPLY.replace(b"200", b"503") + b"hello",
    REPLY.replace(b"keep-alive, x", b"close") + b"hello",
    REPLY.replace(b"Content-Length: 5", b"Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" + REPLY + b"hello",
    REPLY + b"hello!",
    REPLY + b"hell",
]


@given(
    st.lists(
        st.tuples(st.sampled_from(REPLIES), st.sampled_from((b"POST", b"POST", b"GET", b"HEAD"))), max_size=12
    )
)
@settings(max_examples=400, deadline=None)
def test_replies_mean_the_same_with_and_without_recognition(replies: list[tuple[bytes, bytes]]) -> None:
    """One memory for all, as an endpoint has, against a fresh one each time; a new connection where the last
    one could not be used again."""
    memory = Memory()
    assert [_reply(memory, *each) for each in replies] == [_reply(Memory(), *each) for each in replies]


def _reply(memory: Memory, data: bytes, method: bytes) -> tuple[object, ...]:
    reader = ReplyReader(memory)
    reader.expect(method)
    SCRATCH[: len(data)] = data
    reader.feed(SCRATCH[: len(data)])
    reply = reader.reply
    facts = (reader.complete, reader.faulty, reader.excess, reader.has_begun, b"".join(reader.pieces))
    if reply is None:
        return facts
    reply.fields.append((b"x-own", b"1"))  # a filter's changes stay with its own reply
    return (*facts, reply.status, reply.fields, reply.received, reader.until, reader.length, reader.reusable)


def test_an_endpoint_whose_heads_never_repeat_is_soon_left_alone() -> None:
    memory = Memory()
    for n in range(200):
        _reply(memory, REPLY.replace(b"now", b"%d" % n) + b"hello", b"POST")
    assert memory.let_pass > 50
