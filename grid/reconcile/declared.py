"""What this cluster's providers come to: their phase and reason, and the capacity they offer.

The first thing that is wrong names the phase; only a provider whose declaration is sound is judged by its
probes. A credential is validated by the shape of its reference: the Secret is not ours to read. A probe over
TLS can use the one Secret that is mounted here, the site's own; what asks for another is refused rather than
probed without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from grid.contract.overlay import Credential, is_identifier
from grid.crd.base import EndpointTls
from grid.crd.durations import is_duration
from grid.crd.network import GridNetwork
from grid.crd.provider import Auth, InferenceProvider
from grid.crd.site import GridSite
from grid.reconcile.world import CA_KEY, SITE_SECRET, Capacity, Drain, World
from grid.scoring.health import Phase
from grid.scoring.signals import Category, Signals

FRESH_FOR_S = 30.0
DEFAULT_CREDENTIAL_KEY = "token"
_PER_1K = 1 / 1000  # the resource says USD per million tokens, the score per thousand
_CATEGORIES = {category.value: category for category in Category}


@dataclass(frozen=True, slots=True)
class Declared:
    """A provider as judged. reason: "" when it is Available. sites: those that have it, by name.

    read: whether its metrics are; None where there was no reading yet, or none is wanted. unread: why not.
    """

    provider: InferenceProvider
    phase: Phase
    reason: str = ""
    message: str = ""
    sites: tuple[str, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    read: bool | None = None
    unread: str = ""


def declared(
    provider: InferenceProvider,
    networks: Mapping[str, GridNetwork],
    sites: Mapping[str, tuple[GridSite, ...]],
    world: World,
) -> Declared:
    """*networks* by name, *sites* by network."""
    reference = provider.spec.grid_network_ref
    if reference not in networks:
        return Declared(provider, Phase.PENDING, "NetworkMissing", f"there is no GridNetwork {reference}")
    matching = matching_sites(provider, sites.get(reference, ()), world.site)
    if not matching:
        return Declared(provider, Phase.PENDING, "NoMatchingSite", "no site has the selector's labels")
    models = tuple(model.name for model in provider.spec.models if is_identifier(model.name))
    wrong = _wrong(provider, models) or _wrong_tls(provider, world.namespace)
    phase, reason, message = wrong or _healthy(provider, world)
    offered = tuple(_capacity(provider, site, models, phase, world) for site in matching)
    name = provider.metadata.name
    unread = "" if wrong else world.unread.get(name, "")
    read = False if unread else True if name in world.readings else None
    return Declared(provider, phase, reason, message, matching, () if wrong else offered, read, unread)


def slips(provider: InferenceProvider) -> Iterator[str]:
    """What the spec asks for that is not done."""
    check, metrics = provider.spec.health_check, provider.spec.metrics_config
    durations = (
        ("healthCheck.interval", check.interval if check else None),
        ("healthCheck.timeout", check.timeout if check else None),
        ("metricsConfig.timeout", metrics.timeout if metrics else None),
    )
    yield from (f"{field} is no duration" for field, text in durations if not is_duration(text))


def matching_sites(provider: InferenceProvider, sites: tuple[GridSite, ...], own: str) -> tuple[str, ...]:
    """The sites that have it, by name; an empty selector is the declaring operator's own site."""
    selector = provider.spec.site_selector
    if not selector.match_labels:
        return (own,)
    return tuple(
        sorted(
            site.metadata.name
            for site in sites
            if site.spec.role != "edge" and selector.matches(site.metadata.labels)
        )
    )


def _wrong(provider: InferenceProvider, models: tuple[str, ...]) -> tuple[Phase, str, str] | None:
    """What in the declaration itself keeps it from being used."""
    spec = provider.spec
    if not _is_http_url(spec.endpoint):
        return Phase.UNAVAILABLE, "EndpointInvalid", "endpoint is not an http or https URL"
    if not models or len(models) < len(spec.models):
        return (
            Phase.UNAVAILABLE,
            "ModelInvalid",
            "a model's name is 1 to 256 bytes without control characters",
        )
    if spec.routing_cluster_ref and not is_identifier(spec.routing_cluster_ref):
        return (
            Phase.UNAVAILABLE,
            "ClusterInvalid",
            "routingClusterRef is 1 to 256 bytes without control characters",
        )
    return _wrong_auth(spec.auth)


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _wrong_auth(auth: Auth | None) -> tuple[Phase, str, str] | None:
    if auth is None or auth.manual or auth.strategy == "mtls_only":
        return None
    if auth.strategy != "bearer_token":
        return Phase.UNAVAILABLE, "UnsupportedAuthStrategy", f"{auth.strategy} needs manual: true"
    reference = auth.secret_ref
    if reference is None or not reference.name.strip() or not reference.namespace.strip():
        return Phase.UNAVAILABLE, "CredentialSecretRefInvalid", "bearer_token needs a secretRef"
    return None


def _wrong_tls(provider: InferenceProvider, namespace: str) -> tuple[Phase, str, str] | None:
    """What keeps a probe from the TLS it is to use; *namespace* is where the site's Secret is."""
    check, metrics = provider.spec.health_check, provider.spec.metrics_config
    asked: list[tuple[str, EndpointTls, str | None]] = []
    if check is not None and check.tls is not None:
        asked.append(("HealthCheck", check.tls, check.endpoint))
    if metrics is not None and metrics.tls is not None:
        asked.append(("Metrics", metrics.tls, metrics.metrics_endpoint))
    for name, tls, url in asked:
        if not (url or provider.spec.endpoint).startswith("https://"):
            return Phase.UNAVAILABLE, f"{name}TlsWithoutHttps", "tls is for an https endpoint"
        if not _is_mounted(tls, namespace):
            message = f"the only Secret at hand is {namespace}/{SITE_SECRET}, by its usual keys"
            return Phase.UNAVAILABLE, f"{name}TlsSecretMissing", message
    return None


def _is_mounted(tls: EndpointTls, namespace: str) -> bool:
    """Whether it names the site's own Secret and its keys."""
    ca, client = tls.ca_secret_ref, tls.client_certificate_secret_ref
    wanted = (namespace, SITE_SECRET)
    return (
        (ca.namespace, ca.name) == wanted
        and ca.key in {None, CA_KEY}
        and (
            client is None
            or (client.namespace, client.name, client.certificate_key, client.private_key_key)
            == (*wanted, "tls.crt", "tls.key")
        )
    )


_JUDGED = {
    Phase.AVAILABLE: (Phase.AVAILABLE, "", ""),
    Phase.DEGRADED: (Phase.DEGRADED, "HealthCheckError", "it answers its probes with errors"),
    Phase.UNAVAILABLE: (Phase.UNAVAILABLE, "HealthCheckFailed", "it does not answer its probes"),
    Phase.PENDING: (Phase.PENDING, "AwaitingProbe", "not enough probes yet"),
}


def _healthy(provider: InferenceProvider, world: World) -> tuple[Phase, str, str]:
    """What its probes say; until they do, what a former operator found of this very declaration."""
    if provider.spec.health_check is None and provider.spec.metrics_config is None:
        return _JUDGED[Phase.AVAILABLE]
    health, before = world.health.get(provider.metadata.name), provider.status
    if health is not None and health.phase is not Phase.PENDING:
        return _JUDGED[health.phase]
    if before is not None and before.observed_generation == provider.metadata.generation:
        return _JUDGED[Phase(before.phase)]
    return _JUDGED[Phase.PENDING]


def _capacity(
    provider: InferenceProvider, site: str, models: tuple[str, ...], phase: Phase, world: World
) -> Capacity:
    spec, reading = provider.spec, world.readings.get(provider.metadata.name)
    cost = None if spec.cost is None else spec.cost.per_million_input_tokens * _PER_1K
    return Capacity(
        network=spec.grid_network_ref,
        site=site,
        provider=provider.metadata.name,
        models=models,
        cluster=(spec.routing_cluster_ref or "").strip() or f"gateway-{site}",
        category=_CATEGORIES.get(spec.backend_kind, Category.OTHER),
        phase=phase,
        access=tuple(sorted(spec.access_policy.site_selector.match_labels.items())),
        drain=Drain(spec.traffic_policy.drain) if spec.traffic_policy else Drain.NONE,
        measured=spec.metrics_config is not None,
        reading=reading.number if reading else None,
        signals=replace(reading.signals if reading else Signals(), cost_usd_per_1k=cost),
        at=reading.at if reading else 0.0,
        fresh_for_s=_fresh_for_s(provider) if reading else math.inf,
        credential=_credential(spec.auth),
    )


def _fresh_for_s(provider: InferenceProvider) -> float:
    config = provider.spec.metrics_config
    return float(config.stale_metrics_seconds) if config and config.stale_metrics_seconds else FRESH_FOR_S


def _credential(auth: Auth | None) -> Credential | None:
    if auth is None or auth.secret_ref is None:
        return None
    reference = auth.secret_ref
    return Credential(
        auth.strategy, reference.namespace, reference.name, reference.key or DEFAULT_CREDENTIAL_KEY
    )
