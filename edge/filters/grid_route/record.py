"""A routing decision as members of the request's log line: whose view, who was chosen, by which overlay.

What is the same for every request to a candidate is written once a snapshot and kept with it; names are
bounded by the contract. No tenant, session, address or credential is among them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edge.chain import Attempt
from edge.filters.grid_route.onward import Onward
from edge.routing.bindings import Outcome
from edge.routing.snapshot import Snapshot
from grid.contract.overlay import Candidate


@dataclass(slots=True)
class Records:
    """site, region: the gateway's own, as configured; the overlay knows its site."""

    site: str
    region: str
    _tenths: int = -1
    _age: str = ""

    def record(
        self,
        snapshot: Snapshot,
        onward: Onward | None,
        binding: Outcome,
        attempts: Sequence[Attempt],
        age_s: float | None,
    ) -> str:
        """Begins with a comma. onward: None when nobody was chosen; one of *snapshot*. age_s: of the overlay,
        None for static candidates; negative when the clock was set back, which makes nothing older."""
        if onward is None:
            made = self._make(snapshot, None, binding)
        else:
            made = onward.said.get(binding) or self._say(snapshot, onward, binding)
        if age_s is not None:
            tenths = int(age_s * 10) if age_s > 0 else 0
            if tenths != self._tenths:
                self._tenths, self._age = tenths, f',"age_s":{tenths / 10}'
            made += self._age
        return made + _of_attempts(attempts) if attempts else made

    def _say(self, snapshot: Snapshot, onward: Onward, binding: Outcome) -> str:
        made = onward.said[binding] = self._make(snapshot, onward.candidate, binding)
        return made

    def _make(self, snapshot: Snapshot, candidate: Candidate | None, binding: Outcome) -> str:
        facts: dict[str, object] = {**self._of_overlay(snapshot)}
        if binding is not Outcome.NO_SESSION:
            facts["binding"] = binding
        if candidate is not None:
            facts |= _of_candidate(candidate)
        return _members(facts)

    def _of_overlay(self, snapshot: Snapshot) -> dict[str, str]:
        overlay = snapshot.overlay
        facts = {"site": overlay.site or self.site, "region": self.region}
        facts |= {"revision": overlay.label, "digest": overlay.digest}
        return {name: value for name, value in facts.items() if value}


def _of_candidate(candidate: Candidate) -> dict[str, object]:
    facts: dict[str, object] = {"provider": candidate.site, "admission": candidate.admission}
    if candidate.tier is not None:
        facts["tier"] = candidate.tier
    return {**facts, "rank": candidate.rank}


def _of_attempts(attempts: Iterable[Attempt]) -> str:
    """Those before the last."""
    tried = [
        {"candidate": attempt.candidate, "cluster": attempt.cluster, "fault": attempt.cause}
        for attempt in attempts
    ]
    return _members({"attempts": tried})


def _members(facts: Mapping[str, object]) -> str:
    return "," + json.dumps(facts, separators=(",", ":"))[1:-1]
