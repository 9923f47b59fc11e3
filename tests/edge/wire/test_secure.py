"""The TLS layer without a socket, against OpenSSL itself: whatever the pieces, the same plaintext; every way a
connection can end; and nothing held back or kept that should not be."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.wire.secure import HANDSHAKE_S, Secure
from edge.wire.wheel import Wheel
from tests.kit.certs import Authority, client_context, server_context

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
RECORD_BYTES = 16 * 1024


class Raw(asyncio.Transport):
    """A transport whose other end is the test. sent: what was written. ended: how it was closed."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 4711)})
        self.sent = bytearray()
        self.writes = 0
        self.ended = ""
        self.reading = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data
        self.writes += 1

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return len(self.sent)

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


@dataclass
class Inner:
    """Takes plaintext in rooms of *room* bytes. heard: what it was told, in order. pauses: it pauses reading
    at each piece. holds: it says that it still owes an answer when the other side has ended. closes: it
    closes at the first piece."""

    room: int = 64 * 1024
    pauses: bool = False
    holds: bool = False
    closes: bool = False
    plain: bytearray = field(default_factory=bytearray)
    heard: list[object] = field(default_factory=list)
    transport: asyncio.Transport | None = None

    def __post_init__(self) -> None:
        self._buffer = memoryview(bytearray(self.room))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.heard.append("made")

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.plain += self._buffer[:nbytes]
        assert self.transport is not None
        if self.pauses:
            self.transport.pause_reading()
        if self.closes:
            self.transport.close()

    def eof_received(self) -> bool:
        self.heard.append("eof")
        return self.holds

    def connection_lost(self, exc: Exception | None) -> None:
        self.heard.append(exc)

    def pause_writing(self) -> None:
        self.heard.append("pause")

    def resume_writing(self) -> None:
        self.heard.append("resume")


class Pair:
    """A client of the standard library, and the layer as its server. shaken: how the handshake ended."""

    def __init__(self, client: ssl.SSLContext, server: ssl.SSLContext, inner: Inner) -> None:
        self.inner, self.raw, self.wheel = inner, Raw(), Wheel(0.0)
        self.shaken: list[Exception | None] = []
        self.secure = Secure(inner, server, self.wheel, lambda _, error: self.shaken.append(error))
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(self._in, self._out, server_hostname="localhost")
        self.secure.connection_made(self.raw)

    def shake_hands(self, split: int = 0) -> None:
        """Both sides, until neither has anything to say; *split* bytes of the client's at a time."""
        for _ in range(4):
            with suppress(ssl.SSLWantReadError):
                self.client.do_handshake()
            self.deliver(self.wire(), split)
            self.hear()

    def wire(self, data: bytes = b"") -> bytes:
        """The client's ciphertext for *data*, after what else it has to say."""
        if data:
            self.client.write(data)
        return self._out.read()

    def deliver(self, data: bytes, split: int = 0) -> None:
        """As the loop would."""
        while data:
            room = self.secure.get_buffer(-1)
            count = min(len(data), len(room), split or len(data))
            room[:count] = data[:count]
            self.secure.buffer_updated(count)
            data = data[count:]

    def hear(self) -> bytes:
        """What the client now reads, to the end if there is one; raises what its OpenSSL raises."""
        self._in.write(bytes(self.raw.sent))
        self.raw.sent.clear()
        data = b""
        with suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while piece := self.client.read(65536):
                data += piece
        return data

    def say_goodbye(self) -> bytes:
        """The client's close_notify."""
        with pytest.raises(ssl.SSLWantReadError):
            self.client.unwrap()
        return self.wire()


@dataclass(frozen=True)
class Contexts:
    """By the client's highest version."""

    clients: dict[ssl.TLSVersion, ssl.SSLContext]
    server: ssl.SSLContext

    def pair(self, inner: Inner | None = None, version: ssl.TLSVersion = VERSIONS[1]) -> Pair:
        return Pair(self.clients[version], self.server, inner or Inner())

    def shaken(self, inner: Inner | None = None, version: ssl.TLSVersion = VERSIONS[1]) -> Pair:
        pair = self.pair(inner, version)
        pair.shake_hands()
        assert pair.shaken == [None]
        assert pair.inner.heard == ["made"]
        return pair


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    ca = Authority(tmp_path_factory.mktemp("certs"))
    clients = {version: client_context(ca, maximum=version) for version in VERSIONS}
    return Contexts(clients, server_context(ca.leaf("localhost")))


SIZES = st.lists(
    st.sampled_from((1, 100, RECORD_BYTES - 1, RECORD_BYTES, RECORD_BYTES + 1, 70_000)), max_size=4
)


@pytest.mark.parametrize("version", VERSIONS)
async def test_any_split_of_any_records_gives_the_same_plaintext(
    contexts: Contexts, version: ssl.TLSVersion
) -> None:
    @settings(max_examples=40, deadline=None)
    @given(SIZES, st.integers(1, 70_000), st.integers(1, 70_000))
    def check(sizes: list[int], split: int, room: int) -> None:
        pair = contexts.shaken(Inner(room=room), version)
        pieces = [bytes((n,)) * size for n, size in enumerate(sizes)]
        pair.deliver(b"".join(map(pair.wire, pieces)), split)
        assert bytes(pair.inner.plain) == b"".join(pieces)

    check()


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_handshake_and_a_request_may_come_byte_by_byte(
    contexts: Contexts, version: ssl.TLSVersion
) -> None:
    pair = contexts.pair(None, version)
    pair.shake_hands(split=1)
    assert pair.shaken == [None]
    pair.deliver(pair.wire(b"hello"), split=1)
    assert bytes(pair.inner.plain) == b"hello"


async def test_what_comes_with_the_end_of_the_handshake_is_read(contexts: Contexts) -> None:
    pair = contexts.pair()
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.do_handshake()
    pair.deliver(pair.wire())
    pair._in.write(bytes(pair.raw.sent))
    pair.client.do_handshake()
    pair.deliver(pair.wire(b"early bird"))
    assert pair.inner.heard == ["made"]
    assert bytes(pair.inner.plain) == b"early bird"


@pytest.mark.parametrize("size", [1, RECORD_BYTES, RECORD_BYTES + 1, 1_000_000])
async def test_each_write_leaves_in_one_piece(contexts: Contexts, size: int) -> None:
    pair = contexts.shaken()
    before = pair.raw.writes
    pair.secure.write(b"x" * size)
    assert pair.raw.writes == before + 1
    assert pair.hear() == b"x" * size


async def test_records_that_came_in_one_read_are_told_of_once(contexts: Contexts) -> None:
    pair = contexts.shaken(Inner(pauses=True))
    pair.deliver(b"".join(pair.wire(b"x") for _ in range(50)))
    assert bytes(pair.inner.plain) == b"x" * 50


async def test_while_reading_is_paused_nothing_is_told_and_then_all_of_it(contexts: Contexts) -> None:
    pair = contexts.shaken(Inner(room=10, pauses=True))
    pair.deliver(pair.wire(b"x" * 25))
    assert (bytes(pair.inner.plain), pair.raw.reading) == (b"x" * 10, False)
    for had in (20, 25):
        pair.secure.resume_reading()
        await asyncio.sleep(0)
        assert bytes(pair.inner.plain) == b"x" * had
    assert not pair.raw.reading


async def test_backpressure_is_passed_on_once_there_is_somebody_to_hear_it(contexts: Contexts) -> None:
    pair = contexts.pair()
    pair.secure.pause_writing()
    pair.secure.resume_writing()
    pair.shake_hands()
    pair.secure.pause_writing()
    pair.secure.resume_writing()
    assert pair.inner.heard == ["made", "pause", "resume"]


async def test_our_close_is_said_and_waits_for_theirs(contexts: Contexts) -> None:
    pair = contexts.shaken()
    pair.secure.write(b"answer")
    pair.secure.close()
    pair.secure.write(b"too late")
    assert (pair.secure.is_closing(), pair.raw.ended) == (True, "")
    pair.deliver(pair.wire(b"x" * 50_000))
    assert (bytes(pair.inner.plain), pair.raw.ended) == (b"", "")
    assert pair.hear() == b"answer"  # and then the end, or it would want more
    pair.client.unwrap()
    pair.deliver(pair.wire())
    assert pair.raw.ended == "closed"
    pair.secure.connection_lost(None)
    assert pair.inner.heard == ["made", None]
    assert len(pair.wheel) == 0


async def test_who_goes_on_sending_after_our_close_is_cut(contexts: Contexts) -> None:
    pair = contexts.shaken()
    pair.secure.close()
    pair.deliver(pair.wire(b"x" * 1_000_000))
    assert pair.raw.ended == ""
    pair.deliver(pair.wire(b"x" * 100_000))
    assert pair.raw.ended == "aborted"


async def test_who_never_answers_our_close_is_cut(contexts: Contexts) -> None:
    pair = contexts.shaken()
    pair.secure.close()
    pair.wheel.turn(29.0)
    assert pair.raw.ended == ""
    pair.wheel.turn(31.0)
    assert pair.raw.ended == "aborted"


async def test_a_close_while_reading_is_paused_reads_on_for_their_goodbye(contexts: Contexts) -> None:
    pair = contexts.shaken(Inner(room=10, pauses=True))
    pair.deliver(pair.wire(b"x" * 25))
    pair.secure.close()
    assert pair.raw.reading
    pair.deliver(pair.say_goodbye())
    assert pair.raw.ended == "closed"


async def test_a_close_from_within_a_read_drops_the_rest_and_sees_their_goodbye(contexts: Contexts) -> None:
    pair = contexts.shaken(Inner(room=10, closes=True))
    pair.deliver(pair.wire(b"x" * 25) + pair.say_goodbye())
    assert (bytes(pair.inner.plain), pair.raw.ended) == (b"x" * 10, "closed")
    assert pair.inner.heard == ["made"]


async def test_their_close_is_answered_and_ends_it(contexts: Contexts) -> None:
    pair = contexts.shaken()
    pair.deliver(pair.wire(b"bye") + pair.say_goodbye())
    assert bytes(pair.inner.plain) == b"bye"
    assert (pair.inner.heard, pair.raw.ended) == (["made", "eof"], "closed")
    pair._in.write(bytes(pair.raw.sent))
    pair.client.unwrap()


async def test_after_their_close_an_answer_that_is_owed_still_leaves(contexts: Contexts) -> None:
    pair = contexts.shaken(Inner(holds=True))
    pair.deliver(pair.say_goodbye())
    pair.deliver(b"whatever comes now is dropped" * 10_000)
    assert pair.secure.eof_received()
    assert (pair.inner.heard, pair.raw.ended) == (["made", "eof"], "")
    pair.secure.write(b"answer")
    pair.secure.close()
    assert (pair.hear(), pair.raw.ended) == (b"answer", "closed")


async def test_an_end_without_close_notify_is_no_end_in_order(contexts: Contexts) -> None:
    pair = contexts.shaken()
    pair.deliver(pair.wire(b"half of it"))
    pair.secure.eof_received()
    assert pair.raw.ended == "closed"
    pair.secure.connection_lost(None)
    assert pair.inner.heard == ["made", None]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_forged_record_is_told_both_sides_and_its_bytes_nobody(
    contexts: Contexts, version: ssl.TLSVersion
) -> None:
    pair = contexts.shaken(None, version)
    good, forged = pair.wire(b"good"), bytearray(pair.wire(b"forged"))
    forged[-1] ^= 1
    pair.deliver(good + forged)
    assert (bytes(pair.inner.plain), pair.raw.ended) == (b"good", "closed")
    pair.secure.write(b"no more")
    with pytest.raises(ssl.SSLError, match="BAD_RECORD_MAC"):
        pair.hear()
    pair.secure.connection_lost(None)
    assert isinstance(pair.inner.heard[1], ssl.SSLError)


async def test_what_the_kernel_does_not_take_at_the_end_is_given_up(contexts: Contexts) -> None:
    pair = contexts.shaken()
    pair.deliver(pair.say_goodbye())
    assert pair.raw.ended == "closed"
    pair.wheel.turn(1.5)
    assert pair.raw.ended == "aborted"


async def test_an_abort_says_nothing(contexts: Contexts) -> None:
    pair = contexts.shaken()
    pair.raw.sent.clear()
    pair.secure.abort()
    pair.secure.close()
    assert (pair.raw.ended, bytes(pair.raw.sent)) == ("aborted", b"")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", id="plain HTTP"),
        pytest.param(b"\x00" * 100_000, id="zeros"),
        pytest.param(b"\x16\x03\x01\xff\xff" + b"x" * 0xFFFF, id="a record longer than any may be"),
        pytest.param(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", id="a ClientHello that is none"),
        pytest.param(b"\x17\x03\x03\x00\x01x", id="data before a handshake"),
    ],
)
@pytest.mark.parametrize("split", [0, 1])
async def test_bytes_that_are_no_handshake_end_it(contexts: Contexts, data: bytes, split: int) -> None:
    pair = contexts.pair()
    pair.deliver(data, split)
    assert pair.raw.ended == "closed"
    assert pair.shaken == []
    pair.secure.connection_lost(None)
    assert isinstance(pair.shaken[0], ssl.SSLError)
    assert pair.inner.heard == []


async def test_a_handshake_that_stands_still_is_cut(contexts: Contexts) -> None:
    pair = contexts.pair()
    pair.deliver(b"\x16\x03\x01")
    pair.wheel.turn(HANDSHAKE_S - 1)
    assert pair.raw.ended == ""
    pair.wheel.turn(HANDSHAKE_S + 1)
    assert pair.raw.ended == "aborted"
    pair.secure.connection_lost(None)
    assert isinstance(pair.shaken[0], ConnectionResetError)
    assert (pair.inner.heard, len(pair.wheel)) == ([], 0)


async def test_a_client_that_leaves_in_the_handshake_is_told_of_once(contexts: Contexts) -> None:
    pair = contexts.pair()
    pair.secure.eof_received()
    assert pair.raw.ended == "closed"
    pair.secure.connection_lost(None)
    assert [type(error) for error in pair.shaken] == [ConnectionResetError]


async def test_a_loop_that_hands_over_bytes_is_served_too(contexts: Contexts) -> None:
    pair = contexts.shaken()
    said = b"x" * 200_000
    pair.secure.data_received(pair.wire(said))
    assert bytes(pair.inner.plain) == said


async def test_what_can_be_asked_of_it(contexts: Contexts) -> None:
    pair = contexts.shaken()
    assert isinstance(pair.secure.get_extra_info("ssl_object"), ssl.SSLObject)
    assert pair.secure.get_extra_info("peername") == ("192.0.2.1", 4711)
    assert pair.secure.get_extra_info("nothing", "default") == "default"
    assert not pair.secure.can_write_eof()
    assert pair.secure.get_write_buffer_size() == 0
    pair.secure.connection_lost(None)
    assert pair.secure.get_extra_info("peername") is None
    assert (pair.secure.get_write_buffer_size(), pair.secure.is_closing()) == (0, True)
