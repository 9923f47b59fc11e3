"""One request's placement: its session's binding looked up, a candidate selected, the choice held.

The only step of routing that changes something, and what it changes is the Bindings it is given. Called again
after a failed attempt, with that candidate among `tried`, it gives the next one and binds the session to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from edge.routing.affinity import Secret, session_key, tenant_tag
from edge.routing.bindings import Bindings, Limits, Outcome
from edge.routing.select import ANYWHERE, Asked, Decision, Policy, select
from edge.routing.snapshot import Snapshot

_MOST_TAGS = 1_024


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
    """tenant: from authentication, never a client's word. id: a header's that `read_session` let through."""

    tenant: str
    id: bytes


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
    if session is None or not rules.secrets:
        return Placement(select(snapshot, asked, rules.policy, usable=usable), Outcome.NO_SESSION, None)
    keys = _keys(asked, session, rules.secrets)
    bound = bindings.bound_to(keys, rules.limits, now)
    decision = select(snapshot, asked, rules.policy, key=keys[0], bound=bound, usable=usable)
    if decision.candidate is None or not decision.binds:
        return Placement(decision, Outcome.NO_SESSION, keys[0])
    tag = rules.tag(session.tenant) if bound is None else b""
    outcome = bindings.hold(keys, decision.candidate.stable_id, tag, rules.limits, now)
    return Placement(decision, outcome, keys[0])


def _keys(asked: Asked, session: Session, secrets: tuple[Secret, ...]) -> list[bytes]:
    """The session's, under each secret."""
    return [session_key(secret, session.tenant, session.id, asked.kind, asked.name) for secret in secrets]
