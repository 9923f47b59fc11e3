"""A tenant reaches the models it was given, and whoever was given nothing reaches none."""

from __future__ import annotations

import pytest

from edge.filters.model_authorization import ModelAuthorization
from tests.kit.filter_bench import Bench, on_body, status_of

TENANTS = {"acme": ["shared-model", "llama-*"], "all": ["*"], "none": []}


@pytest.mark.parametrize(
    ("tenant", "model", "status"),
    [
        pytest.param("acme", "shared-model", None, id="by name"),
        pytest.param("acme", "llama-3/8b", None, id="by pattern"),
        pytest.param("acme", "shared-model-2", 403, id="a longer name"),
        pytest.param("acme", "Shared-Model", 403, id="another case"),
        pytest.param("acme", "llama.3", 403, id="a dot is not a wildcard"),
        pytest.param("all", "anything", None, id="everything"),
        pytest.param("none", "shared-model", 403, id="an empty list"),
        pytest.param("unknown", "shared-model", 403, id="a tenant not listed"),
        pytest.param(None, "shared-model", 403, id="no tenant"),
        pytest.param("acme", None, None, id="a request without a model"),
    ],
)
def test_who_may_use_what(tenant: str | None, model: str | None, status: int | None) -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(ModelAuthorization, tenants=TENANTS))
    exchange.tenant, exchange.model = tenant, model
    assert status_of(on_body(exchange)) == status


def test_the_default_is_for_those_not_listed() -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(ModelAuthorization, tenants=TENANTS, default=["small-*"]))
    exchange.tenant, exchange.model = "newcomer", "small-1"
    assert on_body(exchange) is None
    assert exchange.allowed_models == frozenset({"small-*"})
