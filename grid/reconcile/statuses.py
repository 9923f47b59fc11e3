"""The status of each resource, from what was decided; written only where it says something new.

No age, count of probes or time of day is in a status: a grid in which nothing happens writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grid.contract.instants import write_instant
from grid.contract.names import OVERLAY_V1ALPHA2
from grid.crd.base import Condition
from grid.crd.conditions import Fact, conditions, hold
from grid.crd.network import GridNetwork, NetworkStatus
from grid.crd.provider import InferenceProvider, ProviderStatus
from grid.crd.site import GridSite, SiteStatus
from grid.reconcile.actions import Emit, WriteStatus
from grid.reconcile.declared import Declared, slips
from grid.reconcile.gateways import Outcome
from grid.reconcile.sites import Standing
from grid.reconcile.world import Member, Membership, MeshStanding
from grid.scoring.admission import Admitted, Reason
from grid.scoring.health import Phase

_NAMES_SHOWN = 10
_MESH_TYPES = frozenset({"MeshRunning", "SiteNameUnique"})


@dataclass(frozen=True, slots=True)
class Said:
    """What a site's status says beside its standing.

    member: its place in the mesh, None outside it. heard: whether the mesh has been heard; before that, what
    was said of its place stands. certificate: PEM as it announced it, empty if it did not.
    offers: whether any provider of models is known there; None while that is not known, and what was stays.
    """

    member: Member | None = None
    heard: bool = True
    certificate: bytes = b""
    offers: bool | None = None


def site_status(site: GridSite, standing: Standing, said: Said, now: float) -> Iterator[WriteStatus | Emit]:
    """The site's status, and an event when its phase or reason is new."""
    before = site.status or SiteStatus()
    pem = said.certificate.decode("ascii", "replace") or before.public_cert_pem
    facts = [Fact("Ready", standing.verified, standing.reason, standing.message)]
    facts += _membership(standing, said, before)
    offers = before.capabilities.inference if said.offers is None else said.offers
    told = (before.phase, before.public_cert_pem, before.capabilities.inference)
    if told == (standing.phase, pem, offers) and hold(facts, before.conditions, site.metadata.generation):
        return
    moved = before.phase != standing.phase
    made: dict[str, Any] = {
        **(before.model_dump(by_alias=True, exclude_none=True) if site.status else {}),
        "phase": standing.phase,
        "reason": standing.reason,
        "message": standing.message,
        "conditions": conditions(facts, before.conditions, site.metadata.generation, now),
        "observedGeneration": site.metadata.generation,
    }
    made["capabilities"] = {**made.get("capabilities", {}), "inference": offers}
    if pem:
        made["publicCertPem"] = pem
    if moved:
        made["lastTransitionTime"] = write_instant(int(now))
    yield WriteStatus("GridSite", site.metadata.name, made)
    if moved or before.reason != standing.reason:
        note = f"{before.phase} to {standing.phase}" if moved else standing.phase
        yield _event(
            site, "GridSite", standing.reason, standing.message or note, warning=not standing.verified
        )


def _membership(standing: Standing, said: Said, before: SiteStatus) -> Iterator[Fact]:
    """Its place in the mesh. A run that begins keeps what the one before it said, until it has heard others;
    of who has left, that is never undone by silence."""
    if said.member is not None:
        alive = said.member.state in {Membership.ALIVE, Membership.SUSPECT}
        yield Fact("MemberAlive", alive, said.member.state.capitalize())
    elif not said.heard or standing.phase == "Left":
        yield from (_kept(each) for each in before.conditions if each.type == "MemberAlive")


def provider_status(
    declared: Declared, admitted: Admitted | None, now: float
) -> Iterator[WriteStatus | Emit]:
    """The provider's status, and an event when its phase or reason is new."""
    provider, before = declared.provider, declared.provider.status or ProviderStatus()
    generation = provider.metadata.generation
    facts = [
        Fact("Ready", declared.phase is Phase.AVAILABLE, declared.reason or "Available", declared.message)
    ]
    problems = list(slips(provider))
    facts.append(
        Fact("SpecHonoured", not problems, "SpecInvalid" if problems else "AllHonoured", _names(problems))
    )
    if provider.spec.metrics_config is not None and declared.capacities:
        facts.append(_metrics_read(declared, before))
    if admitted is not None:
        known = None if admitted.reason is Reason.AWAITING_SAMPLE else admitted.state == "new_and_existing"
        facts.append(Fact("OpenToNewWork", known, _camel(admitted.reason)))
    made: dict[str, Any] = {
        "phase": declared.phase.value,
        "reason": declared.reason,
        "matchingSites": list(declared.sites),
        "conditions": conditions(facts, before.conditions, generation, now),
        "observedGeneration": generation,
    }
    if admitted is not None:
        made["admission"] = {"state": admitted.state.value, "reason": admitted.reason.value}
    if provider.status is not None and ProviderStatus.model_validate(made) == provider.status:
        return
    yield WriteStatus("InferenceProvider", provider.metadata.name, made)
    if before.phase != declared.phase or (before.reason or "") != declared.reason:
        warning = declared.phase is not Phase.AVAILABLE
        note = declared.message or f"{before.phase} to {declared.phase}"
        yield _event(provider, "InferenceProvider", declared.reason or "Available", note, warning=warning)


@dataclass(frozen=True, slots=True)
class Around:
    """What a network's status says beside its overlays.

    standings: of its provider sites. told: capacities other sites gave. unserved: gateways that get no
    overlay, each with why. problems: what in its spec is not honoured, and objects that could not be read.
    mesh: None is not known yet, or not wanted.
    """

    standings: Mapping[str, Standing] = field(default_factory=dict)
    told: int = 0
    unserved: Sequence[str] = ()
    problems: Sequence[str] = ()
    mesh: MeshStanding | None = None


def _metrics_read(declared: Declared, before: ProviderStatus) -> Fact:
    """Until an operator that begins has scraped, what the one before it found stands."""
    if declared.read is not None:
        return Fact("MetricsRead", declared.read, _camel(declared.unread) if declared.unread else "Read")
    known = [_kept(each) for each in before.conditions if each.type == "MetricsRead"]
    return known[0] if known else Fact("MetricsRead", None, "AwaitingScrape")


def network_status(
    network: GridNetwork,
    outcomes: Sequence[Outcome],
    around: Around,
    now: float,
) -> Iterator[WriteStatus | Emit]:
    """The network's status, and events: its phase is new, or somebody else changed an overlay."""
    before = network.status or NetworkStatus()
    standings = around.standings
    phase = network_phase(standings)
    made: dict[str, Any] = {
        "gridId": network.grid_id,
        "phase": phase,
        "connectedSites": sum(standing.verified for standing in standings.values()),
        "distributedProviderCount": around.told,
        "overlayStatus": [_overlay_status(outcome) for outcome in outcomes],
        "consumerConfigStatus": [each.model_dump(by_alias=True) for each in before.consumer_config_status],
        "budgetStatus": _budgets(network),
        "conditions": conditions(
            [*network_facts(phase, outcomes, around), *mesh_facts(network, before, around.mesh)],
            before.conditions,
            network.metadata.generation,
            now,
        ),
        "observedGeneration": network.metadata.generation,
    }
    if network.status is None or NetworkStatus.model_validate(made) != network.status:
        yield WriteStatus("GridNetwork", network.metadata.name, made)
        if before.phase != phase:
            note = f"{before.phase} to {phase}"
            yield _event(network, "GridNetwork", phase, note, warning=phase == "Degraded")
    for outcome in outcomes:
        if outcome.write is not None and outcome.write.restored:
            note = f"{outcome.write.namespace}/{outcome.write.name} was changed by somebody else"
            yield _event(network, "GridNetwork", "OverlayRestored", note, warning=True)


def network_phase(standings: Mapping[str, Standing]) -> str:
    """Pending without sites, Initializing until one is Active, Degraded while one is Unreachable."""
    phases = {standing.phase for standing in standings.values()}
    if not phases:
        return "Pending"
    if "Unreachable" in phases:
        return "Degraded"
    return "Active" if "Active" in phases else "Initializing"


def network_facts(phase: str, outcomes: Sequence[Outcome], around: Around) -> Iterator[Fact]:
    """Each condition says what is wrong where, or that nothing is."""
    waiting = [outcome.gateway.ref.name for outcome in outcomes if outcome.phase == "Rendered"]
    unserved, problems = around.unserved, around.problems
    ready = phase in {"Active", "Degraded"} and not waiting and not unserved
    reason = "GatewaysNotServed" if unserved else "OverlaysWaiting" if waiting else phase
    yield Fact("Ready", ready, reason, _names([*unserved, *waiting]))
    yield Fact(
        "GatewaysServed", not unserved, "GatewaysNotServed" if unserved else "AllServed", _names(unserved)
    )
    lost = [outcome.gateway.ref.name for outcome in outcomes if not outcome.gateway.site_known]
    yield Fact("ConsumerSitesKnown", not lost, "GridSiteMissing" if lost else "AllKnown", _names(lost))
    full = [f"{o.gateway.ref.name} left out {o.rendered.dropped}" for o in outcomes if o.rendered.dropped]
    yield Fact("CandidatesBounded", not full, "TooManyCandidates" if full else "WithinBounds", _names(full))
    twins = sorted({name for outcome in outcomes for name in outcome.rendered.duplicates})
    yield Fact(
        "CandidatesDistinct", not twins, "DuplicateProviders" if twins else "AllDistinct", _names(twins)
    )
    yield Fact("SpecHonoured", not problems, "SpecInvalid" if problems else "AllHonoured", _names(problems))


def mesh_facts(network: GridNetwork, before: NetworkStatus, mesh: MeshStanding | None) -> Iterator[Fact]:
    """Whether this site is a member, and the only one of its name. What is not known yet stays as it was."""
    if mesh is None:
        if network.spec.tls.swim_key_ref is not None:
            yield from (_kept(each) for each in before.conditions if each.type in _MESH_TYPES)
        return
    yield Fact("MeshRunning", mesh.running, mesh.reason, mesh.message)
    if mesh.running:
        said = f"another of this name is at {mesh.taken_by}" if mesh.taken_by else ""
        yield Fact("SiteNameUnique", not said, "NameTaken" if said else "OnlyOne", said)


def _kept(condition: Condition) -> Fact:
    holds = {"True": True, "False": False}.get(condition.status)
    return Fact(condition.type, holds, condition.reason, condition.message)


def _overlay_status(outcome: Outcome) -> dict[str, Any]:
    overlay, gateway = outcome.rendered.overlay, outcome.gateway
    namespace, name = gateway.configmap
    return {
        "gatewayName": gateway.ref.name,
        "namespace": namespace,
        "configMapName": name,
        "schemaVersion": OVERLAY_V1ALPHA2,
        "renderedRevision": overlay.label,
        "distributedRevision": outcome.desk.distributed,
        "acceptedRevision": outcome.accepted,
        "servingRevision": outcome.serving,
        "contentDigest": overlay.digest,
        "candidateCount": len(overlay.candidates),
        "droppedCandidates": outcome.rendered.dropped,
        "phase": outcome.phase,
        "reason": "OverlayApplyFailed" if outcome.failed else "" if gateway.site_known else "GridSiteMissing",
        "message": outcome.failed,
        "observedGeneration": gateway.network.metadata.generation,
    }


def _budgets(network: GridNetwork) -> list[dict[str, Any]]:
    """Spend is not gathered by this version; what it would be compared with is shown."""
    policy = network.spec.budget_policy
    tenants = sorted(policy.tenants, key=lambda tenant: tenant.tenant_id) if policy else []
    return [
        {"tenantId": tenant.tenant_id, "capUsd": tenant.cap_usd, "spendUsd": 0.0, "spendRatio": 0.0}
        for tenant in tenants
    ]


def _event(
    owner: GridNetwork | GridSite | InferenceProvider, kind: str, reason: str, note: str, *, warning: bool
) -> Emit:
    return Emit(kind, owner.metadata.name, owner.metadata.uid, reason, note[:256], warning)


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMES_SHOWN} more" if len(listed) > _NAMES_SHOWN else ""
    return ", ".join(listed[:_NAMES_SHOWN]) + more


def _camel(reason: str) -> str:
    return "".join(part.capitalize() for part in reason.split("_"))
