"""A network's resource as the numbers that scoring and rendering work with; and what in it is no number."""

from __future__ import annotations

from collections.abc import Iterator

from grid.contract.overlay import Admission
from grid.crd.durations import is_duration, seconds
from grid.crd.network import AdmissionPolicy, GridNetwork
from grid.reconcile.admitting import Rules
from grid.reconcile.world import SITE_SECRET
from grid.scoring.admission import Policy, instantaneous
from grid.scoring.rank import Order, Preference
from grid.scoring.signals import PRESETS, Weights

STALE_CANDIDATE_TTL_S = 300.0
_MISSING = {"existingOnly": Admission.EXISTING_ONLY, "excluded": Admission.NONE}


def rules(network: GridNetwork) -> Rules:
    """How *network* admits."""
    scoring = network.spec.scoring_policy
    return Rules(
        admission=_admission(network.spec.admission_policy),
        strategy=scoring.strategy if scoring else "combined",
        weights=weights(network),
        ttl_s=float(network.spec.stale_candidate_ttl_seconds or STALE_CANDIDATE_TTL_S),
    )


def preference(network: GridNetwork) -> Preference:
    """How *network* orders."""
    scoring = network.spec.scoring_policy
    order = Order(network.spec.routing_policy or Order.GEOGRAPHY_FIRST)
    return Preference(order, weights(network), scoring.dead_band) if scoring else Preference(order)


def weights(network: GridNetwork) -> Weights:
    """The six weights: those it gives, or its strategy's."""
    scoring = network.spec.scoring_policy
    if scoring is None:
        return Weights()
    if scoring.weights is None or scoring.strategy != "combined":
        return PRESETS[scoring.strategy]
    return Weights(**scoring.weights.model_dump())


def startup_grace_s(network: GridNetwork) -> float:
    return seconds(network.spec.startup_grace, 10.0)


def slips(network: GridNetwork, namespace: str) -> Iterator[str]:
    """What the spec asks for that is not done: durations that are none, what this version leaves out.

    namespace: the operator's own, where the Secret with its certificate is.
    """
    for name, text in (
        ("spec.swim.probeInterval", network.spec.swim.probe_interval),
        ("spec.swim.suspicionTimeout", network.spec.swim.suspicion_timeout),
    ):
        if not is_duration(text):
            yield f"{name} is no duration"
    tls = network.spec.tls
    for name, reference in (("caSecretRef", tls.ca_secret_ref), ("siteSecretRef", tls.site_secret_ref)):
        if reference and (reference.namespace, reference.name) != (namespace, SITE_SECRET):
            yield f"spec.tls.{name} is not used: what is mounted is {namespace}/{SITE_SECRET}"
    if network.spec.region or network.spec.zone:
        yield "spec.region and spec.zone are not used: a gateway stands where its GridSite does"
    if network.spec.budget_policy and network.spec.budget_policy.tenants:
        yield "budgetPolicy is shown, and spend is not gathered by this version"
    if any(ref.consumer_config and ref.consumer_config.enabled for ref in network.spec.gateway_refs):
        yield "consumerConfig is kept, and not rendered by this version"
    seen: set[tuple[str, str]] = set()
    for place, ref in enumerate(network.spec.gateway_refs):
        if (ref.namespace, ref.name) in seen:
            yield f"spec.gatewayRefs[{place}] is {ref.namespace}/{ref.name} once more"
        seen.add((ref.namespace, ref.name))


def _admission(policy: AdmissionPolicy | None) -> Policy:
    if policy is None:
        return Policy()
    pressure = policy.pressure
    made = Policy(
        enter=pressure.enter_threshold,
        exit=pressure.exit_threshold,
        failures=pressure.failure_threshold,
        successes=pressure.success_threshold,
        minimum_state_s=seconds(pressure.minimum_state_duration, 10.0),
        hold_down_s=seconds(pressure.recovery_hold_down, 30.0),
        missing=_MISSING[policy.missing_metrics],
    )
    return instantaneous(made) if policy.mode == "instantaneous" else made
