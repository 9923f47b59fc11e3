"""A public gateway in front of a provider's: three credentials, none of which crosses into another's
domain."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import openai
import pytest

from edge.simulator.process import Process
from tests.kit import simulators
from tests.kit.certs import Authority, Leaf
from tests.kit.edges import Edge, edge

QUESTION: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": "count to three"}]

PUBLIC = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - filter: access_log
      - filter: api_key_auth
        keys: [{{sha256: {digest}, tenant: acme}}]
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: router, routes: [{{path_prefix: /v1/, cluster: gateway-provider-east}}]}}
      - filter: load_balancer
clusters:
  - name: gateway-provider-east
    endpoints: ["127.0.0.1:{port}"]
    tls:
      sni: provider-east.grid.internal
      ca: {{ca_path: {ca}}}
      client_cert: {{cert_path: {cert}, key_path: {key}}}
"""
PROVIDER = """
listeners:
  - name: main
    address: "127.0.0.1:0"
    filter_chains: [main]
    tls:
      certificates: [{{cert_path: {cert}, key_path: {key}}}]
      client_ca: {{ca_path: {ca}}}
      client_cert_mode: require
filter_chains:
  - name: main
    filters:
      - filter: peer_identity_trust
        trusted_peers: [{{organization: praxis-grid, spiffe_id: "spiffe://grid/edge-us-east", name: edge-us-east}}]
      - filter: request_id
      - filter: access_log
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: router, routes: [{{path_prefix: /v1/, cluster: sim}}]}}
      - filter: credential_inject
        credentials: [{{name: sim, file: {token}}}]
        default: default/sim/token
      - filter: load_balancer
clusters:
  - {{name: sim, endpoints: ["127.0.0.1:{port}"]}}
"""


@dataclass
class Lab:
    public: Edge
    provider: Edge
    sim: Process

    def client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            base_url=f"{self.public.url()}/v1", api_key="customer", max_retries=0, timeout=20
        )


def certificates(folder: Path) -> tuple[Authority, Leaf]:
    authority = Authority(folder, "grid-ca")
    return authority, authority.leaf("provider-east.grid.internal")


async def bring_up(stack: AsyncExitStack, folder: Path, organization: str, spiffe: str) -> Lab:
    authority, served = certificates(folder)
    shown = authority.leaf("edge-us-east", organizations=(organization,), uris=(spiffe,))
    token = folder / "token"
    token.write_text("provider-token")
    sim = await stack.enter_async_context(simulators.running(bearer="provider-token"))
    provider_text = PROVIDER.format(
        cert=served.certificate, key=served.key, ca=authority.path, token=token, port=sim.port
    )
    provider = await stack.enter_async_context(edge(folder / "provider", provider_text))
    public_text = PUBLIC.format(
        digest=hashlib.sha256(b"customer").hexdigest(),
        port=provider.port(),
        ca=authority.path,
        cert=shown.certificate,
        key=shown.key,
    )
    return Lab(await stack.enter_async_context(edge(folder / "public", public_text)), provider, sim)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


async def test_a_customer_is_served_through_both(
    tmp_path: Path, stack: AsyncExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "edge.simulator")
    lab = await bring_up(stack, tmp_path, "praxis-grid", "spiffe://grid/edge-us-east")
    async with lab.client() as api:
        raw = await api.chat.completions.with_raw_response.create(model="shared-model", messages=QUESTION)
        stream = await api.chat.completions.create(model="shared-model", messages=QUESTION, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert raw.parse().choices[0].message.content == text == "count to three"
    # Nothing of the inside shows outside, and one id follows the request to its end.
    assert not [name for name in raw.headers if name.startswith(("x-sim-", "x-ai-"))]
    assert caplog.records[-2].request_id == raw.headers["x-request-id"]  # type: ignore[attr-defined]  # a fact
    assert b'"peer":"edge-us-east"' in lab.provider.lines[0]


@pytest.mark.parametrize(
    ("organization", "spiffe"),
    [
        pytest.param("ai-grid", "spiffe://grid/edge-us-east", id="another organization"),
        pytest.param("praxis-grid", "spiffe://grid/edge-eu-west", id="another edge"),
    ],
)
async def test_a_certificate_of_the_grid_is_not_enough(
    tmp_path: Path, stack: AsyncExitStack, organization: str, spiffe: str
) -> None:
    lab = await bring_up(stack, tmp_path, organization, spiffe)
    async with lab.client() as api:
        with pytest.raises(openai.PermissionDeniedError) as refused:
            await api.chat.completions.create(model="shared-model", messages=QUESTION)
    assert refused.value.code == "peer_not_trusted"
    assert lab.sim.simulator.metrics.finished.value("shared-model", "stop") == 0


async def test_a_provider_that_is_another_is_not_spoken_to(tmp_path: Path, stack: AsyncExitStack) -> None:
    lab = await bring_up(stack, tmp_path, "praxis-grid", "spiffe://grid/edge-us-east")
    text = lab.public.file.read_text().replace("sni: provider-east", "sni: provider-west")
    lab.public.file.write_text(text)
    assert await lab.public.reloader.reload()
    async with lab.client() as api:
        with pytest.raises(openai.InternalServerError) as refused:
            await api.chat.completions.create(model="shared-model", messages=QUESTION)
    assert refused.value.code == "upstream_tls_failed"
    assert lab.provider.lines == []
