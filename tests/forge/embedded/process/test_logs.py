"""What is written is read: whole lines, once, in order, whatever rotates or breaks meanwhile; and within bounds."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.embedded.process import follow, logs
from forge.embedded.process.follow import Line
from forge.embedded.process.spec import LogBounds
from tests.kit.processes import DEADLINE_S, eventually

NOW = 1_790_000_000.25
LARGE = LogBounds()
SMALL = LogBounds(max_bytes=2_000, max_line=50)


def write(folder: Path, *chunks: bytes, run: int = 1, bounds: LogBounds = LARGE, at: float = NOW) -> None:
    """One run's stdout, in the chunks in which it came."""
    writer = logs.LogWriter(folder, bounds)
    for chunk in chunks:
        writer.write(run, logs.STDOUT, chunk, at)
    writer.end_run(run, at)
    writer.close()


def texts(folder: Path, tail: int | None = None) -> list[str]:
    return [line.text for line in follow.read(folder, tail=tail)]


def test_a_line_keeps_its_time_stream_and_run(tmp_path: Path) -> None:
    writer = logs.LogWriter(tmp_path, LogBounds())
    writer.write(1, logs.STDOUT, b"out\n", NOW)
    writer.write(2, logs.STDERR, b"err\n", NOW + 1)
    writer.close()
    assert list(follow.read(tmp_path)) == [
        Line(NOW, 1, "stdout", "out"),
        Line(NOW + 1, 2, "stderr", "err"),
    ]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"one\ntwo\n"], ["one", "two"], id="two lines at once"),
        pytest.param([b"on", b"e\nt", b"wo\n"], ["one", "two"], id="lines in pieces"),
        pytest.param([b"one\n", b"no end"], ["one", "no end"], id="the last one without an end"),
        pytest.param([b"\n\n"], ["", ""], id="empty lines"),
        pytest.param([b"a b  c \n"], ["a b  c "], id="spaces"),
        pytest.param([b"\xff\x00\x01\n"], ["\ufffd\x00\x01"], id="bytes that are no text"),
        pytest.param([b"tick\r\n"], ["tick\r"], id="a carriage return stays"),
        pytest.param(["größe\n".encode()[:3], "größe\n".encode()[3:]], ["größe"], id="a character in two"),
    ],
)
def test_lines_come_back(tmp_path: Path, chunks: list[bytes], expected: list[str]) -> None:
    write(tmp_path, *chunks)
    assert texts(tmp_path) == expected


def test_streams_do_not_mix_their_unfinished_lines(tmp_path: Path) -> None:
    writer = logs.LogWriter(tmp_path, LogBounds())
    writer.write(1, logs.STDOUT, b"out-", NOW)
    writer.write(1, logs.STDERR, b"err\n", NOW)
    writer.write(1, logs.STDOUT, b"put\n", NOW)
    writer.close()
    assert texts(tmp_path) == ["err", "out-put"]


def test_an_unfinished_line_ends_with_its_run(tmp_path: Path) -> None:
    writer = logs.LogWriter(tmp_path, LogBounds())
    writer.write(1, logs.STDOUT, b"cut", NOW)
    writer.end_run(1, NOW)
    writer.write(2, logs.STDOUT, b"new\n", NOW)
    writer.close()
    assert [(line.run, line.text) for line in follow.read(tmp_path)] == [(1, "cut"), (2, "new")]


def test_a_long_line_is_several_and_never_held_whole(tmp_path: Path) -> None:
    writer = logs.LogWriter(tmp_path, LogBounds(max_line=1000))
    for _ in range(100):
        writer.write(1, logs.STDOUT, b"x" * 10_000, NOW)
    assert sum(len(t) for t in texts(tmp_path)) >= 999_000
    writer.end_run(1, NOW)
    writer.close()
    assert max(len(t) for t in texts(tmp_path)) == 1000
    assert "".join(texts(tmp_path)) == "x" * 1_000_000


def test_a_long_line_is_not_cut_inside_a_character(tmp_path: Path) -> None:
    line = "aé漢😀" * 40
    write(tmp_path, line.encode() + b"\n", bounds=SMALL)
    assert "".join(texts(tmp_path)) == line


def test_two_files_are_kept_within_their_bounds(tmp_path: Path) -> None:
    write(tmp_path, *(b"%04d\n" % n for n in range(1000)), bounds=SMALL)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    assert all(file.stat().st_size <= 2_100 for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    kept = texts(tmp_path)
    assert kept == [f"{n:04d}" for n in range(1000)][-len(kept) :]
    assert len(kept) > 50


def test_a_new_writer_goes_on_in_a_new_file(tmp_path: Path) -> None:
    write(tmp_path, b"one\n")
    with logs.path(tmp_path, 1).open("ab") as torn:  # as a kill in mid-write leaves it
        torn.write(b"1790000000.5 1 o half of a li")
    write(tmp_path, b"two\n", run=2)
    assert texts(tmp_path) == ["one", "two"]


def test_a_disk_that_refuses_costs_lines_and_says_how_many(tmp_path: Path) -> None:
    writer = logs.LogWriter(tmp_path, LogBounds())
    good = os.dup(writer._fd)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._fd)
    writer.write(1, logs.STDOUT, b"lost\nlost too\n", NOW)
    os.dup2(good, writer._fd)
    writer.write(1, logs.STDOUT, b"back\n", NOW)
    writer.close()
    for fd in (good, full):
        os.close(fd)
    assert texts(tmp_path) == ["[2 lines lost: the disk refused them]", "back"]


@pytest.mark.parametrize("tail", [0, 1, 5, 60, 10_000])
def test_a_tail_is_the_end_of_everything(tmp_path: Path, tail: int) -> None:
    write(tmp_path, *(b"%04d\n" % n for n in range(200)), bounds=SMALL)
    everything = texts(tmp_path)
    assert texts(tmp_path, tail) == everything[len(everything) - min(tail, len(everything)) :]


def test_one_run_is_read_alone(tmp_path: Path) -> None:
    for run in (1, 2, 3):
        write(tmp_path, b"a\nb\n", run=run)
    assert [(line.run, line.text) for line in follow.read(tmp_path, run=2, tail=1)] == [(2, "b")]


def test_since_is_inclusive(tmp_path: Path) -> None:
    write(tmp_path, b"old\n", at=NOW)
    write(tmp_path, b"new\n", at=NOW + 1)
    assert [line.text for line in follow.read(tmp_path, since=NOW + 1)] == ["new"]


def test_a_missing_folder_has_no_lines(tmp_path: Path) -> None:
    assert texts(tmp_path / "none", 3) == []
    assert list(follow.follow(tmp_path / "none", None)) == []


def test_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    logs.path(tmp_path, 1).write_bytes(b"hello\n1 2 x y\nx 1 o y\n1.5 1 o good\n\n")
    assert texts(tmp_path) == ["good"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=60), st.integers(20, 200))
def test_any_output_comes_back_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes], size: int
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    bounds = LogBounds(max_bytes=10**9, max_line=size)
    write(folder, *chunks, bounds=bounds)
    joined = b"".join(chunks)
    lines = [line.text for line in follow.read(folder)]
    if joined.isascii():
        whole = [joined.decode()] if b"\n" not in joined else joined.decode().removesuffix("\n").split("\n")
        assert "".join(lines) == "".join(whole)
        if all(len(one) <= size for one in whole):
            assert lines == (whole if joined else [])
    assert all(len(text) <= size for text in lines)


def test_a_follower_gets_every_line_once_over_rotations(tmp_path: Path) -> None:
    """The writer rotates every 40 lines and waits for the reader once a file, as a bounded log must be kept up
    with."""
    seen: list[str] = []
    cancel = threading.Event()

    def read() -> None:
        seen.extend(line.text for line in follow.follow(tmp_path, cancel))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    writer = logs.LogWriter(tmp_path, LogBounds(max_bytes=1_200))
    for n in range(400):
        writer.write(1, logs.STDOUT, b"%d\n" % n, NOW)
        if n % 40 == 0:
            eventually(lambda least=n: len(seen) > least)  # type: ignore[misc]
    eventually(lambda: len(seen) == 400)
    cancel.set()
    reader.join(DEADLINE_S)
    writer.close()
    assert not reader.is_alive()
    assert seen == [str(n) for n in range(400)]


def test_what_was_written_before_the_cancel_is_still_given(tmp_path: Path) -> None:
    write(tmp_path, b"one\ntwo\n")
    cancel = threading.Event()
    cancel.set()
    assert [line.text for line in follow.follow(tmp_path, cancel)] == ["one", "two"]


def test_reading_ends_where_the_log_ended_when_it_began(tmp_path: Path) -> None:
    """Else a writer faster than the reader would be read for ever."""
    write(tmp_path, b"one\ntwo\n")
    reading = follow.read(tmp_path)
    assert next(reading).text == "one"
    write(tmp_path, b"three\n")
    assert [line.text for line in reading] == ["two"]
