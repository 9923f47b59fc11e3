"""Remembers where sessions were placed, by affinity key: never by tenant or session.

Placement is stateless (`affinity`); the memory adds what hashing alone cannot: a session stays with a
candidate that takes existing work only, and is not pulled back when a better one recovers. It is bounded
three ways: an idle binding ends after its TTL, the table has a size, and each tenant may begin so many a
second. When a bound is met the session is routed unbound, by the same hash; nobody else's binding makes
room, since then whoever fills the table would end other tenants' sessions.

One object a gateway, handed on over reloads; limits come with each call, so that a reload may change them.
Times are seconds of one clock that does not go back.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from edge.routing.creations import Creations, Rate


class Outcome(StrEnum):
    """What became of a session's binding; values are metric labels. FULL and LIMITED: routed unbound."""

    NO_SESSION = "no_session"
    CREATED = "created"
    REUSED = "reused"
    REBOUND = "rebound"
    FULL = "table_full"
    LIMITED = "rate_limited"


_REUSED: Final = Outcome.REUSED


@dataclass(frozen=True, slots=True)
class Limits:
    """ttl_s: since a binding was last used. max_entries: about 300 bytes each. rate: of new bindings, for
    each tenant."""

    ttl_s: float = 3_600.0
    max_entries: int = 20_000
    rate: Rate = field(default_factory=Rate)


@dataclass(slots=True)
class Binding:
    """key: what it is kept by. stable_id: the candidate. used_at: last."""

    key: bytes
    stable_id: str
    used_at: float


@dataclass(slots=True)
class Bindings:
    """Keys to candidates, the least recently used first."""

    _rows: OrderedDict[bytes, Binding] = field(default_factory=OrderedDict)
    _creations: Creations = field(default_factory=Creations)

    def __len__(self) -> int:
        """How many are kept, expired ones that nobody asked for included."""
        return len(self._rows)

    def find(self, key: bytes, limits: Limits, now: float) -> Binding | None:
        """The session's binding, None when it has none or it has expired. Changes nothing."""
        row = self._rows.get(key)
        return None if row is None or now - row.used_at >= limits.ttl_s else row

    def renew(self, found: Binding, key: bytes, stable_id: str, now: float) -> Outcome:
        """Use a binding that was found, for the candidate that was chosen; one found under an older secret
        is moved under *key*, the session's under the current one."""
        if found.key != key:
            del self._rows[found.key]
            found.key = key
            self._rows[key] = found
        self._rows.move_to_end(key)
        found.used_at = now
        if found.stable_id == stable_id:
            return _REUSED
        found.stable_id = stable_id
        return Outcome.REBOUND

    def create(self, key: bytes, stable_id: str, tenant_tag: bytes, limits: Limits, now: float) -> Outcome:
        """Bind a session without a binding to the candidate chosen for it, or say why it is not bound."""
        self.sweep(limits, now)
        if len(self._rows) >= limits.max_entries:
            return Outcome.FULL
        if not self._creations.may_create(tenant_tag, limits.rate, now):
            return Outcome.LIMITED
        self._rows[key] = Binding(key, stable_id, now)
        return Outcome.CREATED

    def sweep(self, limits: Limits, now: float) -> int:
        """Drop what has expired; how many that were."""
        before = len(self._rows)
        while self._rows:
            oldest = next(iter(self._rows.values()))
            if now - oldest.used_at < limits.ttl_s:
                break
            self._rows.popitem(last=False)
        return before - len(self._rows)
