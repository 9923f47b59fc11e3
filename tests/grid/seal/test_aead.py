"""What is sealed opens with any key of the ring, in its own grid; everything else is dropped by its reason."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.seal.aead import MAX_DATAGRAM, MAX_TEXT, OVERHEAD, Drop, Keyring, KeyUnusable, Opened

OLD, NEW = b"o" * 32, b"n" * 32
_counter = itertools.count()


def nonce() -> bytes:
    return next(_counter).to_bytes(12, "big")


def ring(*keys: bytes, grid: str = "grid") -> Keyring:
    return Keyring(grid, keys or (NEW,), nonce)


@given(st.binary(max_size=MAX_TEXT))
def test_what_is_sealed_opens(text: bytes) -> None:
    datagram = ring().seal(text)
    assert len(datagram) == len(text) + OVERHEAD <= MAX_DATAGRAM
    assert ring().open(datagram) == Opened(text, 0)


def test_the_frame_is_as_published() -> None:
    datagram = Keyring("grid", [NEW], lambda: b"123456789012").seal(b"hello")
    assert datagram[:17] == b"GRID\x01123456789012"
    assert len(datagram) == 33 + 5


def test_keys_are_rotated_without_losing_a_datagram() -> None:
    """Every pair of neighbouring steps of a rotation understands each other, both ways."""
    steps = [ring(OLD), ring(OLD, NEW), ring(NEW, OLD), ring(NEW)]
    for one, other in itertools.pairwise(steps):
        assert isinstance(other.open(one.seal(b"x")), Opened)
        assert isinstance(one.open(other.seal(b"x")), Opened)
    assert steps[3].open(steps[0].seal(b"x")) is Drop.NOT_AUTHENTIC
    assert steps[1].open(steps[3].seal(b"x")) == Opened(b"x", 1)


SEALED = ring().seal(b"hello")


@pytest.mark.parametrize(
    ("datagram", "drop"),
    [
        pytest.param(b"", Drop.TOO_SHORT, id="nothing"),
        pytest.param(b"GRI", Drop.TOO_SHORT, id="a piece of the magic"),
        pytest.param(SEALED[: OVERHEAD - 1], Drop.TOO_SHORT, id="no room for the tag"),
        pytest.param(b'{"kind": "ping"}' * 4, Drop.NOT_OURS, id="plaintext"),
        pytest.param(b"grid" + SEALED[4:], Drop.NOT_OURS, id="another magic"),
        pytest.param(SEALED[:4] + b"\x02" + SEALED[5:], Drop.VERSION, id="a future version"),
        pytest.param(SEALED[:-1], Drop.NOT_AUTHENTIC, id="cut short"),
        pytest.param(SEALED[:20] + bytes([SEALED[20] ^ 1]) + SEALED[21:], Drop.NOT_AUTHENTIC, id="one bit turned"),
        pytest.param(SEALED[:5] + b"another-one!" + SEALED[17:], Drop.NOT_AUTHENTIC, id="another nonce"),
        pytest.param(ring(OLD).seal(b"hello"), Drop.NOT_AUTHENTIC, id="another key"),
        pytest.param(ring(grid="other").seal(b"hello"), Drop.NOT_AUTHENTIC, id="another grid, same key"),
        pytest.param(SEALED + bytes(MAX_DATAGRAM), Drop.TOO_LARGE, id="larger than a datagram"),
    ],
)  # fmt: skip
def test_what_does_not_open_is_dropped_by_its_reason(datagram: bytes, drop: Drop) -> None:
    assert ring().open(datagram) is drop


@given(st.binary(max_size=2 * MAX_DATAGRAM))
def test_any_bytes_are_dropped_and_never_raise(datagram: bytes) -> None:
    assert isinstance(ring().open(datagram), Drop)


@given(st.binary(min_size=OVERHEAD, max_size=200).map(lambda b: b"GRID\x01" + b))
def test_any_bytes_behind_the_magic_are_not_authentic(datagram: bytes) -> None:
    assert ring(NEW, OLD).open(datagram) is Drop.NOT_AUTHENTIC


@pytest.mark.parametrize(
    ("grid", "keys", "why"),
    [
        pytest.param("grid", [], "at least one key", id="none"),
        pytest.param("grid", [b"short"], "key 0 has 5 bytes", id="too short"),
        pytest.param("grid", [NEW, b"x" * 64], "key 1 has 64 bytes", id="hex digits where bytes belong"),
        pytest.param("grid", [bytes(32)], "all zeros", id="zeros"),
        pytest.param("grid", [NEW, NEW], "twice", id="one key twice"),
        pytest.param("", [NEW], "id of its grid", id="no grid"),
    ],
)
def test_a_malformed_key_refuses_to_start_and_is_not_shown(grid: str, keys: list[bytes], why: str) -> None:
    with pytest.raises(KeyUnusable, match=why) as raised:
        Keyring(grid, keys, nonce)
    assert not any(repr(key) in str(raised.value) for key in keys)


def test_a_text_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        ring().seal(bytes(MAX_TEXT + 1))


def test_a_stream_has_its_own_bound() -> None:
    frame = ring().seal_frame(bytes(100_000))
    assert ring().open(frame, limit=200_000) == Opened(bytes(100_000), 0)
    assert ring().open(frame) is Drop.TOO_LARGE
