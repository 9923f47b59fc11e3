"""The first thing that is wrong with a provider names its phase; a sound one is judged by its probes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from grid.contract.overlay import Credential
from grid.crd.network import read_network
from grid.crd.provider import read_provider
from grid.crd.site import read_site
from grid.reconcile.declared import Declared, declared, slips
from grid.reconcile.world import Drain, Reading, World
from grid.scoring.health import Health, Phase
from grid.scoring.signals import Category, Signals
from tests.kit.resources import network, provider, site

NETWORKS = {"production": read_network(network())}
SITES = {
    "production": (
        read_site(site("here", labels={"gpu": "yes"})),
        read_site(site("there", labels={"gpu": "yes"})),
        read_site(site("edge", role="edge", labels={"gpu": "yes"})),
    )
}
SECRET = {"namespace": "grid-system", "name": "cred"}


def judged(world: World | None = None, **spec: Any) -> Declared:
    return declared(read_provider(provider("sim", **spec)), NETWORKS, SITES, world or World(site="here"))


def probed(phase: Phase) -> World:
    return World(site="here", health={"sim": Health(phase, 0.0)})


@pytest.mark.parametrize(
    ("spec", "phase", "reason"),
    [
        pytest.param({}, Phase.AVAILABLE, "", id="nothing to probe"),
        pytest.param({"gridNetworkRef": "other"}, Phase.PENDING, "NetworkMissing", id="no such network"),
        pytest.param(
            {"siteSelector": {"matchLabels": {"gpu": "no"}}}, Phase.PENDING, "NoMatchingSite", id="no site"
        ),
        pytest.param({"endpoint": ""}, Phase.UNAVAILABLE, "EndpointInvalid", id="no endpoint"),
        pytest.param(
            {"endpoint": "file:///etc"}, Phase.UNAVAILABLE, "EndpointInvalid", id="no http endpoint"
        ),
        pytest.param(
            {"endpoint": "http://["}, Phase.UNAVAILABLE, "EndpointInvalid", id="an endpoint that is no URL"
        ),
        pytest.param(
            {"endpoint": "http://"}, Phase.UNAVAILABLE, "EndpointInvalid", id="an endpoint of no host"
        ),
        pytest.param({"models": []}, Phase.UNAVAILABLE, "ModelInvalid", id="no model"),
        pytest.param(
            {"models": [{"name": ""}]}, Phase.UNAVAILABLE, "ModelInvalid", id="a model without a name"
        ),
        pytest.param(
            {"models": [{"name": "a"}, {"name": "b\n"}]},
            Phase.UNAVAILABLE,
            "ModelInvalid",
            id="one bad name of two",
        ),
        pytest.param(
            {"routingClusterRef": "x" * 300}, Phase.UNAVAILABLE, "ClusterInvalid", id="a long cluster"
        ),
        pytest.param({"auth": {"strategy": "mtls_only"}}, Phase.AVAILABLE, "", id="no credential needed"),
        pytest.param(
            {"auth": {"strategy": "sigv4"}},
            Phase.UNAVAILABLE,
            "UnsupportedAuthStrategy",
            id="not ours to inject",
        ),
        pytest.param(
            {"auth": {"strategy": "sigv4", "manual": True}}, Phase.AVAILABLE, "", id="injected by hand"
        ),
        pytest.param(
            {"auth": {"strategy": "bearer_token"}},
            Phase.UNAVAILABLE,
            "CredentialSecretRefInvalid",
            id="no reference to a credential",
        ),
        pytest.param(
            {"auth": {"strategy": "bearer_token", "secretRef": {"namespace": " ", "name": "c"}}},
            Phase.UNAVAILABLE,
            "CredentialSecretRefInvalid",
            id="a blank reference",
        ),
        pytest.param(
            {"auth": {"strategy": "bearer_token", "secretRef": SECRET}},
            Phase.AVAILABLE,
            "",
            id="a credential",
        ),
        pytest.param({"healthCheck": {}}, Phase.PENDING, "AwaitingProbe", id="not probed yet"),
        pytest.param({"metricsConfig": {}}, Phase.PENDING, "AwaitingProbe", id="not scraped yet"),
    ],
)
def test_a_declaration(spec: dict[str, Any], phase: Phase, reason: str) -> None:
    found = judged(**spec)
    assert (found.phase, found.reason) == (phase, reason)
    assert bool(found.message) == bool(reason)


@pytest.mark.parametrize(
    ("health", "reason"),
    [
        pytest.param(Phase.PENDING, "AwaitingProbe", id="too few probes"),
        pytest.param(Phase.AVAILABLE, "", id="healthy"),
        pytest.param(Phase.DEGRADED, "HealthCheckError", id="errors"),
        pytest.param(Phase.UNAVAILABLE, "HealthCheckFailed", id="no answers"),
    ],
)
def test_a_sound_declaration_is_judged_by_its_probes(health: Phase, reason: str) -> None:
    found = judged(probed(health), healthCheck={})
    assert (found.phase, found.reason) == (health, reason)
    assert [each.phase for each in found.capacities] == [health]


def test_a_wrong_declaration_offers_nothing_however_healthy() -> None:
    assert judged(probed(Phase.AVAILABLE), healthCheck={}, models=[]).capacities == ()


def test_a_selector_finds_sites_that_provide() -> None:
    found = judged(siteSelector={"matchLabels": {"gpu": "yes"}})
    assert found.sites == ("here", "there")
    assert [each.cluster for each in found.capacities] == ["gateway-here", "gateway-there"]


def test_a_capacity_holds_what_was_declared_and_measured() -> None:
    reading = Reading(7, 100.0, Signals(queue=0.5))
    world = World(site="here", readings={"sim": reading})
    (found,) = judged(
        world,
        backendKind="api_provider",
        routingClusterRef=" way ",
        cost={"perMillionInputTokens": 20.0},
        accessPolicy={"siteSelector": {"matchLabels": {"b": "2", "a": "1"}}},
        trafficPolicy={"drain": "existingOnly"},
        metricsConfig={"staleMetricsSeconds": 5},
        auth={"strategy": "bearer_token", "secretRef": SECRET},
    ).capacities
    assert (found.category, found.cluster, found.drain) == (Category.API_PROVIDER, "way", Drain.EXISTING_ONLY)
    assert found.access == (("a", "1"), ("b", "2"))
    assert (found.measured, found.reading, found.at, found.fresh_for_s) == (True, 7, 100.0, 5.0)
    assert found.signals == Signals(queue=0.5, cost_usd_per_1k=0.02)
    assert found.credential == Credential("bearer_token", "grid-system", "cred", "token")


def test_what_was_never_measured_is_not_stale() -> None:
    (found,) = judged(metricsConfig={}).capacities
    assert (found.reading, found.fresh_for_s) == (None, float("inf"))
    (timed,) = judged(
        dataclasses.replace(World(site="here"), readings={"sim": Reading(1, 1.0, Signals())}),
        metricsConfig={},
    ).capacities
    assert timed.fresh_for_s == 30.0


@pytest.mark.parametrize(
    ("generation", "phase"),
    [
        pytest.param(1, Phase.DEGRADED, id="what was found of this declaration stands"),
        pytest.param(2, Phase.PENDING, id="another declaration is not known yet"),
    ],
)
def test_until_a_new_operator_has_probed(generation: int, phase: Phase) -> None:
    status = {"phase": "Degraded", "observedGeneration": 1}
    assert judged(healthCheck={}, status=status, generation=generation).phase is phase
    assert judged(probed(Phase.PENDING), healthCheck={}, status=status, generation=generation).phase is phase
    assert judged(probed(Phase.AVAILABLE), healthCheck={}, status=status).phase is Phase.AVAILABLE


def test_what_is_asked_for_and_not_done_is_named() -> None:
    asked = provider("p", healthCheck={"interval": "often"}, metricsConfig={"timeout": "5"})
    assert list(slips(read_provider(asked))) == [
        "healthCheck.interval is no duration",
        "metricsConfig.timeout is no duration",
    ]
    assert list(slips(read_provider(provider("p", healthCheck={}, metricsConfig={})))) == []


MOUNTED = {"namespace": "grid-system", "name": "site-tls"}
HTTPS = {"endpoint": "https://sim:8000"}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        pytest.param(
            {**HTTPS, "healthCheck": {"tls": {"caSecretRef": MOUNTED}}}, "AwaitingProbe", id="our own CA"
        ),
        pytest.param(
            {
                **HTTPS,
                "metricsConfig": {
                    "tls": {
                        "caSecretRef": {**MOUNTED, "key": "ca.crt"},
                        "clientCertificateSecretRef": MOUNTED,
                    }
                },
            },
            "AwaitingProbe",
            id="our own CA, and our own certificate",
        ),
        pytest.param(
            {**HTTPS, "healthCheck": {"tls": {"caSecretRef": SECRET}}},
            "HealthCheckTlsSecretMissing",
            id="another Secret's CA",
        ),
        pytest.param(
            {**HTTPS, "metricsConfig": {"tls": {"caSecretRef": {**MOUNTED, "key": "tls.key"}}}},
            "MetricsTlsSecretMissing",
            id="a private key where the CA belongs",
        ),
        pytest.param(
            {
                **HTTPS,
                "healthCheck": {"tls": {"caSecretRef": MOUNTED, "clientCertificateSecretRef": SECRET}},
            },
            "HealthCheckTlsSecretMissing",
            id="another Secret's certificate",
        ),
        pytest.param(
            {"healthCheck": {"tls": {"caSecretRef": MOUNTED}}},
            "HealthCheckTlsWithoutHttps",
            id="in the clear",
        ),
        pytest.param(
            {**HTTPS, "metricsConfig": {"metricsEndpoint": "http://m:9", "tls": {"caSecretRef": MOUNTED}}},
            "MetricsTlsWithoutHttps",
            id="metrics in the clear",
        ),
    ],
)
def test_a_probe_gets_the_tls_it_asks_for_or_is_not_made(spec: dict[str, Any], reason: str) -> None:
    found = judged(**spec)
    assert (found.reason, found.phase is Phase.UNAVAILABLE) == (reason, reason != "AwaitingProbe")
    assert (found.capacities == ()) is (found.phase is Phase.UNAVAILABLE)
