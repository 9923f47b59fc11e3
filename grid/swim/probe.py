"""Finding out who does not answer: one member a round, and asking others before it is suspected.

    round   ping, and at the timeout k others are asked to; unanswered at its end, the member is suspect
    ring    every member once in an order shuffled anew each time round, newcomers put in at a random place

Sources: SWIM 2002, 3.1 (the round) and 4.3 (the ring, which bounds how long one member waits for its turn).
"""

from __future__ import annotations

from dataclasses import dataclass

from grid.swim.draw import Chance, draw
from grid.swim.messages import Kind, Message
from grid.swim.speak import Saying, Speaker
from grid.swim.tuning import MAX_RELAYS, Tuning, indirect_probes
from grid.swim.view import View

SEQ_MASK = 2**32 - 1


@dataclass(slots=True)
class Round:
    """One member's probe. ask_at: when others are asked; None once they were, or need not be."""

    site: str
    address: str
    seq: int
    sent_at: float
    ask_at: float | None
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class Relay:
    """A probe made for another: whom to tell, under which number, and of whom."""

    address: str
    seq: int
    about: str
    until: float


class Prober:
    """round: the one that is on; None where there is nobody to probe."""

    def __init__(self, view: View, speaker: Speaker, chance: Chance, tuning: Tuning) -> None:
        self._view = view
        self._speaker = speaker
        self._chance = chance
        self.tuning = tuning
        self._seq = 0
        self._relays: dict[int, Relay] = {}
        self.round: Round | None = None

    def judge(self, now: float) -> None:
        """The round is over: who has not answered is suspected."""
        if self.round is not None and not self.round.is_answered:
            self._view.counts["probes_failed"] += 1
            self._view.suspect(self.round.site, now)
        self.round = None

    def begin(self, now: float) -> None:
        member = self._view.ring.turn(self._view.table)
        if member is None:
            return
        seq = self._next_seq()
        self.round = Round(member.site, member.address, seq, now, now + self.tuning.probe_timeout_s)
        self._view.counts["probes"] += 1
        self._speaker.to_member(Kind.PING, member, now, seq=seq)

    def ask_others(self, now: float) -> None:
        """If it is time, k others are asked to probe whom this node hears nothing of."""
        asked = self.round
        if asked is None or asked.ask_at is None or now < asked.ask_at:
            return
        asked.ask_at = None
        k = indirect_probes(self._view.size, self.tuning)
        others = [m for m in draw(self._chance, self._view.table.living, k + 1) if m.site != asked.site]
        for member in others[:k]:
            self._speaker.to_member(
                Kind.PING_REQ, member, now, seq=asked.seq, about=asked.site, at=asked.address
            )

    def on_ping(self, message: Message, now: float) -> None:
        self._speaker.answer(Kind.ACK, message.sender, now, seq=message.seq)

    def on_ping_req(self, message: Message, now: float) -> None:
        if not message.about or not message.at:
            return
        seq = self._next_seq()
        self._clear_relays(now)
        until = now + self.tuning.probe_interval_s
        self._relays[seq] = Relay(message.sender.address, message.seq, message.about, until)
        member = self._view.table.get(message.about)
        if member is not None and member.address == message.at:
            self._speaker.to_member(Kind.PING, member, now, seq=seq)
        else:
            self._speaker.say(Saying(Kind.PING, message.at, seq, message.about), now)

    def on_ack(self, message: Message, now: float) -> bool:
        """Whether it answers this node's own probe."""
        site = message.sender.site
        if asked := self._answered(message.seq, site):
            member = self._view.table.get(site)
            if member is not None:
                member.rtt_s = now - asked.sent_at
            return True
        relay = self._relays.get(message.seq)
        if relay is not None and relay.about == site:
            del self._relays[message.seq]
            if now < relay.until:
                self._speaker.say(Saying(Kind.RELAYED_ACK, relay.address, relay.seq, site), now)
        return False

    def on_relayed_ack(self, message: Message) -> None:
        self._answered(message.seq, message.about)

    def _answered(self, seq: int, site: str) -> Round | None:
        asked = self.round
        if asked is None or asked.is_answered or seq != asked.seq or site != asked.site:
            return None
        asked.is_answered, asked.ask_at = True, None
        return asked

    def _clear_relays(self, now: float) -> None:
        """The oldest come first; those whose time is over go, and others where there are too many."""
        for seq, relay in list(self._relays.items()):
            if now < relay.until and len(self._relays) < MAX_RELAYS:
                return
            del self._relays[seq]

    def _next_seq(self) -> int:
        self._seq = (self._seq + 1) & SEQ_MASK
        return self._seq
