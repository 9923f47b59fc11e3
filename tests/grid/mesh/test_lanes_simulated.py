"""After any mishaps every site holds of every other what that one has: removals, lost memories and all."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from grid.crdt.snapshot import Share
from grid.mesh.lanes import Heard, write_state
from grid.swim.messages import FactHeard, Lane
from grid.swim.tuning import tuned
from tests.kit.sim_network import Host, SimNetwork, Weather

SEED_ADDRESS = "site-0000:7946"


@dataclass
class Origin:
    """What one site has, and says."""

    share: Share[bytes] = field(default_factory=Share)

    def change(self, chance: random.Random, site: str) -> None:
        providers = dict(self.share.providers)
        for _ in range(chance.randrange(1, 4)):
            name = f"sim-{chance.randrange(6)}"
            if name in providers and chance.random() < 0.5:
                del providers[name]
            else:
                providers.update(
                    self.share.put(name, chance.randbytes(40), len(providers) + 1, site).providers
                )
        self.share = Share(providers)


def heard_of(host: Host) -> Heard:
    """All that a host's mesh reported, taken in as an operator does."""
    heard = Heard("production")
    for _, event in host.events:
        if isinstance(event, FactHeard):
            heard.hear(event)
    return heard


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.long) for n in range(4, 40))]
)
def test_every_site_holds_what_each_has(seed: int) -> None:
    chance = random.Random(seed)
    network = SimNetwork(seed, tuned(1.0, 5.0), Weather(loss=0.05, duplicate=0.05, skew=0.01))
    network.grow(10)
    assert network.until(network.is_one, 120) is not None
    origins = {host.site: Origin() for host in network.up}

    def say(host: Host) -> None:
        payload = write_state(origins[host.site].share, host.site)
        network.do(host, lambda node, now: node.publish(Lane.STATE, payload, now))

    for _ in range(30):
        host = chance.choice(network.up)
        mishap = chance.random()
        if mishap < 0.15:
            some = [one for one in network.up if chance.random() < 0.5]
            network.cut(some, [one for one in network.up if one not in some])
        elif mishap < 0.3:
            network.cut()
        elif mishap < 0.4:
            host = network.restart(host, [SEED_ADDRESS], with_memory=chance.random() < 0.5)
            network.run(1)
        origins[host.site].change(chance, host.site)
        say(host)
        network.run(chance.uniform(0.1, 12))
    network.cut()
    assert network.until(network.is_one, 200) is not None
    for host in network.up:
        say(host)
    assert network.until(network.is_one, 200) is not None

    truth = {site: dict(origin.share.live) for site, origin in origins.items()}
    for host in network.up:
        heard = heard_of(host)
        found = {site: dict(heard.providers(site)) for site in truth if site != host.site}
        assert found == {site: live for site, live in truth.items() if site != host.site}
