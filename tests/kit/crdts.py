"""Histories of CRDT writes at three sites that sometimes hear of each other, as hypothesis strategies.

Values made at random are not what a CRDT is promised to merge: two registers with one stamp and two
values cannot come about. A history can, and every one that comes about is within reach here.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from grid.crdt.gcounter import GCounter
from grid.crdt.lww import Lww
from grid.crdt.orset import OrSet
from grid.crdt.snapshot import Capability, Share, Snapshot

SITES = ("east", "north", "west")
ITEMS = ("llama", "mistral", "qwen")

_site = st.sampled_from(range(len(SITES)))
_item = st.sampled_from(ITEMS)


def _steps(*writes: str) -> st.SearchStrategy[list[tuple[str, int, int, str]]]:
    """(what, at which site, from which site, on which item)."""
    return st.lists(st.tuples(st.sampled_from((*writes, "hear")), _site, _site, _item), max_size=25)


def lwws() -> st.SearchStrategy[list[Lww[int]]]:
    def play(steps: list[tuple[str, int, int, str]]) -> list[Lww[int]]:
        held = [Lww(0, 0, "") for _ in SITES]
        for number, (what, at, other, _) in enumerate(steps):
            if what == "hear":
                held[at] = held[at].merge(held[other])
            else:
                held[at] = Lww(number, held[at].revision + 1, SITES[at])
        return held

    return _steps("write").map(play)


def gcounters() -> st.SearchStrategy[list[GCounter]]:
    def play(steps: list[tuple[str, int, int, str]]) -> list[GCounter]:
        held = [GCounter() for _ in SITES]
        for number, (what, at, other, _) in enumerate(steps):
            held[at] = held[at].merge(held[other]) if what == "hear" else held[at].add(SITES[at], number)
        return held

    return _steps("add").map(play)


def histories() -> st.SearchStrategy[list[OrSet[str]]]:
    def play(steps: list[tuple[str, int, int, str]]) -> list[OrSet[str]]:
        held: list[OrSet[str]] = [OrSet() for _ in SITES]
        for what, at, other, item in steps:
            if what == "hear":
                held[at] = held[at].merge(held[other])
            elif what == "add":
                held[at] = held[at].add(item, SITES[at])
            else:
                held[at] = held[at].remove(item)
        return held

    return _steps("add", "remove").map(play)


def shares() -> st.SearchStrategy[list[Share[str]]]:
    """One origin's share as three sites hold it: only the first writes."""

    def play(steps: list[tuple[str, int, int, str]]) -> list[Share[str]]:
        held: list[Share[str]] = [Share() for _ in SITES]
        for number, (what, at, other, item) in enumerate(steps, 1):
            if what == "hear":
                held[at] = held[at].merge(held[other])
            else:
                held[0] = _written(held[0], what, item, number, SITES[0])
        return held

    return _steps("put", "drop", "offer", "spend").map(play)


def snapshots() -> st.SearchStrategy[list[Snapshot[str]]]:
    """Three sites, each the origin of its own share in one of two networks."""

    def play(steps: list[tuple[str, int, int, str]]) -> list[Snapshot[str]]:
        held: list[Snapshot[str]] = [Snapshot() for _ in SITES]
        for number, (what, at, other, item) in enumerate(steps, 1):
            if what == "hear":
                held[at] = held[at].merge(held[other])
                continue
            network = "production" if other else "staging"
            share = _written(held[at].share(network, SITES[at]), what, item, number, SITES[at])
            held[at] = held[at].with_share(network, SITES[at], share)
        return held

    return _steps("put", "drop", "offer", "spend").map(play)


def _written(share: Share[str], what: str, item: str, number: int, site: str) -> Share[str]:
    match what:
        case "put":
            return share.put(item, f"state {number}", number, site)
        case "drop":
            return share.put(item, None, number, site)
        case "offer":
            offered = share.capabilities.add(Capability("model", item), site)
            return replace(share, capabilities=offered)
        case _:
            counter = share.spend.get(item, GCounter()).add(site, number)
            return share.merge(replace(share, spend={item: counter}))
