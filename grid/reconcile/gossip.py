"""One network's gossip as values: what others say as members and capacities, what we say as payloads by lane.

    events of the node -> Listener -> members, capacities (the same objects as long as nothing is new)
    capacities, place  -> Teller   -> (lane, payload), only what is due

No I/O. Instants are Unix seconds by this host's clock; of other sites only ages are heard.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from grid.crdt.lww import Lww
from grid.crdt.snapshot import Share
from grid.mesh.lanes import Heard, SiteSaid, write_metadata, write_state
from grid.reconcile.told import MAX_RECORDS, ToldRejected, hear, tell
from grid.reconcile.world import Capacity, Member, Membership, SiteFacts
from grid.swim.messages import (
    Event,
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
    Refuted,
)
from grid.swim.tuning import MAX_INLINE

REFRESH_S: Final = 10.0
"""An origin says its state again after so long, so that others know it to be young."""
SOON_S: Final = 1.0
"""New readings alone are told no more often; whatever else changes is told at once."""
LARGE_SOON_S: Final = 5.0
"""And of a state that fits no datagram, which every site has to fetch, not even that often."""
TAKEN_FOR_S: Final = 60.0
"""A name is held to be taken for so long after its other bearer was last heard of."""

_BECOMES = {
    MemberUp: Membership.ALIVE,
    MemberTrusted: Membership.ALIVE,
    MemberSuspect: Membership.SUSPECT,
    MemberDown: Membership.DEAD,
    MemberLeft: Membership.LEFT,
}


@dataclass(slots=True)
class Listener:
    """members: by site. refused: records that were none. taken: who else bears our name, and since when."""

    network: str
    heard: Heard = field(init=False)
    members: dict[str, Member] = field(default_factory=dict)
    refused: int = 0
    taken: tuple[str, float] | None = None
    _offered: dict[str, tuple[Capacity, ...]] = field(default_factory=dict)
    _all: tuple[Capacity, ...] | None = ()

    def __post_init__(self) -> None:
        self.heard = Heard(self.network)

    def hear(self, event: Event, age_s: float, now: float) -> bool:
        """Whether anybody should look again. age_s: of a fact, how long ago its origin said it."""
        match event:
            case MemberUp() | MemberTrusted() | MemberSuspect() | MemberDown() | MemberLeft():
                return self._became(event.site, _BECOMES[type(event)], now)
            case FactHeard():
                return self._told(event, age_s, now)
            case MemberForgotten(site=site):
                self.heard.forget(site)
                self._offered.pop(site, None)
                self._all = None
                return self.members.pop(site, None) is not None
            case NameTaken(address=address):
                self.taken = (address, now)
                return True
            case MemberChanged() | Refuted():
                return False

    def taken_by(self, now: float) -> str:
        """The address of another that lives under our name; empty where there is none."""
        return self.taken[0] if self.taken and now - self.taken[1] < TAKEN_FOR_S else ""

    def capacities(self) -> tuple[Capacity, ...]:
        """Of all origins that have not left, by site; the same object as long as nothing is new."""
        if self._all is None:
            offered = sorted(self._offered.items())
            self._all = tuple(each for site, same in offered if not self._has_left(site) for each in same)
        return self._all

    def certificate(self, site: str) -> bytes:
        return self.heard.certs.get(site, b"")

    def _has_left(self, site: str) -> bool:
        member = self.members.get(site)
        return member is not None and member.state is Membership.LEFT

    def _became(self, site: str, state: Membership, now: float) -> bool:
        before = self.members.get(site)
        if before is not None and before.state is state:
            return False
        self._all = None
        self.members[site] = Member(state, now, *self._place(site))
        return True

    def _place(self, site: str) -> tuple[str, SiteFacts]:
        said = self.heard.sites.get(site, SiteSaid())
        facts = SiteFacts(said.role, said.region, said.zone, said.sovereignty_zone, said.server_name)
        return self.heard.gateways.get(site, ""), facts

    def _told(self, fact: FactHeard, age_s: float, now: float) -> bool:
        changed = self.heard.hear(fact)
        if fact.lane is Lane.STATE:
            return self._offers(fact.origin, age_s, now) and changed
        if changed and (member := self.members.get(fact.origin)) is not None:
            address, facts = self._place(fact.origin)
            self.members[fact.origin] = replace(member, address=address, facts=facts)
        return changed

    def _offers(self, site: str, age_s: float, now: float) -> bool:
        """What is no record leaves all of the site's as they were, until they are stale."""
        try:
            found = tuple(self._records(site, age_s, now))
        except ToldRejected:
            self.refused += 1
            return False
        self._offered[site] = found
        self._all = None
        return True

    def _records(self, site: str, age_s: float, now: float) -> Iterator[Capacity]:
        live = sorted(self.heard.providers(site).items())
        for name, record in live[:MAX_RECORDS]:
            capacities = hear(record, self.network, site, age_s, now)
            if [each.provider for each in capacities] != [name]:
                raise ToldRejected("a record under another's name")
            yield from capacities


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """What a site says of itself beside its state. gateway: `host:port`, or empty. certificate: its leaf."""

    said: SiteSaid = field(default_factory=SiteSaid)
    gateway: str = ""
    certificate: bytes = b""

    def lanes(self) -> dict[Lane, bytes]:
        return {
            Lane.METADATA: write_metadata(self.said),
            Lane.GATEWAY: self.gateway.encode(),
            Lane.CERT: self.certificate,
        }


@dataclass(slots=True)
class Teller:
    """What one run of our node has said, and so what is yet to be said. site: our own."""

    site: str
    _told: tuple[Capacity, ...] = ()
    _told_at: float = -math.inf
    _size: int = 0
    _records: dict[str, Lww[bytes | None]] = field(default_factory=dict)
    _said: dict[Lane, bytes] = field(default_factory=dict)

    def due(
        self, capacities: Iterable[Capacity], own: OwnPlace, revision: int, now: float
    ) -> Iterator[tuple[Lane, bytes]]:
        """Payloads to publish now. revision: state's next."""
        for lane, payload in own.lanes().items():
            if self._said.get(lane, b"") != payload:
                self._said[lane] = payload
                yield lane, payload
        capacities = tuple(capacities)
        if self._is_due(capacities, now):
            self._told, self._told_at = capacities, now
            yield Lane.STATE, self._state(capacities, revision, now)

    def _is_due(self, capacities: tuple[Capacity, ...], now: float) -> bool:
        since_s = now - self._told_at
        if since_s >= REFRESH_S:
            return True
        if capacities == self._told:
            return False
        soon_s = SOON_S if self._size <= MAX_INLINE else LARGE_SOON_S
        return since_s >= soon_s or list(map(_lasting, capacities)) != list(map(_lasting, self._told))

    def _state(self, capacities: tuple[Capacity, ...], revision: int, now: float) -> bytes:
        before, self._records = self._records, {}
        for each in capacities[:MAX_RECORDS]:
            record = tell([each], now)
            known = before.get(each.provider)
            same = known is not None and known.value == record
            self._records[each.provider] = known if known and same else Lww(record, revision, self.site)
        share: Share[bytes] = Share(self._records)
        payload = write_state(share, self.site)
        self._size = len(payload)
        return payload


def _lasting(capacity: Capacity) -> tuple[object, ...]:
    """What is told at once when it changes: all but what every scrape brings."""
    return (
        capacity.provider,
        capacity.models,
        capacity.cluster,
        capacity.category,
        capacity.phase,
        capacity.access,
        capacity.drain,
        capacity.measured,
        capacity.reading is None,
        capacity.signals.cost_usd_per_1k,
    )
