"""Membership by n: bytes, joins and deaths against their bounds, and what one node and one merge cost.

Goals: a join known everywhere within 1.5 log2(n) + 3 rounds; the dead found within the published bound; bytes a
node and second that do not grow with n but by a logarithm under loss; 10,000 node-rounds/s with sealing off; one
node's CPU at most 1 % of a core at 100 members and rounds of 1 s; 1,000 providers merged within 20 ms.

Times of the grid are virtual, one round a second; what depends on this machine is CPU time. Without arguments the
plot docs/architecture/mesh-convergence.svg is drawn anew from these numbers.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path

from grid.crdt.snapshot import Share
from grid.mesh.lanes import Heard, write_state
from grid.reconcile.gossip import Listener
from grid.reconcile.told import tell
from grid.swim.members import State
from grid.swim.messages import FactHeard, Lane
from grid.swim.tuning import detection_bound, dissemination_rounds, tuned
from tests.bench.swim_plot import Point, draw
from tests.kit.eventually import eventually
from tests.kit.mesh_crowd import TUNING as CROWD_TUNING
from tests.kit.meshes import opened
from tests.kit.sim_network import Host, SimNetwork, Weather
from tests.kit.worlds import NOW, capacity

TUNING = tuned(1.0, 5.0)
SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
SEEDS = (1, 2, 3)
LOSSES = (0.0, 0.05)
ROUNDS = 30
CROWD = 100
WATCHED_S = 30.0
PROVIDERS = 1000
PLOT = Path(__file__).parents[2] / "docs" / "architecture" / "mesh-convergence.svg"


def main(sizes: tuple[int, ...] = SIZES) -> None:
    points = []
    for loss in LOSSES:
        print(f"loss {loss:.0%}; rounds of {TUNING.probe_interval_s:g} s; the worst of {len(SEEDS)} seeds")
        print(
            "     n   node-rounds/s   bytes/node/s   join (bound)    suspected by all   dead to all (bound)"
        )
        for count in sizes:
            points.append(_point(count, loss))
            print(_line(points[-1]), flush=True)
    if sizes == SIZES:
        PLOT.write_text(draw(points))
        print(f"drawn: {PLOT.name}")
    _merges()
    asyncio.run(_one_of_many())


def _point(count: int, loss: float) -> Point:
    return Point.worst([_measured(count, loss, seed) for seed in SEEDS])


def _measured(count: int, loss: float, seed: int) -> Point:
    network = _settled(count, Weather(loss=loss, delay_s=(0.001, 0.05)), seed)
    sent, began = network.sent_bytes, time.process_time()
    network.run(ROUNDS)
    speed = count * ROUNDS / (time.process_time() - began)
    rate = (network.sent_bytes - sent) / ROUNDS / count
    joined = _until_known(network)
    suspected, dead = _until_found(network)
    return Point(count, loss, speed, rate, joined, suspected, dead)


def _line(point: Point) -> str:
    count = point.count
    return (
        f"{count:6}   {point.speed:13,.0f}   {point.rate:12,.0f}"
        f"   {point.joined:5.2f} ({dissemination_rounds(count):4.1f})"
        f"   {point.suspected:16.2f}   {point.dead:11.2f} ({detection_bound(count, TUNING):4.1f})"
    )


def _settled(count: int, weather: Weather, seed: int) -> SimNetwork:
    """A grid in which everybody has known everybody for long, one place short of its size."""
    network = SimNetwork(seed, TUNING, weather)
    network.acquainted(count - 1)
    network.run(5)
    return network


def _until_known(network: SimNetwork) -> float:
    newcomer = network.start("newcomer", ["site-0000:7946"])
    return _seconds(network, lambda host: host is newcomer or "newcomer" in host.node.view.table.members)


def _until_found(network: SimNetwork) -> tuple[float, float]:
    victim = network.up[len(network.up) // 2]
    network.kill(victim)
    suspected = _seconds(network, lambda host: _state(host, victim.site) > State.ALIVE)
    return suspected, suspected + _seconds(network, lambda host: _state(host, victim.site) > State.SUSPECT)


def _state(host: Host, site: str) -> State:
    member = host.node.view.table.get(site)
    return member.state if member else State.DEAD


def _seconds(network: SimNetwork, holds: object) -> float:
    assert callable(holds)
    took = network.until(lambda: all(holds(host) for host in network.up), 200, 0.05)
    return float("nan") if took is None else took


def _merges() -> None:
    """A whole snapshot into a state that holds an older one: decoded and merged, and made capacities of."""
    old, new = (_state_of(revision) for revision in (1, 2))
    merged, heard = [], []
    for _ in range(20):
        held, listener = Heard("production"), Listener("production")
        held.hear(old)
        listener.hear(old, 0.0, NOW)
        began = time.process_time()
        held.hear(new)
        merged.append(time.process_time() - began)
        began = time.process_time()
        listener.hear(new, 0.0, NOW)
        heard.append(time.process_time() - began)
    print(f"{PROVIDERS} providers, {len(new.payload):,} bytes, CPU time, median of {len(merged)}")
    print(f"  decoded and merged        {statistics.median(merged) * 1000:6.1f} ms   goal 20 ms")
    print(f"  and read as capacities    {statistics.median(heard) * 1000:6.1f} ms   goal none")


def _state_of(revision: int) -> FactHeard:
    share: Share[bytes] = Share()
    for number in range(PROVIDERS):
        record = tell([capacity(provider=f"sim-{number:04}", reading=revision)], NOW)
        share = Share(
            {**share.providers, **share.put(f"sim-{number:04}", record, revision, "east").providers}
        )
    return FactHeard(Lane.STATE, "east", revision, write_state(share, "east"), changed=True)


async def _one_of_many() -> None:
    """A node on real sockets among 99 in another process, each of which says its state every 10 s."""
    async with opened("watched", tuning=CROWD_TUNING) as site:
        argv = ("-m", "tests.kit.mesh_crowd", str(CROWD - 1), site.address)
        crowd = await asyncio.create_subprocess_exec(sys.executable, *argv, stdin=PIPE)
        try:
            await eventually(lambda: len(site.living()) == CROWD - 1, "the crowd is there", within_s=120)
            await asyncio.sleep(15)  # the news of so many joins is over
            began, counted = time.process_time(), site.mesh.counts.copy()
            await asyncio.sleep(WATCHED_S)
            used = (time.process_time() - began) / WATCHED_S
            datagrams = {k: (site.mesh.counts[k] - counted[k]) / WATCHED_S for k in ("sent", "received")}
        finally:
            crowd.kill()
            await crowd.wait()
    traffic = f"{datagrams['sent']:.0f} datagrams/s sent, {datagrams['received']:.0f} received"
    print(
        f"one of {CROWD} members, rounds of 1 s, sealed, states every 10 s: {used:.2%} of a core   goal 1 %"
    )
    print(f"  {traffic}")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
