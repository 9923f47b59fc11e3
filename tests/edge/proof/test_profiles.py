"""The grid-edge environment's configurations: sound, safe, in the production order, and they serve."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from grid.contract.status import read_status
from tests.edge.proof.lab import (
    ALL,
    CONFIGS,
    KEY,
    MODEL,
    ROOT,
    Lab,
    edge_environ,
    lab,
    laid,
    rendered,
    site_leaf,
    soon,
)
from tests.kit.certs import Authority, client_context
from tests.kit.overlays import current, put

# Seed 000, "Filter ordering for production"; authorization for a model directly after the model.
EDGE_ORDER = [
    "request_id",
    "access_log",
    "forwarded_headers",
    "api_key_auth",
    "rate_limit",
    "rate_limit",
    "concurrency_limit",
    "body_limit",
    "json_body_field",
    "model_authorization",
    "grid_route",
    "circuit_breaker",
    "load_balancer",
]
PROVIDER_ORDER = [
    "peer_identity_trust",
    "request_id",
    "access_log",
    "concurrency_limit",
    "body_limit",
    "json_body_field",
    "provider_route",
    "credential_inject",
    "load_balancer",
]


def check(file: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "edge", "-c", str(file), "-t"]
    return subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_only_captures_are_templates() -> None:
    found = {name: set(re.findall(r"{{.*?}}", (CONFIGS / name).read_text())) for name in ("praxis-edge.yaml", "praxis-provider.yaml")}  # fmt: skip
    assert found == {
        "praxis-edge.yaml": {
            "{{ captures.provider-east.gateway-ip }}",
            "{{ captures.provider-west.gateway-ip }}",
        },
        "praxis-provider.yaml": set(),
    }


def test_the_edge_s_is_sound_once_it_is_rendered(tmp_path: Path) -> None:
    (tmp_path / "public-ca").mkdir()
    env, _ = edge_environ(tmp_path, Authority(tmp_path, "grid-ca"), "edge-us-east", "127.0.0.1")
    put(tmp_path / "grid" / "grid-config.json", current(ALL))
    done = check(rendered(tmp_path / "config", "127.0.0.2", "127.0.0.3"), env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_provider_s_is_sound_as_it_is(tmp_path: Path) -> None:
    grid = Authority(tmp_path, "grid-ca")
    (tmp_path / "token").write_text("token")
    certs = laid(tmp_path / "certs", grid, site_leaf(grid, "provider-east"))
    done = check(
        CONFIGS / "praxis-provider.yaml", {"CERTS_DIR": str(certs), "CREDENTIALS_DIR": str(tmp_path)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "order"), [("praxis-edge.yaml", EDGE_ORDER), ("praxis-provider.yaml", PROVIDER_ORDER)]
)
def test_filters_stand_in_the_production_order(name: str, order: list[str]) -> None:
    file = yaml.safe_load((CONFIGS / name).read_text())
    chains = {chain["name"]: chain["filters"] for chain in file["filter_chains"]}
    (listener,) = file["listeners"]
    assert [entry["filter"] for chain in listener["filter_chains"] for entry in chains[chain]] == order


@pytest.mark.parametrize("name", ["praxis-edge.yaml", "praxis-provider.yaml"])
def test_limits_and_addresses_are_explicit(name: str) -> None:
    file = yaml.safe_load((CONFIGS / name).read_text())
    assert all(listener["max_connections"] for listener in file["listeners"])
    assert all(listener["address"] == "${POD_IP:-0.0.0.0}:8443" for listener in file["listeners"])
    assert re.fullmatch(r"\$\{POD_IP:-127\.0\.0\.1\}:9901", file["admin"]["address"])
    assert {"connection_timeout_ms", "first_byte_timeout_ms", "read_timeout_ms", "max_connections"} <= set.intersection(*(set(cluster) for cluster in file["clusters"]))  # fmt: skip
    assert file["body_limits"]["max_request_bytes"] == 4_194_304
    assert file["runtime"]["max_memory_bytes"]
    assert "insecure_options" not in file


async def test_a_customer_is_served_through_both(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        answers = [await made.ask() for _ in range(4)]
        assert {answer.status for answer in answers} == {200}, answers
        assert all("count to three" in answer.text for answer in answers)
        lines = await made.lines(*answers)
        assert {line["cluster"] for line in lines} == {"gateway-provider-east-a", "gateway-provider-east-b"}
        assert {(line["provider"], line["tier"], line["revision"], line["site"]) for line in lines} == {
            ("provider-east", "same_region", "1", "edge-us-east")
        }
        await _is_closed_to_others(made)
        await _lists_models(made)
        await _answers_the_grid(made)
        ready = [(await made.admin("/readyz", program)).status_code for program in (made.edge, made.east)]
        assert ready == [200, 200]


async def _is_closed_to_others(made: Lab) -> None:
    """No key, no edge certificate, another site's certificate."""
    bare = await made.client.post("/v1/chat/completions", json={"model": MODEL})
    assert bare.status_code == 401
    url = f"https://{made.east.address}:8443/v1/chat/completions"
    for leaf, refusal in ((None, httpx.TransportError), (site_leaf(made.grid, "provider-west"), 403)):
        context = client_context(made.grid, leaf)
        context.check_hostname = False
        async with httpx.AsyncClient(verify=context, timeout=30) as client:
            try:
                outcome: object = (await client.post(url, json={"model": MODEL})).status_code
            except (httpx.TransportError, ssl.SSLError):  # the alert, or the reset that may overtake it
                outcome = httpx.TransportError
        assert outcome == refusal

    async def told() -> bool:
        metrics = (await made.admin("/metrics", made.east)).text
        return 'praxis_mtls_trust_failures_total{side="peer"} 2.0' in metrics

    await soon(told, "both are counted")


async def _lists_models(made: Lab) -> None:
    listed = await made.client.get("/v1/models", headers={"Authorization": f"Bearer {KEY}"})
    assert [model["id"] for model in listed.json()["data"]] == [MODEL]


async def _answers_the_grid(made: Lab) -> None:
    """The traffic manager's address has readiness alone, the operator's the status alone, over mutual TLS."""
    address = made.edge.address
    found = [
        (await made.plain.get(f"http://{address}:9903{path}")).status_code for path in ("/readyz", "/status")
    ]
    assert found == [200, 404]
    context = client_context(made.grid, site_leaf(made.grid, "edge-control"))
    context.check_hostname = False
    async with httpx.AsyncClient(verify=context, timeout=30) as client:
        told = read_status((await client.get(f"https://{address}:9902/status")).content)
        assert (await client.get(f"https://{address}:9902/drain")).status_code == 404
    assert (told.site, told.ready, told.serving and told.serving.revision) == ("edge-us-east", True, 1)
