"""The processes `tests.bench.edge` starts around its targets: a streaming backend and its clients.

python -m tests.bench.edge_parts backend PORT
python -m tests.bench.edge_parts chunks PORT KEY STREAMS SECONDS
python -m tests.bench.edge_parts first PORT KEY SECONDS
python -m tests.bench.edge_parts delays PORT KEY STREAMS SECONDS

The backend takes its orders from the path: `/sse?chunks=20&gap=10` is 20 events, one each 10 ms. Every event
says when it was sent, in nanoseconds of the clock all processes share.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Coroutine
from functools import partial
from typing import cast

import uvloop

from tests.kit.eventually import eventually

_ORDER = re.compile(rb"chunks=([0-9]+)&gap=([0-9]+)")
_EVENT = (
    b'data: {"id":"c","t":%019d,"choices":[{"index":0,"delta":{"content":"some words of an answer"}}]}\n\n'
)
_CHUNK = b"%x\r\n%b\r\n" % (len(_EVENT % 0), _EVENT)
_SENT_AT = re.compile(rb'"t":([0-9]{19}),')
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LAST = b"0\r\n\r\n"
_RAMP = 100  # streams begun at once, so that no queue of connections overflows


class Source(asyncio.Protocol):
    """Streams what the path orders, over and over on one connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._loop = asyncio.get_running_loop()
        self._got = b""
        self._left = 0
        self._gap_s = 0.0

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, end, rest = self._got.partition(b"\r\n\r\n")
        if not end:
            return
        declared = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(rest) < int(declared or b"0"):
            return
        self._got = b""
        found = _ORDER.search(head)
        self._left, gap_ms = (int(found[1]), int(found[2])) if found else (20, 10)
        self._gap_s = gap_ms / 1000
        self._transport.write(_HEAD)
        self._send()

    def _send(self) -> None:
        if self._transport.is_closing():
            return
        self._left -= 1
        event = _CHUNK % time.monotonic_ns()
        self._transport.write(event if self._left else event + _LAST)
        if self._left:
            self._loop.call_later(self._gap_s, self._send)


class Drain(asyncio.Protocol):
    """Asks for a stream, again when it has ended; counts events, and how long each was on its way.

    again_until: no further request after that instant. delays: milliseconds, when kept. first: milliseconds
    from a request to its first event."""

    def __init__(self, port: int, key: str, path: str) -> None:
        body = b'{"model":"m1","stream":true,"messages":[]}'
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._request = head.encode() + body
        self._sent_at = 0
        self.events = 0
        self.keeps = False
        self.delays: list[float] = []
        self.first: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._ask()

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        events = data.count(b"data: ")
        self.events += events
        if events and self._sent_at:
            self.first.append((now - self._sent_at) / 1e6)
            self._sent_at = 0
        if self.keeps:
            self.delays += [(now - int(sent)) / 1e6 for sent in _SENT_AT.findall(data)]
        if data.endswith(b"\r\n0\r\n\r\n") or data == _LAST:
            self._ask()

    def _ask(self) -> None:
        self._sent_at = time.monotonic_ns()
        self.transport.write(self._request)


async def backend(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Source, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


async def _open(port: int, key: str, streams: int, path: str) -> list[Drain]:
    loop, make = asyncio.get_running_loop(), partial(Drain, port, key, path)
    made: list[Drain] = []
    while len(made) < streams:
        count = min(_RAMP, streams - len(made))
        made += [
            drain
            for _, drain in await asyncio.gather(
                *(loop.create_connection(make, "127.0.0.1", port) for _ in range(count))
            )
        ]
        await asyncio.sleep(0.05 if streams > _RAMP else 0)
    return made


async def chunks(port: int, key: str, streams: int, seconds: float) -> None:
    """Prints how many events came over so many streams of 20, one each 10 ms."""
    drains = await _open(port, key, streams, "/sse?chunks=20&gap=10")
    await asyncio.sleep(seconds)
    print(sum(drain.events for drain in drains))


async def first(port: int, key: str, seconds: float) -> None:
    """Prints the median and the 99th percentile of the time to the first event, of one request after the
    other."""
    (drain,) = await _open(port, key, 1, "/sse?chunks=1&gap=0")
    await asyncio.sleep(seconds)
    print(*_percentiles(drain.first[len(drain.first) // 10 :]))


async def delays(port: int, key: str, streams: int, seconds: float) -> None:
    """Prints `ready` when every stream has begun, then how many events came and how late: median, 99th
    percentile, in milliseconds. Each stream has an event a second."""
    drains = await _open(port, key, streams, "/sse?chunks=100000&gap=1000")
    await eventually(lambda: all(drain.events for drain in drains), "every stream has begun", 60)
    print("ready", flush=True)
    for drain in drains:
        drain.keeps = True
    await asyncio.sleep(seconds)
    late = [delay for drain in drains for delay in drain.delays]
    print(len(late), *_percentiles(late))


def _percentiles(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values) or [0.0]
    return round(ordered[len(ordered) // 2], 3), round(ordered[len(ordered) * 99 // 100], 3)


def main_of(argv: list[str]) -> Coroutine[None, None, None]:
    match argv:
        case ["backend", port]:
            return backend(int(port))
        case ["chunks", port, key, streams, seconds]:
            return chunks(int(port), key, int(streams), float(seconds))
        case ["first", port, key, seconds]:
            return first(int(port), key, float(seconds))
        case ["delays", port, key, streams, seconds]:
            return delays(int(port), key, int(streams), float(seconds))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    uvloop.run(main_of(sys.argv[1:]))
