"""The shell round SWIM nodes: one UDP and one TCP socket, a timer a node, and no decision.

    datagram -> the keyring that opens it -> its node -> outputs -> datagrams, timers, exchanges, reports

Several networks share the sockets, each a node and a keyring of its own: the key a datagram opens with says
whose it is. What is received comes to the bound address and what is sent leaves from an unbound one, since a
socket bound to a loopback address can send nowhere else.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, assert_never

from grid.mesh.addresses import Addresses, Place
from grid.mesh.pushpull import MAX_FRAME, FrameRefused, Served, ask
from grid.seal.aead import MAX_DATAGRAM, Drop, Keyring, Opened
from grid.swim.codec import decode_exchange
from grid.swim.messages import Event, Exchange, Lane, Malformed, Notify, Output, SendTo, WakeAt
from grid.swim.node import SwimNode

MAX_NETWORKS: Final = 16
"""Each one more costs a try at opening for every datagram of the others."""
MAX_TASKS: Final = 64
"""Look-ups and exchanges under way at a time; more is dropped like a datagram, and comes again."""
BIND_TRIES: Final = 20

Report = Callable[[str, Event], None]
"""(network, what happened there)."""


class TooManyNetworks(ValueError):
    """No place is left on these sockets. Nothing was changed."""


@dataclass(slots=True, eq=False)
class Hosted:
    """One network: its node, the ring that seals for it, and the timer its node asked for."""

    network: str
    node: SwimNode
    keyring: Keyring
    timer: asyncio.TimerHandle | None = None

    @property
    def agreed_s(self) -> float | None:
        """How long ago this node and one it probed held the same; None if they never did."""
        agreed_at = self.node.view.agreed_at
        return None if agreed_at is None else asyncio.get_running_loop().time() - agreed_at


class Mesh(asyncio.DatagramProtocol):
    """port: where it receives. counts: datagrams and exchanges by what became of them. cut: advertised
    addresses that are neither heard nor spoken to, as if the network between were broken; for tests of
    partitions. closed: set once the datagram socket is.
    """

    def __init__(self, group: asyncio.TaskGroup, port: int, report: Report) -> None:
        self.counts: Counter[str] = Counter()
        self.cut: frozenset[str] = frozenset()
        self.port = port
        self.hosted: dict[str, Hosted] = {}
        self.closed = asyncio.Event()
        self._group = group
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._addresses = Addresses(self._loop.time)
        self._tasks: set[asyncio.Task[None]] = set()
        self._senders: dict[int, socket.socket] = {}

    # Networks

    def host(self, network: str, node: SwimNode, keyring: Keyring, seeds: Iterable[str]) -> None:
        """Take a network in and call its seeds. Raises TooManyNetworks."""
        if network not in self.hosted and len(self.hosted) >= MAX_NETWORKS:
            raise TooManyNetworks(f"{MAX_NETWORKS} networks are hosted; {network} is one too many")
        self.drop(network)
        hosted = self.hosted[network] = Hosted(network, node, keyring)
        self._perform(hosted, node.join(seeds, self._loop.time()))

    def drop(self, network: str) -> None:
        """Let a network go without a goodbye: another process goes on with it."""
        hosted = self.hosted.pop(network, None)
        if hosted is not None and hosted.timer is not None:
            hosted.timer.cancel()

    def leave(self, network: str) -> None:
        """Say goodbye and let it go: the site is no member any more."""
        if (hosted := self.hosted.get(network)) is not None:
            self._perform(hosted, hosted.node.leave(self._loop.time()))
            self.drop(network)

    def rekey(self, network: str, keyring: Keyring) -> None:
        """Seal and open with this ring from now on."""
        hosted = self.hosted[network]
        hosted.keyring = keyring
        hosted.node.view.counts["rekeyed"] += 1

    def publish(self, network: str, lane: Lane, payload: bytes) -> None:
        """Raises Unspeakable for a payload over the bound; nothing is changed then."""
        hosted = self.hosted[network]
        self._perform(hosted, hosted.node.publish(lane, payload, self._loop.time()))

    def reseed(self, network: str, seeds: Iterable[str]) -> None:
        """Call these from now on, where nobody else is known."""
        hosted = self.hosted[network]
        self._perform(hosted, hosted.node.join(seeds, self._loop.time()))

    def readvertise(self, network: str, address: str) -> None:
        """Raises Unspeakable for what cannot be an address; nothing is changed then."""
        hosted = self.hosted[network]
        self._perform(hosted, hosted.node.readvertise(address, self._loop.time()))

    def age_s(self, network: str, lane: Lane, origin: str) -> float | None:
        """How long ago the origin said what is held of it now, as far as its holders' clocks can tell."""
        held = self.hosted[network].node.view.facts.get(lane, origin)
        return None if held is None else max(0.0, self._loop.time() - held.said_at)

    # What comes in

    def datagram_received(self, data: bytes, _addr: object) -> None:
        opened = self._open(data, MAX_DATAGRAM)
        if opened is None:
            return
        hosted, text = opened
        if self.cut and self._is_cut(text):
            self.counts["cut"] += 1
            return
        self.counts["received"] += 1
        self._perform(hosted, hosted.node.receive(text, self._loop.time()))

    def connection_lost(self, _exc: Exception | None) -> None:
        self.closed.set()

    def error_received(self, _exc: Exception) -> None:
        self.counts["receive_error"] += 1

    def answer(self, frame: bytes) -> bytes | None:
        """This side of a push/pull somebody else began."""
        opened = self._open(frame, MAX_FRAME)
        if opened is None:
            return None
        hosted, text = opened
        if self.cut and self._is_cut(text):
            self.counts["cut"] += 1
            return None
        reply, outputs = hosted.node.answer(text, self._loop.time())
        self._perform(hosted, outputs)
        return hosted.keyring.seal_frame(reply)

    def _open(self, sealed: bytes, limit: int) -> tuple[Hosted, bytes] | None:
        reason = Drop.NOT_AUTHENTIC
        for hosted in self.hosted.values():
            opened = hosted.keyring.open(sealed, limit=limit)
            if isinstance(opened, Opened):
                return hosted, opened.text
            reason = opened
            if reason is not Drop.NOT_AUTHENTIC:
                break
        self.counts[reason] += 1
        return None

    def _is_cut(self, text: bytes) -> bool:
        message = decode_exchange(text)
        return not isinstance(message, Malformed) and message.sender.address in self.cut

    # What goes out

    def _perform(self, hosted: Hosted, outputs: list[Output]) -> None:
        for output in outputs:
            match output:
                case SendTo():
                    self._send(hosted, output)
                case WakeAt():
                    self._set_timer(hosted, output.instant)
                case Notify():
                    self._report(hosted.network, output.event)
                case Exchange():
                    self._spawn(self._exchange(hosted, output.address))
                case _:
                    assert_never(output)

    def _set_timer(self, hosted: Hosted, instant: float) -> None:
        if hosted.timer is not None:
            hosted.timer.cancel()
        hosted.timer = self._loop.call_at(instant, self._tick, hosted)

    def _tick(self, hosted: Hosted) -> None:
        hosted.timer = None
        self._perform(hosted, hosted.node.tick(self._loop.time()))

    def _send(self, hosted: Hosted, output: SendTo) -> None:
        if output.address in self.cut:
            self.counts["cut"] += 1
            return
        sealed = hosted.keyring.seal(output.text)
        place = self._addresses.known(output.address)
        if place is not None:
            self._send_sealed(sealed, place)
        else:
            self._spawn(self._find_and_send(sealed, output.address))

    async def _find_and_send(self, sealed: bytes, address: str) -> None:
        place = await self._addresses.find(address)
        if place is None:
            self.counts["unknown_address"] += 1
        else:
            self._send_sealed(sealed, place)

    def _send_sealed(self, sealed: bytes, place: Place) -> None:
        """Or drop it: what the kernel has no room or no way for is lost like any datagram."""
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        try:
            if family not in self._senders:
                self._senders[family] = socket.socket(family, socket.SOCK_DGRAM)
                self._senders[family].settimeout(0)
            self._senders[family].sendto(sealed, place)
        except OSError:
            self.counts["send_error"] += 1
        else:
            self.counts["sent"] += 1

    async def _exchange(self, hosted: Hosted, address: str) -> None:
        place = await self._addresses.find(address)
        if place is None or address in self.cut:
            self.counts["exchange_unreachable"] += 1
            return
        try:
            frame = await ask(place, hosted.keyring.seal_frame(hosted.node.offer(self._loop.time())))
        except (OSError, TimeoutError, EOFError, FrameRefused):
            self.counts["exchange_broken"] += 1
            return
        opened = self._open(frame, MAX_FRAME)
        if opened is not None and opened[0] is hosted is self.hosted.get(hosted.network):
            self.counts["exchanged"] += 1
            self._perform(hosted, hosted.node.merge(opened[1], self._loop.time()))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        if len(self._tasks) >= MAX_TASKS:
            work.close()
            self.counts["too_busy"] += 1
            return
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Let everything go, without a goodbye."""
        for network in list(self.hosted):
            self.drop(network)
        for task in self._tasks:
            task.cancel()
        for sender in self._senders.values():
            sender.close()


@asynccontextmanager
async def open_mesh(group: asyncio.TaskGroup, host: str, port: int, report: Report) -> AsyncIterator[Mesh]:
    """Sockets at this address, UDP and TCP under one port (0: any that is free for both), until the end.

    group: where exchanges run; it outlives the mesh. Raises OSError where the sockets cannot be bound.
    """
    tcp, udp = _bind(host, port)
    mesh = Mesh(group, udp.getsockname()[1], report)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: mesh, sock=udp)
    server = await asyncio.start_server(Served(mesh.answer, mesh.counts).serve, sock=tcp)
    try:
        yield mesh
    finally:
        mesh.close()
        transport.close()
        server.close()
        await mesh.closed.wait()  # so that the next run of this site can have the port


def _bind(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for tries_left in reversed(range(BIND_TRIES)):
        tcp = socket.create_server((host, port), family=family)
        udp = socket.socket(family, socket.SOCK_DGRAM)
        try:
            udp.bind(tcp.getsockname())
        except OSError:
            tcp.close()
            udp.close()
            if port or not tries_left:
                raise
        else:
            return tcp, udp
    raise AssertionError  # the last try returned or raised
