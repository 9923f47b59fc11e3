"""However bytes are cut into reads, the same requests come out; and what a client can make us hold is
bounded."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from edge.wire.intake import SCRATCH, Arriving, Intake
from edge.wire.limits import Limits
from tests.edge.wire.smuggling import CORPUS
from tests.kit.raw_http import get, post

SHORT = [row.raw for row in CORPUS if len(row.raw) < 1_000]


def _feed(intake: Intake, data: bytes) -> None:
    """As the connection does: in place when a long body is being read, through the shared buffer else."""
    while data:
        room = intake.room()
        count = min(len(room), len(data))
        room[:count] = data[:count]
        if intake.large is None:
            intake.feed(SCRATCH[:count])
        else:
            del room
            intake.filled(count)
        data = data[count:]


def _read(data: bytes, cuts: list[int]) -> list[tuple[object, ...]]:
    intake = Intake(Limits())
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        _feed(intake, data[start:end])
    return [_seen(request) for request in intake.requests]


def _seen(request: Arriving) -> tuple[object, ...]:
    if request.fault is not None:
        return ("refused", request.fault.status)
    body = bytes(request.body) if request.complete else None
    return request.method, request.target, request.host, request.fields, request.complete, body


@given(st.sampled_from(SHORT), st.lists(st.integers(0, 2_000), max_size=8))
@settings(max_examples=400)
def test_any_cut_gives_the_same_requests(data: bytes, cuts: list[int]) -> None:
    assert _read(data, cuts) == _read(data, [])


@given(st.lists(st.sampled_from([get(b"/a"), post(b"x" * 100), post(b"y" * 70_000)]), max_size=5), st.data())
@settings(max_examples=60)
def test_any_cut_of_several_requests_gives_the_same_requests(
    messages: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(messages)
    cuts = data.draw(st.lists(st.integers(0, max(len(stream), 1)), max_size=6))
    whole = _read(stream, [])
    assert len(whole) == len(messages)
    assert _read(stream, cuts) == whole


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=12))
@settings(max_examples=300)
def test_any_bytes_are_requests_or_one_refusal_at_the_end(pieces: list[bytes]) -> None:
    intake = Intake(Limits())
    for piece in pieces:
        _feed(intake, piece)
    faults = [request.fault is not None for request in intake.requests]
    assert not any(faults[:-1])
    assert intake.closed or not any(faults)


def test_a_declared_length_costs_nothing_until_bytes_come() -> None:
    intake = Intake(Limits())
    _feed(intake, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\nx")
    assert intake.large is not None
    assert len(intake.large) <= 1024 * 1024


def test_a_long_body_is_read_in_place_and_the_next_request_follows() -> None:
    body = bytes(range(256)) * 20_000
    intake = Intake(Limits())
    _feed(intake, post(body) + get(b"/next"))
    first, second = intake.requests
    assert bytes(first.body) == body
    assert second.target == b"/next"


def test_more_requests_than_the_bound_are_not_kept() -> None:
    intake = Intake(Limits(pipelined=3))
    _feed(intake, get() * 500)
    assert len(intake.requests) == 3
    assert intake.closed


def test_many_small_requests_before_half_a_head_are_no_large_head() -> None:
    intake = Intake(Limits(pipelined=10_000, head_bytes=4096))
    _feed(intake, get() * 400 + b"GET / HT")
    assert len(intake.requests) == 400
    assert not intake.closed
    assert intake.head_bytes > 0


def test_fields_of_one_name_are_joined_and_known_as_repeated() -> None:
    intake = Intake(Limits())
    _feed(intake, get(b"/", b"X-Model: a", b"x-model: b", b"Cookie: c=1", b"Cookie: d=2"))
    (request,) = intake.requests
    assert request.fields == {b"x-model": b"a, b", b"cookie": b"c=1; d=2"}
    assert request.repeated == {b"x-model", b"cookie"}
