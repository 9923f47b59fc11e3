"""Frames of a log become lines, each once and in order, wherever the stream is cut."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import OperationFailed
from forge.host.docker_logs import Reading, Text, Wanted, frames, in_order, lines, texts
from forge.host.engine import Engine
from forge.plan.values import Key, Observed, Phase
from tests.kit.scripted_engine import PING, json_answer, scripted

SECOND = 10**9


def frame(stream: int, payload: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


def stamped(second: int, text: bytes) -> bytes:
    return b"2026-11-30T09:22:%02d.000000001Z " % second + text


AT = 1796030520 * SECOND + 1


def test_each_frame_is_a_line_of_its_stream() -> None:
    written = frame(1, stamped(1, b"out\n")) + frame(2, stamped(2, b"err \xc3\xbc\n"))
    assert list(texts(frames([written]))) == [
        (AT + SECOND, "stdout", "out"),
        (AT + 2 * SECOND, "stderr", "err ü"),
    ]


def test_an_empty_line_is_a_line() -> None:
    assert list(texts(frames([frame(1, stamped(1, b"\n"))]))) == [(AT + SECOND, "stdout", "")]


def test_a_long_line_is_put_together_though_the_other_stream_speaks_meanwhile() -> None:
    written = [
        frame(1, stamped(1, b"be")),
        frame(2, stamped(2, b"oh\n")),
        frame(1, stamped(3, b"gin")),
        frame(1, stamped(4, b"ning\n")),
        frame(1, stamped(5, b"next\n")),
    ]
    assert list(texts(frames(written))) == [
        (AT + 2 * SECOND, "stderr", "oh"),
        (AT + SECOND, "stdout", "beginning"),
        (AT + 5 * SECOND, "stdout", "next"),
    ]


def test_a_line_without_its_newline_is_given_at_the_end() -> None:
    assert list(texts(frames([frame(1, stamped(1, b"half"))]))) == [(AT + SECOND, "stdout", "half")]


def test_bytes_that_are_no_utf_8_do_no_harm() -> None:
    assert next(texts(frames([frame(1, stamped(1, b"\xff\n"))])))[2] == "�"


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=8), st.data())
def test_frames_are_the_same_wherever_the_stream_is_cut(
    written: list[tuple[int, bytes]], data: st.DataObject
) -> None:
    whole = b"".join(frame(stream, payload) for stream, payload in written)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    names = {1: "stdout", 2: "stderr"}
    assert list(frames(pieces)) == [(names[stream], payload) for stream, payload in written]


def test_a_frame_that_is_cut_off_is_dropped() -> None:
    assert list(frames([frame(1, b"whole"), frame(1, b"not whole")[:-1]])) == [("stdout", b"whole")]


@given(st.lists(st.integers(0, 20 * SECOND), max_size=60), st.randoms(use_true_random=False))
def test_lines_that_are_a_little_out_of_place_come_in_order(times: list[int], chance: random.Random) -> None:
    whole: list[Text] = [(at, "stdout", str(n)) for n, at in enumerate(sorted(times))]
    written = sorted(whole, key=lambda line: line[0] + chance.randrange(SECOND // 2))
    assert [line[0] for line in in_order(written)] == sorted(times)
    assert sorted(in_order(written)) == sorted(whole)


def read(reading: Reading, found: list[Text]) -> list[str]:
    reading.begin(now=100 * SECOND)
    return [line[2] for line in found if reading.take(line)]


def line(second: float, text: str, stream: str = "stdout") -> Text:
    return int(second * SECOND), stream, text


def test_a_second_look_gives_only_what_is_new() -> None:
    reading = Reading(Wanted(follow=True))
    first = [line(1, "one"), line(2, "two"), line(2.5, "two")]
    assert read(reading, first) == ["one", "two", "two"]
    assert reading.query()["since"] == "1.500000000"
    again = [line(2, "two"), line(2.4, "late", "stderr"), line(2.5, "two"), line(3, "three")]
    assert read(reading, again) == ["late", "three"]


def test_lines_before_a_tail_are_not_given_at_the_second_look() -> None:
    reading = Reading(Wanted(tail=1, follow=True))
    assert reading.query()["tail"] == 1
    assert read(reading, [line(2.5, "last")]) == ["last"]
    assert reading.query()["tail"] == "all"
    assert read(reading, [line(2, "before"), line(2.5, "last"), line(3, "new")]) == ["new"]


def test_nothing_before_since_is_given() -> None:
    reading = Reading(Wanted(since=2.0, follow=True))
    assert reading.query()["since"] == "2.000000000"
    assert read(reading, [line(1.9, "before"), line(2, "from")]) == ["from"]


def test_a_tail_of_none_begins_now() -> None:
    reading = Reading(Wanted(tail=0, follow=True))
    assert read(reading, [line(99, "before"), line(101, "after")]) == ["after"]


def test_what_is_remembered_is_bounded_by_time() -> None:
    reading = Reading(Wanted(follow=True))
    assert len(read(reading, [line(second, "tick") for second in range(1000)])) == 1000
    assert len(reading.recent) <= 2


RUNNING = json_answer(b'{"State": {"Status": "running", "StartedAt": "2026-11-30T09:22:22Z"}}')
GOING = json_answer(b'{"message": "dead or marked for removal"}', b"409 Conflict")
GONE = json_answer(b"{}", b"404 Not Found")
NO_EVENTS = json_answer(b"")
SEEN = Observed(Key("service", "web"), None, None, Phase.RUNNING, id="c1")


def test_a_log_that_is_being_removed_ends_once_the_container_is_gone(tmp_path: Path) -> None:
    answers = [PING, RUNNING, NO_EVENTS, GOING, GONE]
    with scripted(tmp_path / "s", answers):
        assert list(lines(Engine(str(tmp_path / "s")), SEEN, Wanted(follow=True), None)) == []


def test_a_follower_reads_on_when_the_engine_breaks_off(tmp_path: Path) -> None:
    one, two = frame(1, stamped(1, b"one\n")), frame(1, stamped(2, b"two\n"))
    cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(one), one)
    answers = [PING, RUNNING, NO_EVENTS, cut, RUNNING, NO_EVENTS, json_answer(one + two), GONE]
    with scripted(tmp_path / "s", answers):
        given = list(lines(Engine(str(tmp_path / "s")), SEEN, Wanted(follow=True), None))
    assert [line.text for line in given] == ["one", "two"]


def test_reading_once_fails_when_the_engine_breaks_off(tmp_path: Path) -> None:
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
    with scripted(tmp_path / "s", [PING, RUNNING, NO_EVENTS, cut]), pytest.raises(OperationFailed):
        list(lines(Engine(str(tmp_path / "s")), SEEN, Wanted(), None))
