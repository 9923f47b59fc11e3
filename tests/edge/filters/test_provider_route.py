"""Only what stands in the provider's own map is served, exactly, and only its own word goes to the backend."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from edge.chain import Exchange, Response
from edge.filters.provider_route import ProviderRoute
from edge.setup import Unusable
from edge.wire.faults import Cause, RemoteFault
from grid.contract.digest import stable_id
from tests.kit.filter_bench import Bench, answered, field_of, status_of

CHAT = "/v1/chat/completions"
EAST = {"candidate_id": "sha256:east", "model": "m", "paths": [CHAT, "/v1/responses"], "cluster": "east"}
NAMED = {"name": "n", "site": "s", "cluster": "gateway-s"}
ROUTES = [
    {**EAST, "credential": {"secretRef": {"name": "token", "namespace": "ns", "key": "k"}}},
    {**EAST, "model": "m2", "cluster": "west"},
    {"candidate": NAMED, "model": "n", "paths": [CHAT], "cluster": "west"},
]
CONTEXT = {
    "x-ai-routing-candidate": "sha256:east",
    "x-ai-routing-request-id": "r-1",
    "x-ai-routing-revision": "42",
}


def ask(
    fields: dict[str, str] | None = None, model: str | None = "m", target: str = CHAT, **options: Any
) -> tuple[Exchange, Response | None]:
    bench = Bench()
    route = bench.build(ProviderRoute, provider_id="east-provider", routes=ROUTES, **options)
    assert isinstance(route, ProviderRoute)
    exchange = bench.exchange(route, fields=CONTEXT if fields is None else fields, target=target)
    exchange.model = model
    return exchange, route.on_body(exchange)


@pytest.mark.parametrize(
    ("changes", "model", "cluster", "credential"),
    [
        pytest.param({}, "m", "east", "ns/token/k", id="candidate, model and path as mapped"),
        pytest.param({}, "m2", "west", None, id="another model of the same candidate"),
        pytest.param({"x-ai-routing-candidate": stable_id("inference_model", "n", "s", "gateway-s")}, "n", "west", None, id="a candidate given by its parts"),
        pytest.param({"x-ai-routing-revision": "a" * 64}, "m", "east", "ns/token/k", id="a revision of an older format"),
        pytest.param({"x-ai-routing-revision": "sha256:" + "a" * 64}, "m", "east", "ns/token/k", id="a digest"),
    ],
)  # fmt: skip
def test_exact_candidate_model_path_map(
    changes: dict[str, str], model: str, cluster: str, credential: str | None
) -> None:
    exchange, refusal = ask(CONTEXT | changes, model)
    assert refusal is None
    assert (exchange.cluster, exchange.credential) == (cluster, credential)


@pytest.mark.parametrize(
    ("changes", "model", "target", "status", "code"),
    [
        pytest.param({"x-ai-routing-candidate": "sha256:x"}, "m", CHAT, 403, "candidate_not_served", id="unknown candidate"),
        pytest.param({"x-ai-routing-candidate": None}, "m", CHAT, 403, "candidate_not_served", id="no candidate"),
        pytest.param({"x-ai-routing-candidate": "\u00e9"}, "m", CHAT, 403, "candidate_not_served", id="a candidate of odd bytes"),
        pytest.param({"x-ai-routing-request-id": None}, "m", CHAT, 403, "routing_context_required", id="no request id"),
        pytest.param({"x-ai-routing-revision": None}, "m", CHAT, 403, "routing_context_required", id="no revision"),
        pytest.param({"x-ai-routing-revision": "newest"}, "m", CHAT, 403, "routing_context_required", id="a revision that is none"),
        pytest.param({}, None, CHAT, 400, "model_required", id="no model"),
        pytest.param({}, "x", CHAT, 404, "no_route", id="another model"),
        pytest.param({}, "m", "/v1/embeddings", 404, "no_route", id="wrong path"),
        pytest.param({}, "m", "//v1/chat/completions", 404, "no_route", id="another spelling of the path"),
        pytest.param({}, "m", CHAT + "/", 404, "no_route", id="a longer path"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_map(
    changes: dict[str, str | None], model: str | None, target: str, status: int, code: str
) -> None:
    fields = {name: value for name, value in (CONTEXT | changes).items() if value is not None}
    exchange, refusal = ask(fields, model, target)
    assert refusal is not None
    assert (status_of(refusal), json.loads(refusal.body)["error"]["code"]) == (status, code)
    assert exchange.cluster is None


def test_the_query_does_not_count() -> None:
    assert ask(target=CHAT + "?a=1")[1] is None


def test_the_backend_gets_the_provider_s_word_and_no_caller_s() -> None:
    claims = {
        "authorization": "Bearer customer",
        "x-ai-provider-attribution": "somebody else",
        "x-ai-provider-extra": "1",
        "x-grid-peer-selected-candidate": "x",
    }
    exchange, _ = ask(CONTEXT | claims)
    assert field_of(exchange, "x-ai-provider-attribution") == "east-provider"
    assert field_of(exchange, "x-ai-provider-request-id") == "r-1"
    assert field_of(exchange, "x-ai-provider-routing-revision") == "42"
    for name in (*CONTEXT, "authorization", "x-ai-provider-extra", "x-grid-peer-selected-candidate"):
        assert field_of(exchange, name) is None


def test_nothing_of_a_refused_request_s_context_stays() -> None:
    exchange, _ = ask(CONTEXT | {"authorization": "Bearer customer"}, model="x")
    assert not exchange.request.fields


class TestUnsent:
    """The header that lets an edge ask another provider; only this gateway's own word."""

    def test_a_backend_cannot_say_it(self) -> None:
        exchange, _ = ask()
        assert answered(exchange, 503, {"x-ai-provider-unsent": "1"}).get(b"x-ai-provider-unsent") is None

    def test_no_byte_reached_the_backend(self) -> None:
        exchange, _ = ask()
        response = exchange.on_failed(RemoteFault(Cause.REFUSED, unsent=True))
        assert response.status == 502
        reply = answered(exchange, response.status)
        assert (reply.status, exchange.status, reply.get(b"x-ai-provider-unsent")) == (503, 503, b"1")

    def test_a_byte_may_have_left(self) -> None:
        exchange, _ = ask()
        exchange.on_failed(RemoteFault(Cause.RESET, unsent=False))
        reply = answered(exchange, 502)
        assert (reply.status, reply.get(b"x-ai-provider-unsent")) == (502, None)

    def test_refused_here_before_any_attempt(self) -> None:
        exchange, _ = ask()
        reply = answered(exchange, 503)
        assert reply.get(b"x-ai-provider-unsent") is None
        reply.local = True
        exchange.on_reply(reply)
        assert reply.get(b"x-ai-provider-unsent") == b"1"


@pytest.mark.parametrize("emits", [True, False])
def test_attribution_is_for_demonstrations_only(emits: bool) -> None:
    exchange, _ = ask(emit_demo_attribution=emits)
    expected = b"east-provider" if emits else None
    assert answered(exchange).get(b"x-ai-demo-provider-gateway") == expected


@pytest.mark.parametrize(
    "routes",
    [
        pytest.param([], id="none"),
        pytest.param([EAST, EAST], id="a candidate twice for one model"),
        pytest.param([{**EAST, "candidate": NAMED}], id="named in two ways"),
        pytest.param([{**EAST, "candidate_id": None}], id="not named"),
        pytest.param([{**EAST, "paths": ["v1"]}], id="a path that is none"),
        pytest.param([{**EAST, "paths": ["/v1/../x"]}], id="a path with dots"),
        pytest.param([{**EAST, "paths": []}], id="no path"),
    ],
)
def test_maps_that_cannot_be_right(routes: list[Any]) -> None:
    with pytest.raises(ValidationError):
        ProviderRoute.config.model_validate({"provider_id": "p", "routes": routes})


def test_a_cluster_nobody_defined_is_refused() -> None:
    with pytest.raises(Unusable, match="no cluster 'x'"):
        Bench().build(ProviderRoute, provider_id="p", routes=[{**EAST, "cluster": "x"}])
