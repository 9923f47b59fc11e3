"""Circles in a graph, each named once."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def circles(needs: Mapping[N, Collection[N]]) -> list[tuple[N, ...]]:
    """Circles that share no node, as (a, b, c) for a needs b needs c needs a.

    Where circles share nodes, one is named: breaking it shows the next. Nodes that are not a key
    need nothing. The order of *needs* decides where a circle begins.
    """
    left = {node: [n for n in below if n in needs] for node, below in needs.items()}
    found: list[tuple[N, ...]] = []
    while left := _core(left):
        circle = _walk(left)
        found.append(circle)
        left = {n: below for n, below in left.items() if n not in circle}
    return found


def _core(needs: Mapping[N, Collection[N]]) -> dict[N, list[N]]:
    """Without the nodes that need nothing inside it, again and again: the rest leads round."""
    waiting = {node: sum(n in needs for n in below) for node, below in needs.items()}
    needed_by: dict[N, list[N]] = {}
    for node, below in needs.items():
        for n in below:
            needed_by.setdefault(n, []).append(node)
    free = [node for node, count in waiting.items() if count == 0]
    while free:
        for node in needed_by.get(free.pop(), ()):
            waiting[node] -= 1
            if waiting[node] == 0:
                free.append(node)
    return {node: [n for n in below if waiting.get(n)] for node, below in needs.items() if waiting[node]}


def _walk(needs: Mapping[N, Collection[N]]) -> tuple[N, ...]:
    """Follows first needs until a node comes again. Every node of a core needs one."""
    order = {node: position for position, node in enumerate(needs)}
    trail: list[N] = []
    at = next(iter(needs))
    while at not in trail:
        trail.append(at)
        at = next(iter(needs[at]))
    circle = trail[trail.index(at) :]
    first = min(range(len(circle)), key=lambda i: order[circle[i]])
    return tuple(circle[first:] + circle[:first])
