"""The numbers of a node, and the laws that follow from them and the size of the grid. All pure.

One value holds every number, so that a simulation, a lab and a grid over oceans differ in one argument.
Times follow from the probe interval: what is quick or slow is so in rounds, not in seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

MAX_TEXT: Final = 1367
"""Bytes of one sealed datagram's text: 1,400 less the seal's 33. A test holds it equal to the seal's own."""
MAX_EXCHANGE: Final = 8 * 1024 * 1024
"""Bytes of the second half of a push/pull; four thousand providers at 2 KB."""
MAX_OFFER: Final = 1024 * 1024
"""Bytes of the first half, which anybody may send: 1,024 members and 4,096 digests, the longest names."""
MAX_MEMBERS: Final = 1024
"""Places in the table, the node itself and tombstones included; as the reference implementation."""
MAX_PAYLOAD: Final = 1024 * 1024
"""Bytes of one fact: a thousand provider records."""
MAX_INLINE: Final = 900
"""A fact this large still rides in a datagram beside a head and a few claims; larger ones are announced."""
MAX_ADDRESSES: Final = 64
"""Addresses kept for coming back after isolation."""
MAX_RELAYS: Final = 1024
"""Indirect probes one node makes for others at a time."""

FEW: Final = 32
"""Up to so many members k is as given: one false suspicion of the whole grid in fifty rounds, at 5 % loss."""
ASKED_FAILS: Final = 0.185
"""Chance that a probe by way of another fails, at 5 % loss: four datagrams, 1 - .95**4."""

OWN_COPIES: Final = 8
"""Members an origin tells itself, at least: so many that in a grid of nine all hear it from who said it."""

SHORTEST_ROUND_S: Final = 0.05
MOST_FANOUT: Final = 16


@dataclass(frozen=True, slots=True)
class Tuning:
    """probe_interval_s: one round. probe_timeout_s: when others are asked.

    indirect_probes: SWIM's k, in a small grid. suspicion_s, suspicion_factor: the floor, and c, of
    suspicion_timeout. retransmit_factor: lambda of retransmit_budget. gossip_interval_s: the least time
    between two gossip rounds, made only while there is news. exchange_interval_s: between push/pulls with
    members that hold other things; exchange_gap_s: the least time between two with the same address.
    reconnect_interval_s: between calls to one that is dead. rejoin_*: how a node that sees nobody calls.
    tombstone_ttl_s: how long the gone are remembered.
    """

    probe_interval_s: float
    probe_timeout_s: float
    suspicion_s: float
    gossip_interval_s: float
    exchange_interval_s: float
    exchange_gap_s: float
    reconnect_interval_s: float
    rejoin_first_s: float
    rejoin_max_s: float
    rejoin_burst: int = 5
    tombstone_ttl_s: float = 3600.0
    indirect_probes: int = 3
    gossip_fanout: int = 3
    suspicion_factor: float = 1.5
    retransmit_factor: float = 4.0
    max_members: int = MAX_MEMBERS


def tuned(probe_interval_s: float, suspicion_s: float, gossip_fanout: int = 3) -> Tuning:
    """The numbers of a grid of which these three are known; everything else is in proportion.

    Half a round is left to indirect probes, as SWIM 2002, 3.1 asks of the period: several round trips. What
    would make a node spin is brought within bounds.
    """
    probe_interval_s = max(probe_interval_s, SHORTEST_ROUND_S)
    return Tuning(
        probe_interval_s=probe_interval_s,
        probe_timeout_s=probe_interval_s * 0.4,
        suspicion_s=suspicion_s,
        gossip_fanout=min(max(gossip_fanout, 1), MOST_FANOUT),
        gossip_interval_s=min(0.2, probe_interval_s / 5),
        exchange_interval_s=30 * probe_interval_s,
        exchange_gap_s=3 * probe_interval_s,
        reconnect_interval_s=10 * probe_interval_s,
        rejoin_first_s=probe_interval_s,
        rejoin_max_s=min(60.0, 100 * probe_interval_s),
    )


DEFAULT: Final = tuned(5.0, 10.0)
LAB: Final = tuned(0.3, 1.5)


def suspicion_timeout(members: int, tuning: Tuning) -> float:
    """Seconds a suspect has to refute, in a grid of so many. SWIM 2002, 4.2; the logarithm as memberlist's:
    the time a suspicion and its refutation need to spread grows by it (SWIM 2002, 4.1)."""
    rounds = tuning.suspicion_factor * math.log2(max(members, 2))
    return max(tuning.suspicion_s, rounds * tuning.probe_interval_s)


def indirect_probes(members: int, tuning: Tuning) -> int:
    """How many others are asked about who does not answer. It grows, so that false suspicions, of which all
    must hear, stay as rare in a large grid as in a small one: each one more makes them five times rarer at
    5 % loss. SWIM 2002, 3.1 takes k so from the loss and the rate of mistakes that is wanted."""
    more = math.log(max(members, 1) / FEW) / -math.log(ASKED_FAILS)
    return tuning.indirect_probes + max(0, math.ceil(more))


def retransmit_budget(members: int, tuning: Tuning) -> int:
    """How often one node passes one piece of news on. SWIM 2002, 4.1: lambda log n."""
    return max(1, math.ceil(tuning.retransmit_factor * math.log10(members + 1)))


def own_budget(members: int, tuning: Tuning) -> int:
    """How often a node tells what is news of itself: in a small grid to every member, since gossip alone
    would now and then pass one by; in a larger one no more than anybody."""
    return max(retransmit_budget(members, tuning), min(members - 1, OWN_COPIES))


def dissemination_rounds(members: int) -> float:
    """Rounds after which every member knows what one knew; a property of the simulation holds it."""
    return 1.5 * math.log2(max(members, 2)) + 3


def exchange_interval(members: int, tuning: Tuning) -> float:
    """Seconds between push/pulls while there is always news. Each costs as much as there are members, so
    beyond 32 they get rarer by the logarithm; memberlist's law."""
    return tuning.exchange_interval_s * max(1, 1 + math.ceil(math.log2(max(members, 1) / 32)))


def detection_bound(members: int, tuning: Tuning) -> float:
    """Seconds after which every member knows that one is dead.

    Probing goes round-robin, so one member needs at most 2n - 1 rounds to come by (SWIM 2002, 4.3); with all
    of them probing, ten rounds without one coming by have a chance of e**-10. Then the round that fails, the
    suspicion, and the news; a suspicion one heard of late ends late, hence the news twice.
    """
    first_probe = min(2 * members - 1, 10) + 1
    rounds = first_probe + 2 * dissemination_rounds(members)
    return rounds * tuning.probe_interval_s + suspicion_timeout(members, tuning)
