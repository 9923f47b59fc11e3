"""What is claimed of a member, which claim beats which, and the bounded table of those that stand.

    (incarnation, state, instance, address): the greater stands      ALIVE < SUSPECT < DEAD < LEFT

Claims of one member are totally ordered, so that nodes which heard the same claims in any order hold the
same. Only the member itself raises its incarnation: that is how it refutes (SWIM 2002, 4.2). One departure
from the paper: a death does not beat every incarnation, so that who was thought dead can say otherwise.

The gone keep their place as tombstones for a while, so that an old claim does not bring them back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from math import inf
from zlib import crc32


class State(IntEnum):
    """In the order in which claims of one incarnation beat each other."""

    ALIVE = 0
    SUSPECT = 1
    DEAD = 2
    LEFT = 3

    @property
    def is_gone(self) -> bool:
        return self >= State.DEAD


@dataclass(frozen=True, slots=True)
class Claim:
    """site: the member's name. address: where it wants to be answered, `host:port`. instance: drawn at random
    by each run of a node, so that two of one name are told apart. incarnation: raised by the member alone."""

    site: str
    address: str
    instance: int
    incarnation: int
    state: State = State.ALIVE

    def beats(self, other: Claim) -> bool:
        return self._rank() > other._rank()

    def _rank(self) -> tuple[int, int, int, str]:
        return self.incarnation, self.state, self.instance, self.address

    def as_state(self, state: State) -> Claim:
        return Claim(self.site, self.address, self.instance, self.incarnation, state)


@dataclass(slots=True, eq=False)
class Member:
    """claim: what stands. encoded: the claim as it is sent. since: when it came to stand, here. rtt_s: of the
    last probe it answered directly; None before."""

    claim: Claim
    encoded: bytes
    since: float
    rtt_s: float | None = None

    @property
    def site(self) -> str:
        return self.claim.site

    @property
    def address(self) -> str:
        return self.claim.address

    @property
    def state(self) -> State:
        return self.claim.state


class Table:
    """Members by name, without the node itself; the living also as a list, to draw from.

    limit: places, the node's own included; who puts a new one looks at is_full first. digest: of the living
    and their incarnations; nodes that hold the same have the same.
    """

    __slots__ = ("_tombstones", "digest", "limit", "living", "members")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.members: dict[str, Member] = {}
        self.living: list[Member] = []
        self.digest = 0
        self._tombstones: dict[str, float] = {}  # site -> when it was put, oldest first

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    def get(self, site: str) -> Member | None:
        return self.members.get(site)

    @property
    def is_full(self) -> bool:
        return len(self.members) + 1 >= self.limit

    def put(self, claim: Claim, encoded: bytes, now: float) -> None:
        """The claim stands from now on."""
        member = self.members.get(claim.site)
        if member is None:
            self._enter(self.members.setdefault(claim.site, Member(claim, encoded, now)), now)
            return
        was_gone = member.state.is_gone
        if not was_gone:
            self.digest ^= crc32(member.encoded)
        if was_gone and not claim.state.is_gone:
            del self._tombstones[claim.site]
        elif claim.state.is_gone and not was_gone:
            self.living.remove(member)
        if member.state is not claim.state:
            member.since = now
        member.claim, member.encoded = claim, encoded
        if was_gone != claim.state.is_gone:
            self._enter(member, now)
        elif not was_gone:
            self.digest ^= crc32(encoded)

    def oldest_gone(self, before: float = inf) -> str | None:
        """The site of the oldest tombstone, if it was put by then."""
        for site, put_at in self._tombstones.items():
            return site if put_at <= before else None
        return None

    def forget(self, site: str) -> None:
        """A tombstone's time is over."""
        del self._tombstones[site]
        del self.members[site]

    def dead(self) -> list[Member]:
        """The dead that may come back; who left said that it will not."""
        return [m for m in map(self.members.__getitem__, self._tombstones) if m.state is State.DEAD]

    def _enter(self, member: Member, now: float) -> None:
        if member.state.is_gone:
            self._tombstones[member.site] = now
            return
        self.living.append(member)
        self.digest ^= crc32(member.encoded)
