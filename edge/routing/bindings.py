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
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from edge.routing.creations import Creations, Rate


class Outcome(StrEnum):
    """What became of a session's binding; values are metric labels. FULL and LIMITED: routed unbound."""

    NO_SESSION = "no_session"
    CREATED = "created"
    REUSED = "reused"
    REBOUND = "rebound"
    FULL = "table_full"
    LIMITED = "rate_limited"


@dataclass(frozen=True, slots=True)
class Limits:
    """ttl_s: since a binding was last used. max_entries: about 300 bytes each. rate: of new bindings, for
    each tenant."""

    ttl_s: float = 3_600.0
    max_entries: int = 20_000
    rate: Rate = field(default_factory=Rate)


@dataclass(slots=True)
class _Row:
    """stable_id: the candidate. used_at: last."""

    stable_id: str
    used_at: float


@dataclass(slots=True)
class Bindings:
    """Keys to candidates, the least recently used first."""

    _rows: OrderedDict[bytes, _Row] = field(default_factory=OrderedDict)
    _creations: Creations = field(default_factory=Creations)

    def __len__(self) -> int:
        """How many are kept, expired ones that nobody asked for included."""
        return len(self._rows)

    def bound_to(self, keys: Sequence[bytes], limits: Limits, now: float) -> str | None:
        """stable_id of the candidate a session is bound to, None without a binding. Changes nothing.

        keys: the session's under each secret, the current one's first.
        """
        found = self._find(keys, limits, now)
        return None if found is None else self._rows[found].stable_id

    def hold(
        self, keys: Sequence[bytes], stable_id: str, tenant_tag: bytes, limits: Limits, now: float
    ) -> Outcome:
        """Bind a session to the candidate that was chosen for it, or say why it is not bound.

        A binding found under an older secret is moved under the current one. keys: as for `bound_to`.
        """
        found = self._find(keys, limits, now)
        if found is None:
            return self._create(keys[0], stable_id, tenant_tag, limits, now)
        row = self._rows[found]
        outcome = Outcome.REUSED if row.stable_id == stable_id else Outcome.REBOUND
        row.stable_id, row.used_at = stable_id, now
        if found != keys[0]:
            self._rows[keys[0]] = self._rows.pop(found)
        self._rows.move_to_end(keys[0])
        return outcome

    def sweep(self, limits: Limits, now: float) -> int:
        """Drop what has expired; how many that were."""
        before = len(self._rows)
        while self._rows:
            oldest = next(iter(self._rows.values()))
            if now - oldest.used_at < limits.ttl_s:
                break
            self._rows.popitem(last=False)
        return before - len(self._rows)

    def _find(self, keys: Sequence[bytes], limits: Limits, now: float) -> bytes | None:
        for key in keys:
            row = self._rows.get(key)
            if row is not None and now - row.used_at < limits.ttl_s:
                return key
        return None

    def _create(self, key: bytes, stable_id: str, tenant_tag: bytes, limits: Limits, now: float) -> Outcome:
        self.sweep(limits, now)
        if len(self._rows) >= limits.max_entries:
            return Outcome.FULL
        if not self._creations.may_create(tenant_tag, limits.rate, now):
            return Outcome.LIMITED
        self._rows[key] = _Row(stable_id, now)
        return Outcome.CREATED
