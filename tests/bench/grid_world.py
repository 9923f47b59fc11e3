"""CPU of one decision: 1,000 sites, 5,000 provider-models, 10 gateways; whole, and after one change.

What is worst is a round in which the collector looked through everything. The collector is set as the operator sets it: what was there at the
start is left out of it.
"""

from __future__ import annotations

import dataclasses
import gc
import random
import statistics
import time
from collections.abc import Callable

from grid.crd.network import read_network
from grid.crd.site import read_site
from grid.reconcile.decide import decide
from grid.reconcile.network import Memory
from grid.reconcile.world import Capacity, Identified, Member, Membership, Reach, Trust, World
from grid.scoring.health import Health, Phase
from grid.scoring.signals import Category, Signals
from tests.kit.resources import gateway, network, site
from tests.kit.worlds import NOW, carried_out

SITES, PROVIDERS, MODELS, GATEWAYS = 1_000, 5_000, 500, 10


def large(seed: int = 1) -> World:
    """500 models, each at ten of a thousand sites in twelve regions."""
    source = random.Random(seed)
    names = [f"site-{number:04}" for number in range(SITES)]
    endpoint = {"address": "a:1", "tls": {"serverName": "a"}}
    trust = {"canonicalFingerprints": ["ab" * 32]}
    provider_sites = [
        read_site(
            site(name, f"region-{number % 12}", zone=f"z{number % 36}", gatewayEndpoint=endpoint, trust=trust)
        )
        for number, name in enumerate(names)
    ]
    edges = [read_site(site(f"edge-{number}", f"region-{number}", "edge")) for number in range(GATEWAYS)]
    refs = [gateway(f"edge-{number}") for number in range(GATEWAYS)]
    verified = Reach(Trust.VERIFIED, Health(Phase.AVAILABLE, NOW))
    return World(
        site="edge-0",
        networks=(read_network(network("production", *refs)),),
        sites=(*provider_sites, *edges),
        capacities=tuple(_capacity(number, names, source) for number in range(PROVIDERS)),
        members={("production", name): Member(Membership.ALIVE, NOW) for name in names},
        reached=dict.fromkeys(names, verified),
        identity=Identified(Trust.VERIFIED),
    )


def _capacity(number: int, names: list[str], source: random.Random) -> Capacity:
    place = names[number % SITES]
    return Capacity(
        network="production",
        site=place,
        provider=f"provider-{number}",
        models=(f"model-{number % MODELS}",),
        cluster=f"gateway-{place}-{number}",
        category=Category.REMOTE,
        phase=Phase.AVAILABLE,
        measured=True,
        reading=1,
        signals=Signals(source.random() * 0.8, source.random() * 0.8),
        at=NOW,
    )


def cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def main() -> None:
    """Prints the median and the worst of each, in ms of CPU."""
    rounds = 7
    world = large()
    gc.collect()
    gc.freeze()
    first = [cpu_ms(lambda: decide(world, Memory(), NOW)) for _ in range(rounds)]
    settled, memory = world, Memory()
    for _ in range(3):
        decision = decide(settled, memory, NOW)
        settled, memory = carried_out(settled, decision.actions), decision.memory
    quiet = [cpu_ms(lambda: decide(settled, memory, NOW + 1)) for _ in range(rounds)]
    changed = []
    for number in range(rounds):
        worse = dataclasses.replace(settled.capacities[number], phase=Phase.UNAVAILABLE, reading=2)
        capacities = (*settled.capacities[:number], worse, *settled.capacities[number + 1 :])
        after = dataclasses.replace(settled, capacities=capacities)
        changed.append(cpu_ms(lambda after=after: decide(after, memory, NOW + 1)))  # type: ignore[misc]
    for name, found, goal in (
        ("whole", first, "goal 400 ms"),
        ("nothing new", quiet, "no goal"),
        ("one provider down", changed, "goal 60 ms"),
    ):
        print(
            f"{name:>18}: median {statistics.median(found):5.1f} ms, worst {max(found):5.1f} ms of CPU ({goal})"
        )


if __name__ == "__main__":
    main()
