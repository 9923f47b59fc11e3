"""The official clients work through the gateway as against the backend itself."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import openai
import pytest

from edge.simulator.process import Process
from tests.kit import simulators
from tests.kit.edges import Edge, edge
from tests.kit.eventually import eventually

KEY = "client-key"
QUESTION: list[openai.types.chat.ChatCompletionMessageParam] = [
    {"role": "user", "content": "count to three, please"}
]

# The whole production chain.
TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - filter: access_log
      - filter: forwarded_headers
      - filter: api_key_auth
        keys: [{{sha256: {digest}, tenant: acme}}]
      - {{filter: rate_limit, mode: per_tenant, rate: 1000, burst: 1000}}
      - {{filter: concurrency_limit, max_requests: 100, max_per_tenant: 100}}
      - {{filter: body_limit, max_bytes: 100000}}
      - {{filter: json_body_field, field: model, header: X-Model}}
      - filter: model_authorization
        tenants: {{acme: [shared-*]}}
      - {{filter: router, routes: [{{path_prefix: /v1/, cluster: sim}}]}}
      - filter: circuit_breaker
        clusters: [{{name: sim, consecutive_failures: 5, recovery_window_secs: 1}}]
      - filter: credential_inject
        credentials: [{{name: sim, file: {secret}}}]
        default: default/sim/token
      - filter: load_balancer
clusters:
  - {{name: sim, endpoints: ["127.0.0.1:{port}"]}}
"""


@asynccontextmanager
async def lab(folder: Path) -> AsyncIterator[tuple[Edge, Process]]:
    secret = folder / "token"
    secret.write_text("provider-token")
    async with simulators.running(bearer="provider-token") as sim:
        digest = hashlib.sha256(KEY.encode()).hexdigest()
        async with edge(folder, TEXT.format(digest=digest, secret=secret, port=sim.port)) as made:
            yield made, sim


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[tuple[Edge, Process]]:
    async with lab(tmp_path) as running:
        yield running


def client(made: Edge, key: str = KEY, timeout: float = 20) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{made.url()}/v1", api_key=key, max_retries=0, timeout=timeout)


async def test_a_chat(made: tuple[Edge, Process]) -> None:
    async with client(made[0]) as api:
        answer = await api.chat.completions.create(model="shared-model", messages=QUESTION)
    assert answer.choices[0].message.content == "count to three, please"


async def test_a_stream_arrives_token_by_token(made: tuple[Edge, Process]) -> None:
    async with client(made[0]) as api:
        stream = await api.chat.completions.create(
            model="shared-model", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(text or "" for text in texts) == "count to three, please"
    assert chunks[-1].usage is not None


async def test_the_synchronous_client(made: tuple[Edge, Process]) -> None:
    def talk() -> Iterator[str]:
        with openai.OpenAI(base_url=f"{made[0].url()}/v1", api_key=KEY, timeout=20) as api:
            yield str(
                api.chat.completions.create(model="shared-model", messages=QUESTION)
                .choices[0]
                .message.content
            )
            for chunk in api.chat.completions.create(model="shared-model", messages=QUESTION, stream=True):
                yield chunk.choices[0].delta.content or ""
            yield str(len(api.embeddings.create(model="shared-model", input="a").data))

    texts = await asyncio.to_thread(lambda: list(talk()))
    assert "".join(texts[1:-1]) == texts[0] == "count to three, please"
    assert texts[-1] == "1"


async def test_completions_embeddings_and_models(made: tuple[Edge, Process]) -> None:
    async with client(made[0]) as api:
        text = await api.completions.create(model="shared-model", prompt="one two", max_tokens=1)
        vectors = await api.embeddings.create(model="shared-model", input=["a", "b"])
        models = [model.id async for model in api.models.list()]
    assert (text.choices[0].text, len(vectors.data), models[0]) == ("one ", 2, "shared-model")


async def test_errors_are_the_clients_own_types(made: tuple[Edge, Process]) -> None:
    async with client(made[0], key="wrong") as api:
        with pytest.raises(openai.AuthenticationError) as unknown:
            await api.models.list()
    async with client(made[0]) as api:
        with pytest.raises(openai.PermissionDeniedError) as forbidden:
            await api.chat.completions.create(model="other-model", messages=QUESTION)
        with pytest.raises(openai.BadRequestError) as bad:
            await api.chat.completions.create(model="", messages=QUESTION)
        with pytest.raises(openai.APIStatusError) as large:
            await api.completions.create(model="shared-model", prompt="x" * 200_000)
    assert [error.value.code for error in (unknown, forbidden, bad, large)] == [
        "unauthorized",
        "model_not_allowed",
        "invalid_body",
        "request_too_large",
    ]
    assert unknown.value.request_id is not None


async def test_a_client_that_leaves_ends_the_generation(
    made: tuple[Edge, Process], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "edge.simulator")
    gateway, sim = made
    sim.simulator.faults.switch_on("slow", b'{"factor": 200}', sim.simulator.now())
    async with client(gateway) as api:
        stream = await api.chat.completions.create(model="shared-model", messages=QUESTION, stream=True)
        await anext(aiter(stream))
        await stream.close()
    await eventually(lambda: sim.simulator.load.running == 0, "the backend stopped")
    assert [record.outcome for record in caplog.records if record.message == "request"] == ["gone"]  # type: ignore[attr-defined]  # a fact given as extra
    await eventually(lambda: len(gateway.lines) == 1, "the gateway logged it")
    assert json.loads(gateway.lines[0])["outcome"] == "client_gone"


async def test_a_client_that_loses_patience(made: tuple[Edge, Process]) -> None:
    gateway, sim = made
    sim.simulator.faults.switch_on("hang", b"{}", sim.simulator.now())
    async with client(gateway, timeout=0.2) as api:
        with pytest.raises(openai.APITimeoutError):
            await api.chat.completions.create(model="shared-model", messages=QUESTION)
    await eventually(lambda: gateway.outside.metrics.active["main",][0] == 0, "nothing is left in progress")


@pytest.mark.parametrize("fault", ["reset", "malformed"])
async def test_a_stream_that_breaks_ends_with_an_error_and_not_as_if_it_were_whole(
    made: tuple[Edge, Process], fault: str
) -> None:
    gateway, sim = made
    sim.simulator.faults.switch_on(fault, b'{"after": 2}', sim.simulator.now())
    body = {"model": "shared-model", "messages": QUESTION, "stream": True}
    async with httpx.AsyncClient(timeout=20) as plain:
        headers = {"Authorization": f"Bearer {KEY}"}
        async with plain.stream(
            "POST", f"{gateway.url()}/v1/chat/completions", json=body, headers=headers
        ) as answer:
            text = await _what_arrives(answer)
    assert "event: error" in text
    assert "[DONE]" not in text
    assert str(sim.port) not in text


async def _what_arrives(answer: httpx.Response) -> str:
    """The body until its end or its break."""
    text = ""
    with contextlib.suppress(httpx.TransportError):
        async for piece in answer.aiter_text():
            text += piece
    return text


async def test_a_failing_backend_opens_its_circuit_and_comes_back(made: tuple[Edge, Process]) -> None:
    gateway, sim = made
    sim.simulator.faults.switch_on("error", b'{"status": 500}', sim.simulator.now())
    async with client(gateway) as api:
        codes = []
        for _ in range(6):
            with pytest.raises(openai.InternalServerError) as error:
                await api.chat.completions.create(model="shared-model", messages=QUESTION)
            codes.append(error.value.code)
        assert codes == ["simulated_error"] * 5 + ["circuit_open"]
        sim.simulator.faults.switch_off()
        gone_by = sim.simulator.now() + 20
        while sim.simulator.now() < gone_by:
            try:
                await api.chat.completions.create(model="shared-model", messages=QUESTION)
                break
            except openai.InternalServerError:
                await asyncio.sleep(0.05)
        else:
            pytest.fail("the circuit stayed open")
