"""Chains are built whole or refused with every reason and its place; the reference's files load as far as we
go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edge.catalog import FILTERS
from edge.config.problems import ConfigRejected
from tests.kit.edges import built, write

SAMPLES = Path(__file__).parents[2].parent / "shared" / "data" / "gateway-configs"

LISTENER = """
listeners:
  - {name: main, address: "127.0.0.1:0", filter_chains: [main]}
clusters:
  - {name: east, endpoints: ["127.0.0.1:9"]}
filter_chains:
  - name: main
    filters:
"""
AUTH = f'api_key_auth, keys: [{{sha256: "{"0" * 64}", tenant: acme}}]'
MODEL = "json_body_field, field: model, header: X-Model"
ROUTER = "router, routes: [{path_prefix: /, cluster: east}]"


def chain(*filters: str) -> str:
    return LISTENER + "".join(f"      - {{filter: {text}}}\n" for text in filters)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigRejected) as rejected:
        built(write(folder, text))
    return [str(problem).partition("praxis.yaml:")[2] for problem in rejected.value.problems]


def test_a_production_chain_is_sound(tmp_path: Path) -> None:
    text = chain(
        "request_id",
        "access_log",
        "forwarded_headers",
        AUTH,
        "rate_limit, mode: per_tenant, rate: 10, burst: 20",
        "concurrency_limit, max_per_tenant: 5",
        "body_limit, max_bytes: 1000",
        MODEL,
        'model_authorization, tenants: {acme: ["*"]}',
        ROUTER,
        "circuit_breaker, clusters: [{name: east, consecutive_failures: 3, recovery_window_secs: 5}]",
        "timeout, timeout_ms: 1000",
        "load_balancer",
    )
    assert [step.name for step in built(write(tmp_path, text)).chains["main"].steps][:3] == [
        "observe",
        "door",
        "request_id",
    ]


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        pytest.param(
            [ROUTER, AUTH, "load_balancer"], "api_key_auth must stand before router", id="auth after routing"
        ),
        pytest.param(
            ["load_balancer"], "load_balancer needs the cluster", id="a balancer without a selector"
        ),
        pytest.param(
            ["static_response, status: 200", "request_id"],
            "request_id after it never runs",
            id="nothing after an answer",
        ),
        pytest.param(
            ['ip_acl, allow: ["10.0.0.0/8"], conditions: [{when: {path: /a}}]', ROUTER, "load_balancer"],
            "ip_acl is a security filter and must not have conditions",
            id="security with a condition",
        ),
        pytest.param(
            [f"{AUTH}, failure_mode: open", ROUTER, "load_balancer"],
            "must fail closed",
            id="security that fails open",
        ),
        pytest.param(
            [MODEL, "model_authorization", ROUTER, "load_balancer"], "needs the tenant", id="models of nobody"
        ),
        pytest.param(
            [AUTH, "model_authorization", MODEL, ROUTER, "load_balancer"],
            "json_body_field stands after it",
            id="a model that is not known yet",
        ),
        pytest.param(
            ["rate_limit, mode: per_tenant, rate: 1, burst: 1", AUTH, ROUTER, "load_balancer"],
            "rate_limit needs the tenant",
            id="a tenant's limit before there is a tenant",
        ),
        pytest.param(
            [
                "request_id",
                "peer_identity_trust, trusted_peers: [{organization: a}]",
                ROUTER,
                "load_balancer",
            ],
            "must be the first filter",
            id="trust that comes late",
        ),
        pytest.param(
            ["peer_identity_trust, trusted_peers: [{organization: a}]", ROUTER, "load_balancer"],
            "needs listeners with client_cert_mode: require",
            id="trust without certificates",
        ),
        pytest.param([ROUTER, ROUTER, "load_balancer"], "that router has already set", id="two routers"),
        pytest.param(
            ["router, routes: [{path_prefix: /, cluster: west}]", "load_balancer"],
            "no cluster 'west'",
            id="no cluster",
        ),
        pytest.param(
            ["credential_inject, credentials: [{name: a, file: /none}]", ROUTER, "load_balancer"],
            "/none cannot be read: No such file",
            id="a secret that is not there",
        ),
        pytest.param(
            [
                "timeout, timeout_ms: 5, response_conditions: [{when: {status: [200]}}]",
                ROUTER,
                "load_balancer",
            ],
            "response_conditions: timeout does nothing to answers",
            id="a condition on answers for a filter that sees none",
        ),
        pytest.param(
            ["timeout, timeout_ms: 5, name: a", "body_limit, max_bytes: 5, name: a", ROUTER, "load_balancer"],
            "name: 'a' stands twice",
            id="two filters of one name",
        ),
        pytest.param(
            ["requestid"], "not supported (did you mean 'request_id'?)", id="a filter we do not have"
        ),
        pytest.param(
            ["timeout, timeoutms: 5"], "timeoutms: unknown key (did you mean 'timeout_ms'?)", id="an option"
        ),
        pytest.param(
            ["timeout, timeout_ms: 5, condition: []"], "did you mean 'conditions'?", id="a common option"
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, filters: list[str], said: str) -> None:
    assert any(said in line for line in problems(tmp_path, chain(*filters)))


def test_problems_of_all_filters_come_at_once_with_their_places(tmp_path: Path) -> None:
    text = chain("nothing", "timeout, timeout_ms: 0", "credential_inject, credentials: []")
    assert [line.split(":")[0] for line in problems(tmp_path, text)] == ["9", "10", "11"]


def test_the_order_of_a_sound_chain_is_told_beside_what_is_wrong_with_another(tmp_path: Path) -> None:
    text = chain("load_balancer", "router, routes: [{path_prefix: /, cluster: west}]") + (
        "  - name: other\n    filters:\n      - {filter: rate_limit, mode: global, rate: 0, burst: 1}\n"
    )
    found = problems(tmp_path, text)
    assert ["filters[0]: load_balancer needs the cluster" in line for line in found] == [True, False, False]
    assert any("no cluster 'west'" in line for line in found)
    assert any("filter_chains[1].filters[0].rate" in line for line in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            chain(ROUTER, 'load_balancer, clusters: [{name: east, endpoints: ["127.0.0.1:8"]}]'),
            "east has other endpoints or settings at the top of the file",
            id="a cluster twice, differently",
        ),
        pytest.param(
            chain(ROUTER, "load_balancer").replace(
                'endpoints: ["127.0.0.1:9"]',
                'endpoints: ["127.0.0.1:9"], tls: {sni: a.test, ca: {ca_path: /none}}',
            ),
            "clusters[0].tls: /none",
            id="a CA that is not there: never plaintext instead",
        ),
        pytest.param(
            chain(ROUTER, "load_balancer").replace(
                "filter_chains: [main]}",
                "filter_chains: [main], tls: {certificates: [{cert_path: /c, key_path: /k}]}}",
            ),
            "listeners[0].tls: /c",
            id="a certificate that is not there",
        ),
    ],
)
def test_clusters_and_key_material(tmp_path: Path, text: str, said: str) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1
    assert said in found[0]


def test_a_cluster_in_two_places_is_one_with_both_halves(tmp_path: Path) -> None:
    text = chain(
        ROUTER, 'load_balancer, clusters: [{name: east, endpoints: ["127.0.0.1:9"], max_connections: 7}]'
    )
    text = text.replace('["127.0.0.1:9"]}', '["127.0.0.1:9"], health_check: {type: tcp}}', 1)
    live = built(write(tmp_path, text)).clusters["east"]
    assert live.model.health_check is not None
    assert live.cluster.caps.connections == 7


# What keeps a file of the reference from loading here; files that are not named load.
UNSUPPORTED = {
    "ai/anthropic_unified-gateway.yaml": "anthropic_messages_format",
    "ai/cpex-policy.yaml": "plugins",
    "ai/credential-injection.yaml": "credential_injection",
    "ai/inference_fallback-with-translation.yaml": "iterative_request_router",
    "ai/intelligent-route-all-capabilities.yaml": "'mcp'",
    "ai/model-to-header-routing.yaml": "model_to_header",
    "ai/openai_responses_full-flow.yaml": "openai_conversations",
    "ai/time-to-first-token.yaml": "time_to_first_token",
    "ai/token-counting.yaml": "token_count",
    "ai/v010-grid-provider-route.yaml": "grid_provider_route",
    "demos/combined-site-consumer-praxis.yaml": "session_affinity",
    "demos/glb-edge.praxis.yaml": "session_affinity",
    "demos/llmd-pool-metrics-consumer-praxis.yaml": "session_affinity",
}


def samples() -> list[str]:
    names = [*SAMPLES.glob("ai/*.yaml"), *SAMPLES.glob("core/*.yaml"), *SAMPLES.glob("demos/*praxis.yaml")]
    return sorted(
        str(path.relative_to(SAMPLES)) for path in (*names, *SAMPLES.glob("bench-configs/praxis.yaml"))
    )


def filled(text: str) -> str:
    """*text* with its template's places filled, each with a name of its own wherever it stands."""
    numbers: dict[str, int] = {}

    def number(place: re.Match[str]) -> int:
        return numbers.setdefault(place[0], len(numbers))

    text = re.sub(r"__\w+__", lambda place: f"{number(place):064x}", text)
    return re.sub(r"\{\{[^}]*\}\}", lambda place: f"filled-{number(place)}.test", text)


@pytest.mark.shared
@pytest.mark.parametrize("name", samples() or ["(none)"])
def test_the_references_files(tmp_path: Path, name: str) -> None:
    if not SAMPLES.is_dir():
        pytest.skip("../shared is absent")
    reason = UNSUPPORTED.get(name)
    if reason is not None and reason in FILTERS:
        reason = None
    try:
        built(write(tmp_path, filled((SAMPLES / name).read_text())))
    except ConfigRejected as rejected:
        text = str(rejected)
        # Their files name key material and overlays that are not on this machine; that is said, and nothing else is.
        left = [
            line
            for line in text.splitlines()
            if not re.search(r"/(etc|run)/\S+(:| cannot be read:) no such file", line, re.IGNORECASE)
        ]
        assert (reason is None) == (not left), text
        assert reason is None or reason in text
    else:
        assert reason is None
