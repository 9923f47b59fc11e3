"""A member of a grid, sans I/O: bytes and instants in, outputs out.

    receive(text, now)  an opened datagram came          join(seeds, now)    call these addresses
    tick(now)           the instant asked for has come   leave(now)          say goodbye; the node is done
    publish(...)        a fact of this node's own        offer, answer, merge   a push/pull

Every call returns outputs: datagrams to send, an instant to be woken at, exchanges to make, events to report.
No call blocks, reads a clock or draws chance that was not handed in: one seed and one history give one
transcript. A member is who its sealed message says, and is answered at the address it says.

    node    what comes in, and when          view    what is believed, and reported    speak   what goes out
    probe   who does not answer              upkeep  push/pull, and coming back
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grid.swim.codec import MAX_COUNT, decode, decode_exchange
from grid.swim.draw import Chance, draw, shuffled
from grid.swim.facts import next_revision
from grid.swim.members import Claim, Member, State
from grid.swim.messages import Kind, Lane, Malformed, Message, Output, WakeAt
from grid.swim.probe import Prober
from grid.swim.rejoin import Callback
from grid.swim.speak import Speaker
from grid.swim.tuning import MAX_ADDRESSES, Tuning
from grid.swim.upkeep import Upkeep
from grid.swim.view import View

LEAVE_COPIES = 8
"""Members told of a goodbye, at least: all of them lost is one in 10**10 at 5 % loss."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a node's next run should know. incarnation: its last. peers: addresses, the most useful first."""

    incarnation: int
    revisions: Mapping[Lane, int]
    peers: tuple[str, ...]


NOTHING = Memory(0, {}, ())


class SwimNode:
    """One run of one site. instance: random 32 bits, drawn anew for each run. wake_at: as last asked for.

    Raises Unspeakable for a site or address that cannot be sent.
    """

    def __init__(
        self, site: str, address: str, instance: int, chance: Chance, tuning: Tuning, memory: Memory = NOTHING
    ) -> None:
        me = Claim(site, address, instance, min(memory.incarnation + 1, MAX_COUNT))
        self.view = View(me, chance, tuning, memory.revisions)
        self.has_left = False
        self._tuning = tuning
        self._chance = chance
        self._speaker = Speaker(self.view, chance)
        self._prober = Prober(self.view, self._speaker, chance, tuning)
        callback = Callback(chance, tuning, memory.peers)
        self._upkeep = Upkeep(self.view, self._speaker, chance, tuning, callback)
        self._round_at: float | None = None
        self._gossip_at = 0.0
        self._deck: list[Member] = []
        self.wake_at: float | None = None

    # What the shell calls

    def join(self, seeds: Iterable[str], now: float) -> list[Output]:
        """Call these addresses, now and until one answers. Without seeds, wait to be called."""
        self._enter(now)
        self._upkeep.callback.seeds = tuple(dict.fromkeys(seeds))[:MAX_ADDRESSES]
        self._upkeep.callback.reset()
        self._upkeep.call_out(now)
        return self._finish(now)

    def receive(self, text: bytes, now: float) -> list[Output]:
        """One opened datagram. What is malformed is counted and changes nothing."""
        if self.has_left:
            return []
        self._enter(now)
        message = decode(text)
        if isinstance(message, Malformed):
            self.view.counts[message] += 1
        else:
            self._hear(message, now)
        return self._finish(now)

    def tick(self, now: float) -> list[Output]:
        """The instant of the last WakeAt has come; at any other it does no harm."""
        if self.has_left:
            return []
        round_at = self._enter(now)
        self.view.end_suspicions(now)
        if now >= round_at:
            self._round_at = now + self._tuning.probe_interval_s
            self._prober.judge(now)
            self._upkeep.every_round(now)
            self._prober.begin(now)
        else:
            self._prober.ask_others(now)
        self._upkeep.fetch(now)
        self.wake_at = None  # the timer is used up, even if it went off early: ask for another in any case
        return self._finish(now)

    def leave(self, now: float) -> list[Output]:
        """Say goodbye to enough members that all will hear. After it every call returns nothing."""
        if self.has_left:
            return []
        me = self.view.me
        self.view.become(me.address, me.incarnation, now, State.LEFT)
        for member in draw(self._chance, self.view.table.living, max(LEAVE_COPIES, self.view.budget.each)):
            self._speaker.to_member(Kind.GOSSIP, member, now)
        self.has_left = True
        return self._take()

    def retune(self, tuning: Tuning) -> None:
        """Go on by other numbers, from the next round. What is under way ends by the old ones."""
        self._tuning = tuning
        self.view.tuning = self._prober.tuning = self._upkeep.tuning = self._upkeep.callback.tuning = tuning

    def readvertise(self, address: str, now: float) -> list[Output]:
        """Be answered at another address from now on. Raises Unspeakable for one that cannot be sent."""
        if address == self.view.me.address or self.has_left:
            return []
        self.view.become(address, min(self.view.me.incarnation + 1, MAX_COUNT), now)
        return self._finish(now)

    def publish(self, lane: Lane, payload: bytes, now: float) -> list[Output]:
        """Say so to all, at once. Also the refresh of what was said before: the same payload, a new age.

        Raises Unspeakable for a payload over the bound; nothing is changed then.
        """
        if self.has_left:
            return []
        self._enter(now)
        self.view.say(lane, payload, next_revision(self.view.revisions.get(lane, 0)), now)
        return self._finish(now)

    def offer(self, now: float) -> bytes:
        """The first half of a push/pull: what this node holds, the large facts by their digests."""
        return self._speaker.offer(now)

    def answer(self, text: bytes, now: float) -> tuple[bytes, list[Output]]:
        """The second half, for who sent the first: what it lacks. And what its own brings to do."""
        outputs, asked = self.merge(text, now), decode_exchange(text)
        if isinstance(asked, Malformed):
            return self._speaker.offer(now), outputs
        return self._speaker.reply(asked, now), outputs

    def merge(self, text: bytes, now: float) -> list[Output]:
        """The other's half of a push/pull."""
        if self.has_left:
            return []
        self._enter(now)
        message = decode_exchange(text)
        if isinstance(message, Malformed):
            self.view.counts[message] += 1
        elif message.sender.site != self.view.me.site:
            self._upkeep.exchanged(message.sender.address, now)
            self.view.counts["merged"] += 1
            self.view.hear(message.sender, now)
            for claim in message.claims:
                self.view.hear_softly(claim, now)
            self._hear_facts(message, now)
        return self._finish(now)

    def memory(self) -> Memory:
        """What to keep for the next run; the living are the best peers."""
        living = [member.address for member in self.view.table.living]
        peers = tuple(dict.fromkeys((*living, *self._upkeep.callback.peers)))[:MAX_ADDRESSES]
        return Memory(self.view.me.incarnation, dict(self.view.revisions), peers)

    # What others say

    def _hear(self, message: Message, now: float) -> None:
        view, sender = self.view, message.sender
        if sender.site == view.me.site:
            view.counts["own_name"] += 1
            view.hear(sender, now)
            return
        view.hear(sender, now)
        for claim in message.claims:
            view.hear(claim, now)
        if message.facts:
            self._hear_facts(message, now)
        if message.kind is Kind.PING and message.about != view.me.site:
            view.counts["misdirected"] += 1
            return
        self._answer(message, now)

    def _hear_facts(self, message: Message, now: float) -> None:
        for fact in message.facts:
            self.view.hear_fact(fact, message.sender.address, now)
        self._upkeep.fetch(now)

    def _answer(self, message: Message, now: float) -> None:
        """Every answer tells its receiver what is held against it; where none is due, that alone is one."""
        kind = message.kind
        if kind is Kind.PING:
            self._prober.on_ping(message, now)
            return
        if kind is Kind.JOIN:
            self._speaker.welcome(message.sender, now)
            return
        if kind is Kind.ACK:
            if self._prober.on_ack(message, now):
                self._upkeep.compare(message, now)
        elif kind is Kind.PING_REQ:
            self._prober.on_ping_req(message, now)
        elif kind is Kind.RELAYED_ACK:
            self._prober.on_relayed_ack(message)
        elif kind is Kind.WELCOME:
            self._upkeep.meet(message, now)
        if self.view.contradicts(message.sender):
            self._speaker.answer(Kind.GOSSIP, message.sender, now)

    # Time

    def _enter(self, now: float) -> float:
        """When the next round begins. The first call sets them going, each node's at its own moment."""
        if self._round_at is None:
            self._round_at = now + self._tuning.probe_interval_s * self._chance.random()
            self._upkeep.start(now)
            self.view.young_until = now + self._tuning.tombstone_ttl_s
            self.view.become(self.view.me.address, self.view.me.incarnation, now)
        elif self.wake_at is not None and now - self.wake_at > self._tuning.probe_interval_s:
            self._slept(now - self.wake_at, now)
        return self._round_at

    def _slept(self, late_s: float, now: float) -> None:
        """A node woken more than a round late slept itself: what it did not hear meanwhile proves nothing.
        (In the spirit of Lifeguard 2018, Self-Awareness.) Its rounds go on from now, so that the messages
        that waited for it are not a sleep each."""
        self.view.counts["slept"] += 1
        self.view.forgive(late_s + self._tuning.probe_interval_s)
        self._prober.round = None
        self._round_at = now
        self.wake_at = None

    def _finish(self, now: float) -> list[Output]:
        self._gossip(now)
        due = self._due()
        if due != self.wake_at:
            self.wake_at = due
            self.view.out.append(WakeAt(due))
        return self._take()

    def _gossip(self, now: float) -> None:
        """News goes out at once, and then no more often than the interval, until it was told enough."""
        view = self.view
        if now < self._gossip_at or view.outbox.is_empty or not view.table.living:
            return
        self._gossip_at = now + self._tuning.gossip_interval_s
        for member in self._hand(self._tuning.gossip_fanout):
            if not view.outbox.is_empty:
                self._speaker.to_member(Kind.GOSSIP, member, now)

    def _hand(self, count: int) -> list[Member]:
        """Living members in a random order, each once before one comes again: news is not told to one twice
        while another has not heard it."""
        hand: dict[str, Member] = {}
        for _ in range(2):
            while self._deck and len(hand) < count:
                member = self._deck.pop()
                if not member.state.is_gone:
                    hand.setdefault(member.site, member)
            if len(hand) == count:
                break
            self._deck = shuffled(self._chance, self.view.table.living)
        return list(hand.values())

    def _due(self) -> float:
        view, asked = self.view, self._prober.round
        due = self._round_at or 0.0
        if asked is not None and asked.ask_at is not None and asked.ask_at < due:
            due = asked.ask_at
        if view.suspects:
            due = min(due, *view.suspects.values())
        fetch_at = self._upkeep.fetch_at
        if fetch_at is not None and fetch_at < due:
            due = fetch_at
        if self._gossip_at < due and view.table.living and not view.outbox.is_empty:
            due = self._gossip_at
        return due

    def _take(self) -> list[Output]:
        out, self.view.out = self.view.out, []
        return out
