"""What one node believes: of others, of itself, and of the facts; and what it passes on of it.

    hear(claim)   the claim stands if it beats what stood; then it is news, reported and passed on
    hear of me    whatever would beat this node's own claim is answered by a higher incarnation
    suspects      each has until its deadline to be heard of with a higher incarnation

Nothing here knows of messages: `node.py` speaks, this judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from zlib import crc32

from grid.swim.broadcast import Budget, Outbox
from grid.swim.codec import MAX_COUNT, encode_claim
from grid.swim.draw import Chance
from grid.swim.facts import Facts, next_revision
from grid.swim.members import Claim, State, Table
from grid.swim.messages import (
    Event,
    Fact,
    FactHeard,
    Lane,
    MemberChanged,
    MemberDown,
    MemberForgotten,
    MemberLeft,
    MemberSuspect,
    MemberTrusted,
    MemberUp,
    NameTaken,
    Notify,
    Output,
    Refuted,
)
from grid.swim.ring import Ring
from grid.swim.tuning import Tuning, own_budget, retransmit_budget, suspicion_timeout

STRIKES = 2
"""So often must another run of this name outbid this node's answers before it is held to be alive: a run
that is dead can do it once, with a claim that was on its way, and never again."""


class View:
    """me: this node's own claim. suspects: site -> deadline. out: outputs since they were last taken.
    changed_at: when anything was news. agreed_at: when a probed member held the same as this node; None
    before. revisions: this node's last in each lane. counts: what happened so far, by name. young_until: a
    node this young has forgotten nobody yet, so that one it never heard of, and who is gone, is news to it.
    """

    def __init__(self, me: Claim, chance: Chance, tuning: Tuning, revisions: Mapping[Lane, int]) -> None:
        self.tuning = tuning
        self.table = Table(tuning.max_members)
        self.ring = Ring(chance)
        self.facts = Facts(tuning.max_members * len(Lane))
        self.outbox = Outbox()
        self.suspects: dict[str, float] = {}
        self.out: list[Output] = []
        self.counts: Counter[str] = Counter()
        self.changed_at = 0.0
        self.agreed_at: float | None = None
        self.budget = Budget(1)
        self.revisions = dict(revisions)
        self.young_until = inf
        self._bids: dict[int, tuple[int, int]] = {}
        self._silent_until = 0.0
        self.me = me
        self.encoded_me = encode_claim(me)

    @property
    def size(self) -> int:
        """Living members, this node included."""
        return len(self.table.living) + 1

    @property
    def digest(self) -> int:
        """Equal on nodes that hold the same living members and facts."""
        return self.table.digest ^ self.facts.digest ^ crc32(self.encoded_me)

    def notify(self, event: Event) -> None:
        self.out.append(Notify(event))

    def encoded(self, site: str) -> bytes | None:
        if site == self.me.site:
            return self.encoded_me
        member = self.table.get(site)
        return member.encoded if member else None

    def contradicts(self, claim: Claim) -> bytes | None:
        """What its sender should be told: that it is held suspect or gone, or another under its name."""
        member = self.table.get(claim.site)
        if member is None or member.claim is claim or not member.claim.beats(claim):
            return None
        of_another = member.claim.instance != claim.instance
        return member.encoded if of_another or member.state is not State.ALIVE else None

    # What is heard of members

    def hear(self, claim: Claim, now: float) -> None:
        if claim.site == self.me.site:
            self._hear_of_me(claim, now)
            return
        member = self.table.members.get(claim.site)
        if member is None:
            if not claim.state.is_gone:
                self._enter(claim, now)
            elif now < self.young_until and not self.table.is_full:
                self._entomb(claim, now)
        elif member.claim is not claim and claim.beats(member.claim):
            self._replace(member.claim, claim, now)

    def hear_softly(self, claim: Claim, now: float) -> None:
        """As hear, but a death is only a suspicion. For what comes from far: after a partition each side
        holds the other's dead, and those are there to refute it. As memberlist does in its state merge."""
        member = self.table.members.get(claim.site)
        lives_here = member is not None and not member.state.is_gone
        doubted = claim.state is State.DEAD and (lives_here or claim.site == self.me.site)
        self.hear(claim.as_state(State.SUSPECT) if doubted else claim, now)

    def suspect(self, site: str, now: float) -> None:
        """This node's own probe went unanswered."""
        member = self.table.get(site)
        if member is not None and member.state is State.ALIVE:
            self.hear(member.claim.as_state(State.SUSPECT), now)

    def end_suspicions(self, now: float) -> None:
        for site in [site for site, until in self.suspects.items() if until <= now]:
            member = self.table.get(site)
            self.suspects.pop(site)
            if member is not None and member.state is State.SUSPECT:
                self.hear(member.claim.as_state(State.DEAD), now)

    def forgive(self, late_s: float) -> None:
        """This node was asleep, and nobody could refute to it: every suspect gets that time again."""
        for site in self.suspects:
            self.suspects[site] += late_s

    def bury(self, now: float) -> None:
        """Forget the long gone with all they said, and what strangers said long ago."""
        ttl_s = self.tuning.tombstone_ttl_s
        while (oldest := self.table.oldest_gone(before=now - ttl_s)) is not None:
            self._forget(oldest)
        known = {self.me.site: None, **dict.fromkeys(self.table.members)}
        for origin in self.facts.strangers(known, now - ttl_s):
            self._forget_facts(origin)

    def _enter(self, claim: Claim, now: float) -> None:
        """For a new member the oldest tombstone gives way: it has done most of its work."""
        if self.table.is_full:
            oldest = self.table.oldest_gone()
            if oldest is None:
                self.counts["table_full"] += 1
                return
            self._forget(oldest)
        self.table.put(claim, encode_claim(claim), now)
        self.notify(MemberUp(claim.site, claim.address))
        if claim.state is State.SUSPECT:
            self.notify(MemberSuspect(claim.site))
        self._settle(claim, is_new=True, now=now)

    def _entomb(self, claim: Claim, now: float) -> None:
        """One of whom nothing was heard while it lived: a run that ended before this one began may have told
        people of it. An older node does not listen, or two would remind each other of the gone for ever."""
        self.table.put(claim, encode_claim(claim), now)
        self.notify(MemberDown(claim.site) if claim.state is State.DEAD else MemberLeft(claim.site))
        self._settle(claim, is_new=True, now=now)

    def _replace(self, old: Claim, new: Claim, now: float) -> None:
        self.table.put(new, encode_claim(new), now)
        for event in transition(old, new):
            self.notify(event)
        self._settle(new, is_new=old.state.is_gone, now=now)

    def _settle(self, claim: Claim, *, is_new: bool, now: float) -> None:
        if is_new and not claim.state.is_gone:
            self.ring.add(claim.site)
        size, tuning = self.size, self.tuning
        self.budget = Budget(retransmit_budget(size, tuning), self.me.site, own_budget(size, tuning))
        self.suspects.pop(claim.site, None)
        if claim.state is State.SUSPECT:
            self.suspects[claim.site] = now + suspicion_timeout(self.size, self.tuning)
            self.counts["suspicions"] += 1
        self._tell(claim.site, encode_claim(claim), now)

    def _tell(self, site: str, encoded: bytes, now: float) -> None:
        self.outbox.claims.put(site, len(encoded))
        self.changed_at = now

    def _forget(self, site: str) -> None:
        self.table.forget(site)
        self._forget_facts(site)
        self.notify(MemberForgotten(site))

    def _forget_facts(self, origin: str) -> None:
        self.outbox.forget(origin)
        self.facts.forget(origin)

    # What is heard of this node

    def _hear_of_me(self, claim: Claim, now: float) -> None:
        if self.me.state is State.LEFT or not claim.beats(self.me) or claim.incarnation >= MAX_COUNT:
            return
        if claim.instance != self.me.instance and not self._may_outbid(claim, now):
            return
        self.become(self.me.address, claim.incarnation + 1, now)
        self.counts["refutations"] += 1
        self.notify(Refuted(self.me.incarnation))

    def _may_outbid(self, claim: Claim, now: float) -> bool:
        """Whether to answer another run of this name. Two living ones would outbid each other for ever: once
        that is seen, each is told so and answers no more than once a suspicion's time."""
        if now < self._silent_until:
            return False
        bid, strikes = self._bids.get(claim.instance, (claim.incarnation, 0))
        strikes += claim.incarnation > bid
        if len(self._bids) > STRIKES * 8:
            self._bids.clear()
        self._bids[claim.instance] = claim.incarnation + 1, strikes
        if strikes < STRIKES:
            return True
        self._silent_until = now + suspicion_timeout(self.size, self.tuning)
        self.counts["name_taken"] += 1
        self.notify(NameTaken(claim.address))
        return False

    def become(self, address: str, incarnation: int, now: float, state: State = State.ALIVE) -> None:
        """This node's own claim from now on. Raises Unspeakable for an address that cannot be one."""
        me = Claim(self.me.site, address, self.me.instance, incarnation, state)
        self.encoded_me = encode_claim(me)
        self.me = me
        self._tell(me.site, self.encoded_me, now)

    # Facts

    def say(self, lane: Lane, payload: bytes, revision: int, now: float) -> None:
        """Raises Unspeakable for a payload over the bound; nothing is changed then."""
        held = self.facts.say(lane, self.me.site, revision, payload, now)
        self.revisions[lane] = revision
        self._pass_on(lane, self.me.site, len(held.spoken(now, whole=False)), now)

    def hear_fact(self, fact: Fact, holder: str, now: float) -> None:
        """holder: whose message it came in; to be asked for the bytes if they are not in it."""
        if fact.origin == self.me.site:
            self._hear_my_fact(fact, holder, now)
            return
        before = self.facts.get(fact.lane, fact.origin)
        old = before.digest if before else None
        held = self.facts.hear(fact, holder, now)
        if held is None:
            return
        self._pass_on(fact.lane, fact.origin, len(held.spoken(now, whole=False)), now)
        self.notify(FactHeard(held.lane, held.origin, held.revision, held.payload, held.digest != old))

    def _hear_my_fact(self, fact: Fact, holder: str, now: float) -> None:
        """An earlier run's. It stands until this run says something; then this run goes beyond it, so that it
        is heard."""
        held = self.facts.get(fact.lane, self.me.site)
        self.revisions[fact.lane] = max(self.revisions.get(fact.lane, 0), fact.revision)
        if held is None:
            self.facts.hear(fact, holder, now)
        elif (fact.revision, fact.digest) > (held.revision, held.digest):
            self.say(fact.lane, held.payload, next_revision(fact.revision), now)

    def _pass_on(self, lane: Lane, origin: str, size: int, now: float) -> None:
        self.outbox.lanes[lane].put(origin, size)
        self.changed_at = now


def transition(old: Claim, new: Claim) -> Iterator[Event]:
    """What a claim that beat another means to those who watch."""
    if new.state.is_gone:
        if old.state is not new.state:
            yield MemberDown(new.site) if new.state is State.DEAD else MemberLeft(new.site)
        return
    if old.state.is_gone:
        yield MemberUp(new.site, new.address)
    elif (old.address, old.instance) != (new.address, new.instance):
        yield MemberChanged(new.site, new.address)
    if new.state is State.SUSPECT and old.state is not State.SUSPECT:
        yield MemberSuspect(new.site)
    elif new.state is State.ALIVE and old.state is State.SUSPECT:
        yield MemberTrusted(new.site)
