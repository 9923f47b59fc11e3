"""The order of probing: every member once, in an order shuffled anew each time round.

Newcomers are put in at a random place, so that all start at different ones; no member waits longer than two
times round (SWIM 2002, 4.3).
"""

from __future__ import annotations

from grid.swim.draw import Chance, shuffled
from grid.swim.members import Member, Table


class Ring:
    """Names only; the table says who still lives."""

    __slots__ = ("_chance", "_next", "_order")

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._order: list[str] = []
        self._next = 0

    def add(self, site: str) -> None:
        place = self._chance.randrange(len(self._order) + 1)
        self._order.insert(place, site)
        if place < self._next:
            self._next += 1

    def turn(self, table: Table) -> Member | None:
        """Whose turn it is; None where nobody lives."""
        while self._next < len(self._order):
            member = table.get(self._order[self._next])
            self._next += 1
            if member is not None and not member.state.is_gone:
                return member
        self._order = shuffled(self._chance, [member.site for member in table.living])
        self._next = 1
        return table.get(self._order[0]) if self._order else None
