"""Objects become values with their defaults; what the API server would not store names every problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from grid.crd.base import ResourceInvalid, SiteSelector, View
from grid.crd.network import read_network
from grid.crd.provider import read_provider
from grid.crd.site import read_site
from tests.kit.resources import gateway, network, provider, resource, site

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "topologies"
READERS: dict[str, Callable[[Mapping[str, Any]], View]] = {
    "GridNetwork": read_network,
    "GridSite": read_site,
    "InferenceProvider": read_provider,
}


def test_a_minimal_network_has_the_documented_defaults() -> None:
    found = read_network(network("production", gateway()))
    (ref,) = found.spec.gateway_refs
    assert found.grid_id == "production", "an empty gridId is the network's name"
    assert (ref.profile, ref.max_age, ref.status_endpoint) == ("external", "5m", None)
    assert (found.spec.swim.probe_interval, found.spec.swim.gossip_nodes) == ("5s", 3)
    assert found.status is None


def test_an_admission_policy_is_stabilized_unless_it_says_otherwise() -> None:
    policy = read_network(network(admissionPolicy={})).spec.admission_policy
    assert policy is not None
    assert (policy.mode, policy.missing_metrics) == ("stabilized", "existingOnly")
    assert (policy.pressure.enter_threshold, policy.pressure.exit_threshold) == (0.85, 0.70)
    assert (policy.pressure.failure_threshold, policy.pressure.success_threshold) == (2, 3)


@pytest.mark.parametrize(
    ("spec", "address"),
    [
        pytest.param({"gatewayEndpoint": {"address": "new:1"}}, "new:1", id="as it is called"),
        pytest.param({"egress": {"address": "old:1"}}, "old:1", id="as it was called"),
        pytest.param(
            {"egress": {"address": "old:1"}, "gatewayEndpoint": {"address": "new:1"}}, "new:1", id="both"
        ),
        pytest.param({}, None, id="not known yet"),
    ],
)
def test_a_sites_address(spec: Mapping[str, Any], address: str | None) -> None:
    endpoint = read_site(site("a", **spec)).endpoint
    assert (endpoint.address if endpoint else None) == address


def test_a_minimal_provider_has_the_documented_defaults() -> None:
    found = read_provider(provider(healthCheck={}, metricsConfig={"signalNames": {"latencyP99Ms": "p99"}}))
    assert found.spec.health_check is not None
    assert (found.spec.health_check.failure_threshold, found.spec.health_check.success_threshold) == (3, 2)
    assert found.spec.metrics_config is not None
    assert found.spec.metrics_config.signal_names.latency_p99_ms == "p99"
    assert found.spec.traffic_policy is None
    assert [model.name for model in found.spec.models] == ["shared-model"]


def test_unknown_fields_are_dropped_as_the_api_server_prunes_them() -> None:
    assert read_site(site("a", later="field")) == read_site(site("a"))


@pytest.mark.parametrize(
    ("labels", "matches"),
    [
        pytest.param({}, True, id="empty matches all"),
        pytest.param({"a": "1"}, True, id="one that is there"),
        pytest.param({"a": "1", "b": "2"}, True, id="all that are there"),
        pytest.param({"a": "2"}, False, id="another value"),
        pytest.param({"a": "1", "c": "3"}, False, id="one that is not there"),
    ],
)
def test_a_selector(labels: Mapping[str, str], matches: bool) -> None:
    assert SiteSelector(match_labels=labels).matches({"a": "1", "b": "2"}) is matches


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        pytest.param(site("a", role="hub"), "spec.role: Input should be 'provider'", id="an unknown role"),
        pytest.param(
            site("a", trust={"canonicalFingerprints": ["AA"]}),
            "spec.trust.canonicalFingerprints[0]: String should match",
            id="a fingerprint in capitals",
        ),
        pytest.param(
            site("a", trust={"canonicalFingerprints": []}),
            "spec.trust.canonicalFingerprints: Tuple",
            id="no pin",
        ),
        pytest.param(
            network("n", gateway(statusEndpoint="http://edge:9901")),
            "spec.gatewayRefs[0].statusEndpoint: String should match",
            id="a status endpoint in the clear",
        ),
        pytest.param(
            network(metricsRefreshInterval="often"), "spec.metricsRefreshInterval", id="no duration"
        ),
        pytest.param(
            network(scoringPolicy={"weights": {"cost": -1}}),
            "spec.scoringPolicy.weights.cost",
            id="a negative weight",
        ),
        pytest.param(
            provider(trafficPolicy={"drain": "soon"}), "spec.trafficPolicy.drain", id="an unknown drain"
        ),
        pytest.param(provider(auth={"strategy": "password"}), "spec.auth.strategy", id="an unknown strategy"),
        pytest.param(
            provider(healthCheck={"failureThreshold": 0}),
            "spec.healthCheck.failureThreshold",
            id="no threshold",
        ),
        pytest.param(
            resource("GridSite", "a", {}), "spec.gridNetworkRef: Field required", id="a site of no network"
        ),
    ],
)
def test_what_is_not_the_resource_is_refused(document: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(ResourceInvalid) as refused:
        READERS[document["kind"]](document)
    assert refused.value.problems[0].startswith(problem)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ResourceInvalid, match="GridSite a: ") as refused:
        read_site(site("a", role="hub", zone=1))
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize("document", [{}, {"metadata": 1}, {"metadata": {"name": 1}}])
def test_an_object_without_a_name_says_so(document: Mapping[str, Any]) -> None:
    with pytest.raises(ResourceInvalid, match="without a name"):
        read_site(document)


@pytest.mark.shared
@pytest.mark.skipif(not SAMPLES.exists(), reason="../shared/data/topologies is not here")
def test_published_resources_are_read() -> None:
    found = [
        READERS[document["kind"]](document)
        for file in sorted(SAMPLES.rglob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if isinstance(document, dict) and document.get("kind") in READERS
    ]
    assert len({type(view) for view in found}) == 3


def test_views_that_were_given_the_same_fields_hold_their_names_once() -> None:
    one, other = read_site(site("a", zone="z1")), read_site(site("b", zone="z2"))
    assert one.spec.model_fields_set is other.spec.model_fields_set
    changed = one.spec.model_copy(update={"sovereignty_zone": "eu"})
    assert "sovereignty_zone" in changed.model_fields_set
    assert "sovereignty_zone" not in other.spec.model_fields_set
