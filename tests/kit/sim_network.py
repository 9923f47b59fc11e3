"""A network of real nodes in virtual time: a heap of what happens next, and one seed for all chance.

    network = SimNetwork(seed=1, tuning=tuned(1.0, 5.0), weather=Weather(loss=0.05))
    network.grow(128); network.run(60); assert network.is_one()

Datagrams are lost, late, doubled and overtaken as the weather says; hosts are cut off, paused, killed and
restarted; their clocks start anywhere and run fast or slow. Nothing is sealed here: the seal has tests of
its own. Push/pulls are reliable while both ends live and are not cut off.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grid.swim.broadcast import Outbox
from grid.swim.messages import Event, Exchange, Notify, Output, SendTo, WakeAt
from grid.swim.node import NOTHING, Memory, SwimNode
from grid.swim.tuning import MAX_TEXT, Tuning

EXCHANGE_S = 0.02


@dataclass(frozen=True, slots=True)
class Weather:
    """loss, duplicate: chances of one datagram. delay_s: least and most; its spread is what reorders.
    skew: how much faster or slower a clock may run, as a share."""

    loss: float = 0.0
    duplicate: float = 0.0
    delay_s: tuple[float, float] = (0.001, 0.01)
    skew: float = 0.0


@dataclass(slots=True, eq=False)
class Host:
    """One site's process. offset_s, rate: its clock. group: hosts of other groups are cut off. missed: what
    came while it was paused, None while it runs. events: (when, what), by true time."""

    node: SwimNode
    address: str
    offset_s: float
    rate: float
    is_up: bool = True
    group: int = 0
    wake_at: float = -1.0
    runs: int = 1
    missed: list[bytes] | None = None
    events: list[tuple[float, Event]] = field(default_factory=list)

    @property
    def site(self) -> str:
        return self.node.view.me.site

    def clock(self, now: float) -> float:
        return self.offset_s + self.rate * now

    def living(self) -> set[str]:
        return {member.site for member in self.node.view.table.living}


_Step = Callable[[], None]


class SimNetwork:
    """now: true time. sent, sent_bytes, largest: of all datagrams so far. transcript: of all of them, hashed.
    recorded: their texts, if somebody wants them."""

    def __init__(self, seed: int, tuning: Tuning, weather: Weather | None = None) -> None:
        self.seed = seed
        self.tuning = tuning
        self.weather = weather or Weather()
        self.now = 0.0
        self.hosts: dict[str, Host] = {}
        self.sent = self.sent_bytes = self.largest = self.exchanges = 0
        self.transcript: hashlib._Hash | None = None
        self.recorded: list[bytes] | None = None
        self._by_address: dict[str, Host] = {}
        self._chance = random.Random(f"weather {seed}")
        self._heap: list[tuple[float, int, Host, bytes | _Step | None]] = []
        self._count = 0

    # Hosts

    def start(
        self,
        site: str,
        seeds: Iterable[str] = (),
        *,
        address: str = "",
        memory: Memory = NOTHING,
        runs: int = 1,
    ) -> Host:
        """A new process for this site, calling these seeds."""
        chance = random.Random(f"{self.seed} {site} {address} {runs}")
        address = address or f"{site}:7946"
        node = SwimNode(site, address, chance.getrandbits(32), chance, self.tuning, memory)
        rate = 1 + self._chance.uniform(-1, 1) * self.weather.skew
        host = Host(node, address, self._chance.uniform(0, 1e6), rate, runs=runs)
        self._by_address[address] = host
        self.hosts[site if address == f"{site}:7946" else address] = host
        self._take(host, node.join(seeds, host.clock(self.now)))
        return host

    def grow(self, count: int, *, spread_s: float = 0.0) -> list[Host]:
        """site-0000 on, each seeded with the first, started within this time."""
        started = []
        for number in range(count):
            seeds = [] if number == 0 else ["site-0000:7946"]
            started.append(self.start(f"site-{number:04}", seeds))
            if spread_s:
                self.run(spread_s / count)
        return started

    def acquainted(self, count: int) -> list[Host]:
        """As grow, with everybody knowing everybody, and that being no news any more."""
        hosts = [self.start(f"site-{number:04}") for number in range(count)]
        claims = [host.node.view.me for host in hosts]
        for host in hosts:
            view = host.node.view
            for claim in claims:
                view.hear(claim, host.clock(self.now))
            view.outbox = Outbox()
            view.out.clear()
        return hosts

    def kill(self, host: Host) -> None:
        host.is_up = False

    def restart(self, host: Host, seeds: Iterable[str] = (), *, with_memory: bool = True) -> Host:
        """The same site and address, a new process; the old one is gone."""
        host.is_up = False
        memory = host.node.memory() if with_memory else NOTHING
        return self.start(host.site, seeds, memory=memory, runs=host.runs + 1)

    def pause(self, host: Host) -> None:
        host.missed = []

    def resume(self, host: Host) -> None:
        missed, host.missed = host.missed or [], None
        for text in missed:
            self._at(self.now, host, text)
        self._at(self.now, host, None)
        host.wake_at = self.now

    def cut(self, *groups: Iterable[Host]) -> None:
        """From now on hosts hear only those of their own group; without groups, everybody."""
        for host in self.hosts.values():
            host.group = 0
        for number, group in enumerate(groups, 1):
            for host in group:
                host.group = number

    def do(self, host: Host, call: Callable[[SwimNode, float], list[Output]]) -> None:
        """Call a node's method as its shell would."""
        self._take(host, call(host.node, host.clock(self.now)))

    @property
    def up(self) -> list[Host]:
        return [host for host in self.hosts.values() if host.is_up and not host.node.has_left]

    # Time

    def run(self, for_s: float) -> None:
        until = self.now + for_s
        heap = self._heap
        while heap and heap[0][0] <= until:
            at, _, host, what = heapq.heappop(heap)
            self.now = at
            if not host.is_up:
                continue
            if what is None:
                if host.wake_at == at and host.missed is None:
                    host.wake_at = -1.0
                    self._take(host, host.node.tick(host.clock(at)))
            elif not isinstance(what, bytes):
                what()
            elif host.missed is not None:
                host.missed.append(what)
            else:
                self._take(host, host.node.receive(what, host.clock(at)))
        self.now = until

    def until(self, holds: Callable[[], bool], within_s: float, step_s: float | None = None) -> float | None:
        """Seconds until it held, looked at every quarter of a round; None if it did not within that time."""
        began, step_s = self.now, step_s or self.tuning.probe_interval_s / 4
        while not holds():
            if self.now - began > within_s:
                return None
            self.run(step_s)
        return self.now - began

    # What is true

    def is_one(self) -> bool:
        """Every living node holds exactly the living for alive, and all hold the same facts."""
        up = self.up
        if len({host.node.view.digest for host in up}) > 1:
            return False
        sites = {host.site for host in up}
        return all(host.living() == sites - {host.site} for host in up)

    def events(self, kind: type[Event]) -> list[tuple[float, Host, Event]]:
        return [(at, h, e) for h in self.hosts.values() for at, e in h.events if isinstance(e, kind)]

    # What nodes asked for

    def _take(self, host: Host, outputs: list[Output]) -> None:
        for output in outputs:
            if type(output) is SendTo:
                self._send(host, output)
            elif type(output) is WakeAt:
                # A clock that runs at another rate rounds differently: never a hair too early.
                at = max(self.now, (output.instant - host.offset_s) / host.rate) + 1e-9
                host.wake_at = at
                self._at(at, host, None)
            elif type(output) is Notify:
                host.events.append((self.now, output.event))
            elif type(output) is Exchange:
                self._exchange(host, output.address)

    def _send(self, host: Host, output: SendTo) -> None:
        size = len(output.text)
        self.sent += 1
        self.sent_bytes += size
        self.largest = max(self.largest, size)
        assert size <= MAX_TEXT
        if self.transcript is not None:
            self.transcript.update(f"{self.now!r} {host.address} {output.address} ".encode() + output.text)
        if self.recorded is not None:
            self.recorded.append(output.text)
        weather, chance = self.weather, self._chance
        target = self._by_address.get(output.address)
        if target is None or target.group != host.group or (weather.loss and chance.random() < weather.loss):
            return
        low, high = weather.delay_s
        self._at(self.now + low + (high - low) * chance.random(), target, output.text)
        if weather.duplicate and chance.random() < weather.duplicate:
            self._at(self.now + low + (high - low) * chance.random() * 3, target, output.text)

    def _exchange(self, host: Host, address: str) -> None:
        self.exchanges += 1
        self._at(self.now + EXCHANGE_S, host, lambda: self._swap(host, address))

    def _swap(self, host: Host, address: str) -> None:
        peer = self._by_address.get(address)
        unreachable = peer is None or not peer.is_up or peer.node.has_left or peer.missed is not None
        if peer is None or unreachable or peer.group != host.group or host.missed is not None:
            return
        mine = host.node.offer(host.clock(self.now))
        theirs, outputs = peer.node.answer(mine, peer.clock(self.now))
        self._take(peer, outputs)
        self._take(host, host.node.merge(theirs, host.clock(self.now)))

    def _at(self, at: float, host: Host, what: bytes | _Step | None) -> None:
        self._count += 1
        heapq.heappush(self._heap, (at, self._count, host, what))
