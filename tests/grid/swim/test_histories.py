"""Whatever happens to a grid, once it stops happening there is one membership, and equal facts everywhere."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from grid.swim.messages import Lane, NameTaken
from grid.swim.tuning import tuned
from tests.kit.sim_network import Host, SimNetwork, Weather

SEED_ADDRESS = "site-0000:7946"


class History:
    """Random mishaps to a random grid, from one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        delay_s = (0.001, chance.choice([0.05, 0.3]))
        weather = Weather(loss=chance.choice([0, 0.05, 0.2]), duplicate=0.05, delay_s=delay_s, skew=0.02)
        self.network = SimNetwork(seed, tuned(1.0, 5.0), weather)
        self.network.grow(chance.randrange(3, 24))
        self.mishaps: list[Callable[[Host], None]] = [
            self.kill,
            self.restart,
            self.restart_a_dead_one,
            self.pause,
            lambda _: self.resume(),
            self.cut,
            lambda _: self.network.cut(),
            self.publish,
        ]

    def goes_on(self, steps: int) -> None:
        for _ in range(steps):
            self.chance.choice(self.mishaps)(self.chance.choice(self.network.up))
            self.network.run(self.chance.uniform(0.1, 15))
        self.network.cut()
        self.resume()

    def kill(self, host: Host) -> None:
        """Never the seed: who comes back without memory has nobody else to call."""
        if host.site != "site-0000":
            self.network.kill(host)

    def restart(self, host: Host) -> None:
        self.network.restart(host, [SEED_ADDRESS], with_memory=self.chance.random() < 0.5)

    def restart_a_dead_one(self, _: Host) -> None:
        if dead := [host for host in self.network.hosts.values() if not host.is_up]:
            self.restart(self.chance.choice(dead))

    def pause(self, host: Host) -> None:
        if host.missed is None:
            self.network.pause(host)

    def resume(self) -> None:
        for host in self.network.up:
            if host.missed is not None:
                self.network.resume(host)

    def cut(self, _: Host) -> None:
        some = [host for host in self.network.up if self.chance.random() < 0.5]
        self.network.cut(some, [host for host in self.network.up if host not in some])

    def publish(self, host: Host) -> None:
        lane, payload = (
            self.chance.choice(list(Lane)),
            self.chance.randbytes(self.chance.choice([10, 600, 3000])),
        )
        self.network.do(host, lambda node, now: node.publish(lane, payload, now))


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(n, marks=pytest.mark.long) for n in range(8, 100))]
)
def test_any_history_ends_in_one_grid(seed: int) -> None:
    history = History(seed)
    history.goes_on(25)
    network = history.network
    assert network.until(network.is_one, 200) is not None
    facts = [{(f.lane, f.origin): f.payload for f in host.node.view.facts} for host in network.up]
    assert all(held == facts[0] for held in facts)
    assert not network.events(NameTaken), "a restart is no second node"
