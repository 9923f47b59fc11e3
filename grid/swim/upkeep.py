"""The slow business beside probing: calling when alone, finding the lost again, push/pulls.

nobody lives        bursts to seeds, the dead and remembered peers, further and further apart
somebody is suspect asked each round: news of its refutation passes a few by, and they shall not outlive it
somebody is dead    now and then one of them is called, or a seed nobody here has the address of: so that
                    the halves of a healed partition find each other
a while has passed  a push/pull with a random member; sooner where facts were announced and not held, and
                    where two that had no news for long hold different things
"""

from __future__ import annotations

from grid.swim.draw import Chance, draw, spread
from grid.swim.messages import Exchange, Kind, Message
from grid.swim.rejoin import Callback
from grid.swim.speak import Saying, Speaker
from grid.swim.tuning import Tuning, dissemination_rounds, exchange_interval
from grid.swim.view import View

REMEMBERED_AT_ONCE = 4
"""Addresses taken note of at a time: a fair sample of a large grid, and soon all of a small one."""

SUSPECTS_AT_ONCE = 8
"""Asked a round; of a whole region that is lost, others ask the rest."""


class Upkeep:
    """callback: whom to call when alone."""

    def __init__(
        self, view: View, speaker: Speaker, chance: Chance, tuning: Tuning, callback: Callback
    ) -> None:
        self._view = view
        self._speaker = speaker
        self._chance = chance
        self.tuning = tuning
        self.callback = callback
        self._reconnect_at = 0.0
        self._exchange_at = 0.0
        self._exchanged: dict[str, float] = {}
        self._resting: dict[str, float] = {}

    def start(self, now: float) -> None:
        self._reconnect_at = now + spread(self._chance, self.tuning.reconnect_interval_s)
        self._exchange_at = now + spread(self._chance, self.tuning.exchange_interval_s)

    def every_round(self, now: float) -> None:
        self.call_out(now)
        self._ask_suspects(now)
        if now >= self._reconnect_at:
            self._reconnect_at = now + spread(self._chance, self.tuning.reconnect_interval_s)
            self._view.bury(now)
            self._reconnect(now)
            for member in draw(self._chance, self._view.table.living, REMEMBERED_AT_ONCE):
                self.callback.remember(member.address)

    def _ask_suspects(self, now: float) -> None:
        """Gossip reaches all but e**-budget of the members. Without this, who missed a refutation would hold
        the living for dead: twice in 10**5 node-rounds at 32 members and 5 % loss."""
        for site in draw(self._chance, list(self._view.suspects), SUSPECTS_AT_ONCE):
            member = self._view.table.get(site)
            if member is not None:
                self._speaker.to_member(Kind.PING, member, now)

    def call_out(self, now: float) -> None:
        """Where nobody lives, call whoever might."""
        if self._view.table.living:
            self.callback.reset()
            return
        dead = [member.address for member in self._view.table.dead()]
        for address in self.callback.burst(dead, self._view.me.address, now):
            self._speaker.say(Saying(Kind.JOIN, address), now)

    def fetch(self, now: float) -> None:
        """Facts that were announced and are not held, at once; the same address again only after a moment, so
        that what it announces meanwhile comes together. Only what is lacked is carried."""
        if not self._view.facts.wants:
            return
        self._resting = {a: until for a, until in self._resting.items() if until > now}
        for address in self._view.facts.due_wants(now, 2 * self.tuning.probe_interval_s, self._resting):
            self._resting[address] = now + 2 * self.tuning.gossip_interval_s
            self._make_exchange(address, now)

    @property
    def fetch_at(self) -> float | None:
        """When something is to be fetched; None where nothing is."""
        facts = self._view.facts
        return facts.next_want(self._resting) if facts.wants else None

    def compare(self, message: Message, now: float) -> None:
        """Two that hold different things long after anything was news have missed some of it; while there is
        always news, nobody can tell, and a push/pull at every interval makes sure. Equals need none."""
        if message.digest == self._view.digest:
            self._view.agreed_at = now
            return
        settled_s = dissemination_rounds(self._view.size) * self.tuning.probe_interval_s
        if now >= self._exchange_at or now - self._view.changed_at > settled_s:
            self._view.counts["digest_mismatches"] += 1
            interval_s = exchange_interval(self._view.size, self.tuning)
            self._exchange_at = now + spread(self._chance, interval_s)
            self.exchange(message.sender.address, now)

    def meet(self, message: Message, now: float) -> None:
        """Somebody answers who was called: all it holds, unless that is what this node holds already. The
        first time all the same, since who is gone is in no digest."""
        if message.digest == self._view.digest:
            self._view.agreed_at = now
            if self._view.counts["merged"]:
                return
        self.exchange(message.sender.address, now)

    def exchange(self, address: str, now: float) -> None:
        """At most once in a while with the same address."""
        gap_s = self.tuning.exchange_gap_s
        if address in self._exchanged and now - self._exchanged[address] < gap_s:
            return
        self._make_exchange(address, now)

    def _make_exchange(self, address: str, now: float) -> None:
        self.exchanged(address, now)
        self._view.counts["exchanges"] += 1
        self._view.out.append(Exchange(address))

    def exchanged(self, address: str, now: float) -> None:
        """One was made, whoever began it."""
        gap_s = self.tuning.exchange_gap_s
        self._exchanged = {a: at for a, at in self._exchanged.items() if now - at < gap_s}
        self._exchanged[address] = now

    def _reconnect(self, now: float) -> None:
        lost = dict.fromkeys((*(m.address for m in self._view.table.dead()), *self.callback.seeds))
        if not lost:
            return
        known = {member.address for member in self._view.table.living} | {self._view.me.address}
        absent = [address for address in lost if address not in known]
        for address in draw(self._chance, absent, 1):
            self._speaker.say(Saying(Kind.JOIN, address), now)
