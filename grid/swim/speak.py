"""Puts messages together: a head, then as much news as the room left holds.

Who is addressed is told first what this node holds of it, if that is not simply that it lives: a suspect thus
learns of it by the very next ping, whoever sends it (Lifeguard 2018, Buddy System), and one thought dead by
the first answer to whatever it says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grid.swim.codec import SECTION_BYTES, head, sections
from grid.swim.draw import Chance, draw
from grid.swim.facts import Held
from grid.swim.members import Claim, Member, State
from grid.swim.messages import Kind, Message, SendTo
from grid.swim.tuning import MAX_EXCHANGE, MAX_TEXT
from grid.swim.view import View

WELCOME_MEMBERS = 64
"""More never fit a datagram."""


@dataclass(frozen=True, slots=True)
class Saying:
    """One message to be sent. first: the claim its receiver is told before any news. Others as in Message."""

    kind: Kind
    address: str
    seq: int = 0
    about: str = ""
    at: str = ""
    first: bytes | None = None


class Speaker:
    """Puts datagrams into the view's outputs."""

    __slots__ = ("_chance", "_view")

    def __init__(self, view: View, chance: Chance) -> None:
        self._view = view
        self._chance = chance

    def say(self, saying: Saying, now: float) -> None:
        """With news in all the room left."""
        view = self._view
        start = self._start(saying)
        if saying.first is None and view.outbox.is_empty:
            view.out.append(SendTo(saying.address, start))
            return
        claims, facts, _ = self._news(saying, MAX_TEXT - len(start), now)
        view.out.append(SendTo(saying.address, start + sections(claims, facts)))

    def to_member(
        self, kind: Kind, member: Member, now: float, *, seq: int = 0, about: str = "", at: str = ""
    ) -> None:
        first = None if member.state is State.ALIVE else member.encoded
        self.say(Saying(kind, member.address, seq, about or member.site, at, first), now)

    def answer(self, kind: Kind, sender: Claim, now: float, *, seq: int = 0) -> None:
        """To where the sender says it is."""
        self.say(Saying(kind, sender.address, seq, sender.site, first=self._view.contradicts(sender)), now)

    def welcome(self, sender: Claim, now: float) -> None:
        """With members too, drawn at random: who asks several seeds learns of more."""
        view = self._view
        saying = Saying(Kind.WELCOME, sender.address, 0, sender.site, first=view.contradicts(sender))
        start = self._start(saying)
        claims, facts, room = self._news(saying, MAX_TEXT - len(start), now)
        for member in draw(self._chance, view.table.living, WELCOME_MEMBERS):
            if len(member.encoded) <= room and member.encoded not in claims:
                claims.append(member.encoded)
                room -= len(member.encoded)
        view.out.append(SendTo(saying.address, start + sections(claims, facts)))

    def offer(self, now: float) -> bytes:
        """The first half of a push/pull: all members, this node's facts, and others' by their digests. Within
        MAX_OFFER whatever is held: who is asked reads it before knowing who asks."""
        site = self._view.me.site
        return self._exchange(
            held.spoken(now, whole=False) if held.origin == site else held.announced(now)
            for held in self._own_first()
        )

    def reply(self, asked: Message, now: float) -> bytes:
        """The second half: all members, and of the facts what who asked does not hold."""
        known = {(fact.lane, fact.origin): (fact.revision, fact.digest) for fact in asked.facts}
        return self._exchange(
            held.spoken(now, whole=known.get(held.key, (0, b""))[1] != held.digest)
            for held in self._own_first()
            if (held.revision, held.digest) > known.get(held.key, (0, b""))
        )

    def _own_first(self) -> list[Held]:
        return sorted(self._view.facts, key=lambda held: held.origin != self._view.me.site)

    def _exchange(self, spoken: Iterable[bytes]) -> bytes:
        """All members, and the facts that fit."""
        view = self._view
        start = head(Kind.EXCHANGE, 0, view.digest, view.encoded_me)
        claims = [member.encoded for member in view.table]
        room = MAX_EXCHANGE - len(start) - 2 * SECTION_BYTES - sum(map(len, claims))
        facts: list[bytes] = []
        for each in spoken:
            if len(each) <= room:
                facts.append(each)
                room -= len(each)
        return start + sections(claims, facts)

    def _start(self, saying: Saying) -> bytes:
        view = self._view
        return head(saying.kind, saying.seq, view.digest, view.encoded_me, saying.about, saying.at)

    def _news(self, saying: Saying, room: int, now: float) -> tuple[list[bytes], list[bytes], int]:
        """Claims, facts, and the room they leave."""
        view = self._view
        claims = [saying.first] if saying.first else []
        room -= 2 * SECTION_BYTES + sum(map(len, claims))
        sites, keys = view.outbox.take(room, view.budget)
        claims += [encoded for site in sites if (encoded := view.encoded(site)) is not None]
        held = [fact for key in keys if (fact := view.facts.get(*key)) is not None]
        facts = [fact.spoken(now, whole=False) for fact in held]
        for fact, spoken in zip(held, facts, strict=True):
            view.counts[f"{fact.lane.name.lower()}_bytes"] += len(spoken)
        return claims, facts, room - sum(map(len, claims[1 if saying.first else 0 :])) - sum(map(len, facts))
