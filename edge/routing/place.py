"""One request's placement: its session's binding looked up, a candidate selected, the choice held.

The only step of routing that changes something, and what it changes is the Bindings it is given. Called again
after a failed attempt, with that candidate among `tried`, it gives the next one and binds the session to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from edge.routing.affinity import Secret, session_key, tenant_tag
from edge.routing.bindings import Binding, Bindings, Limits, Outcome
from edge.routing.decision import Decision, Reason
from edge.routing.select import ANYWHERE, Asked, Policy, select
from edge.routing.snapshot import Snapshot

_MOST_TAGS = 1_024
_NO_SESSION: Final = Outcome.NO_SESSION
_BOUND: Final = Reason.BOUND
_AFFINITY: Final = Reason.AFFINITY


@dataclass(frozen=True, slots=True)
class Rules:
    """secrets: the current one, and during a rotation the previous one after it: bindings are looked up under
    both and made under the first. Empty: affinity is off. tags: tenant -> its tag under the first, as far as
    they were asked for; they go when the secret does."""

    policy: Policy = ANYWHERE
    secrets: tuple[Secret, ...] = ()
    limits: Limits = field(default_factory=Limits)
    tags: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    def tag(self, tenant: str) -> bytes:
        """The tenant's name in tables that outlive a request."""
        made = self.tags.get(tenant)
        if made is None:
            if len(self.tags) >= _MOST_TAGS:
                self.tags.clear()
            made = self.tags[tenant] = tenant_tag(self.secrets[0], tenant)
        return made


@dataclass(slots=True)
class Session:
    """One request's. tenant: from authentication, never a client's word. id: a header's that `read_session`
    let through."""

    tenant: str
    id: bytes
    _key: bytes | None = None

    def key_under(self, rules: Rules, kind: str, name: str) -> bytes:
        """The affinity key under the current secret, for the one capability the request asks for."""
        key = self._key
        if key is None:
            key = self._key = session_key(rules.secrets[0], self.tenant, self.id, kind, name)
        return key


@dataclass(slots=True)
class Placement:
    """key: the session's under the current secret, the only trace of it that may be kept; None without
    affinity."""

    decision: Decision
    outcome: Outcome
    key: bytes | None


def place(
    snapshot: Snapshot,
    asked: Asked,
    session: Session | None,
    rules: Rules,
    bindings: Bindings,
    now: float,
    *,
    usable: bool = True,
) -> Placement:
    """session: None without an id or without a tenant: no affinity. now: seconds of the clock the bindings
    are kept by. usable: as for `select`."""
    secrets = rules.secrets
    if session is None or not secrets:
        return Placement(select(snapshot, asked, rules.policy, usable=usable), _NO_SESSION, None)
    key = session.key_under(rules, asked.kind, asked.name)
    found = bindings.find(key, rules.limits, now)
    if found is None and len(secrets) > 1:
        found = _under_older(asked, session, rules, bindings, now)
    bound = None if found is None else found.stable_id
    decision = select(snapshot, asked, rules.policy, key=key, bound=bound, usable=usable)
    candidate, reason = decision.candidate, decision.reason
    if candidate is None or (reason is not _BOUND and reason is not _AFFINITY):
        return Placement(decision, _NO_SESSION, key)
    if found is not None:
        return Placement(decision, bindings.renew(found, key, candidate.stable_id, now), key)
    tag = rules.tag(session.tenant)
    return Placement(decision, bindings.create(key, candidate.stable_id, tag, rules.limits, now), key)


def _under_older(
    asked: Asked, session: Session, rules: Rules, bindings: Bindings, now: float
) -> Binding | None:
    """A binding made before the secret was exchanged."""
    for secret in rules.secrets[1:]:
        key = session_key(secret, session.tenant, session.id, asked.kind, asked.name)
        found = bindings.find(key, rules.limits, now)
        if found is not None:
            return found
    return None
