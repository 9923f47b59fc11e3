"""The official client talks to the simulator as to any OpenAI server, and each fault shows as it would in
life."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from edge.simulator.process import Process
from tests.kit import simulators

QUESTION: list[openai.types.chat.ChatCompletionMessageParam] = [
    {"role": "user", "content": "count to three, please"}
]


@pytest.fixture
async def sim() -> AsyncIterator[Process]:
    async with simulators.running(
        provider="provider-east", instance="sim-a", bearer="right", itl_ms=1
    ) as made:
        yield made


def client(sim: Process, key: str = "right") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=f"http://127.0.0.1:{sim.port}/v1", api_key=key, max_retries=0, timeout=20
    )


async def switch(sim: Process, method: str, path: str, **parameters: object) -> httpx.Response:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.admin_port}") as admin:
        return await admin.request(method, path, json=parameters)


async def samples(sim: Process) -> dict[str, float]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}") as plain:
        text = (await plain.get("/metrics")).text
    return {s.name: s.value for family in text_string_to_metric_families(text) for s in family.samples}


async def ask(sim: Process, **more: object) -> httpx.Response:
    body = {"model": "shared-model", "messages": QUESTION, **more}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}", timeout=20) as plain:
        return await plain.post("/v1/chat/completions", json=body, headers={"Authorization": "Bearer right"})


async def test_a_chat_echoes_the_last_user_message(sim: Process) -> None:
    async with client(sim) as api:
        answer = await api.chat.completions.create(model="shared-model", messages=QUESTION)
    assert answer.choices[0].message.content == "count to three, please"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


async def test_a_stream_is_token_by_token_and_ends_with_usage(sim: Process) -> None:
    async with client(sim) as api:
        stream = await api.chat.completions.create(
            model="shared-model", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == "count to three, please"
    assert len([text for text in texts if text]) == 7
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


async def test_the_synchronous_client_reads_the_same(sim: Process) -> None:
    def talk() -> str:
        with openai.OpenAI(base_url=f"http://127.0.0.1:{sim.port}/v1", api_key="right", timeout=20) as api:
            stream = api.chat.completions.create(model="shared-model", messages=QUESTION, stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in stream)

    assert await asyncio.to_thread(talk) == "count to three, please"


async def test_a_completion_stops_at_its_limit(sim: Process) -> None:
    async with client(sim) as api:
        answer = await api.completions.create(model="other-model", prompt="one two three four", max_tokens=2)
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == ("one two ", "length")


async def test_embeddings_come_as_numbers_and_are_the_same_twice(sim: Process) -> None:
    async with client(sim) as api:
        asked = [
            await api.embeddings.create(model="shared-model", input=["a", "b"], dimensions=8)
            for _ in range(2)
        ]
    assert asked[0].data == asked[1].data
    assert [len(item.embedding) for item in asked[0].data] == [8, 8]
    assert asked[0].data[0].embedding != asked[0].data[1].embedding


async def test_models_are_listed(sim: Process) -> None:
    async with client(sim) as api:
        assert [model.id async for model in api.models.list()] == ["shared-model", "other-model"]


async def test_the_answer_says_who_gave_it(sim: Process) -> None:
    async with client(sim) as api:
        raw = await api.chat.completions.with_raw_response.create(
            model="shared-model", messages=QUESTION, extra_headers={"x-request-id": "abc"}
        )
    names = ("x-sim-provider", "x-sim-instance", "x-request-id")
    assert [raw.headers[name] for name in names] == ["provider-east", "sim-a", "abc"]


async def test_a_wrong_bearer_is_refused_but_health_and_metrics_ask_for_none(sim: Process) -> None:
    async with client(sim, key="wrong") as api:
        with pytest.raises(openai.AuthenticationError) as refused:
            await api.chat.completions.create(model="shared-model", messages=QUESTION)
    assert refused.value.code == "invalid_api_key"
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}") as plain:
        assert (await plain.get("/health")).status_code == 200
        assert (await plain.get("/metrics")).status_code == 200


async def test_a_replaced_bearer_file_is_read_again(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("first\n")
    async with simulators.running(bearer_file=str(secret)) as sim, client(sim, "second") as api:
        with pytest.raises(openai.AuthenticationError):
            await api.models.list()
        (tmp_path / "new").write_text("second\n")
        (tmp_path / "new").replace(secret)
        assert len([model async for model in api.models.list()]) == 2
        secret.unlink()
        assert len([model async for model in api.models.list()]) == 2


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        pytest.param("chat/completions", b"{", 400, "invalid_request_error", id="not JSON"),
        pytest.param(
            "chat/completions", b'{"model":"shared-model"}', 400, "invalid_request_error", id="no messages"
        ),
        pytest.param(
            "completions", b'{"model":"shared-model"}', 400, "invalid_request_error", id="no prompt"
        ),
        pytest.param(
            "completions", b'{"model":"x","prompt":"a"}', 404, "model_not_found", id="another model"
        ),
        pytest.param(
            "completions",
            b'{"model":"shared-model","prompt":"a","n":2}',
            400,
            "unsupported_value",
            id="two choices",
        ),
        pytest.param(
            "embeddings", b'{"model":"shared-model","input":[]}', 400, "invalid_request_error", id="nothing"
        ),
    ],
)
async def test_what_cannot_be_answered_has_openais_shape(
    sim: Process, path: str, body: bytes, status: int, code: str
) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}/v1/") as plain:
        answer = await plain.post(path, content=body, headers={"Authorization": "Bearer right"})
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code


async def test_random_answers_are_repeatable_whatever_is_in_flight() -> None:
    async def texts() -> list[str]:
        async with simulators.running(mode="random", seed=3, tokens=6) as sim:
            answers = await asyncio.gather(*(ask(sim) for _ in range(4)))
        return [answer.json()["choices"][0]["message"]["content"] for answer in answers]

    first, second = await texts(), await texts()
    assert first == second
    assert len(set(first)) == 1


async def test_the_queue_is_bounded_and_shows_in_the_metrics() -> None:
    async with simulators.running(running=1, waiting=1) as sim, asyncio.TaskGroup() as group:
        await switch(sim, "PUT", "/faults/slow", factor=200)
        asked = [group.create_task(ask(sim)) for _ in range(3)]
        shown: dict[str, float] = {}
        async with asyncio.timeout(20):
            while not any(task.done() for task in asked):
                shown = await samples(sim)
        assert sorted((shown["vllm:num_requests_running"], shown["vllm:num_requests_waiting"])) == [1, 1]
        assert 0 < shown["vllm:kv_cache_usage_perc"] <= 1
        refused = next(task for task in asked if task.done()).result()
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        for task in asked:
            task.cancel()


async def test_prefixes_are_found_again(sim: Process) -> None:
    long = [{"role": "user", "content": "tell me about the grid " * 20}]
    first, second = await ask(sim, messages=long), await ask(sim, messages=long)
    cached = [answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in (first, second)]
    assert cached[0] == 0
    assert cached[1] > 100
    assert (await samples(sim))["praxis_sim_prefix_hit_ratio"] == pytest.approx(0.5)


async def test_llm_d_names_carry_the_pool(sim: Process) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}") as plain:
        text = (await plain.get("/metrics")).text
    for name in ("llm_d_router_epp_average_queue_size", "inference_pool_average_kv_cache_utilization"):
        assert f'{name}{{name="sim"}} 0.0' in text


async def test_pinned_values_are_shown_until_they_are_let_go(sim: Process) -> None:
    await switch(sim, "PUT", "/load", queue=40, kv=0.9)
    shown = await samples(sim)
    assert (shown["vllm:num_requests_waiting"], shown["vllm:kv_cache_usage_perc"]) == (40, 0.9)
    assert shown["inference_pool_average_queue_size"] == 40
    await switch(sim, "DELETE", "/load")
    assert (await samples(sim))["vllm:num_requests_waiting"] == 0


async def test_down_refuses_and_resets_until_it_is_over(sim: Process) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}", timeout=20) as plain:
        assert (await plain.get("/health")).status_code == 200
        await switch(sim, "PUT", "/faults/down")
        for _ in range(2):  # the kept connection, then a new one
            with pytest.raises(httpx.TransportError):
                await plain.get("/health")
        await switch(sim, "DELETE", "/faults/down")
        async with asyncio.timeout(20):
            while True:
                try:
                    assert (await plain.get("/health")).status_code == 200
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.01)


async def test_down_may_end_by_itself(sim: Process) -> None:
    await switch(sim, "PUT", "/faults/down", seconds=0.05)
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}", timeout=20) as plain,
        asyncio.timeout(20),
    ):
        while True:
            try:
                assert (await plain.get("/health")).status_code == 200
                break
            except httpx.TransportError:
                await asyncio.sleep(0.01)


async def test_hang_never_answers_and_the_client_may_leave(
    sim: Process, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "edge.simulator")
    await switch(sim, "PUT", "/faults/hang")
    with pytest.raises(openai.APITimeoutError):
        async with client(sim).with_options(timeout=0.1) as api:
            await api.chat.completions.create(model="shared-model", messages=QUESTION)
    async with asyncio.timeout(20):
        while "hung" not in [getattr(record, "outcome", None) for record in caplog.records]:  # noqa: ASYNC110  # a log has no event
            await asyncio.sleep(0.01)


async def test_a_client_that_leaves_stops_the_generation(
    sim: Process, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "edge.simulator")
    await switch(sim, "PUT", "/faults/slow", factor=50)
    async with client(sim) as api:
        stream = await api.chat.completions.create(model="shared-model", messages=QUESTION, stream=True)
        await anext(aiter(stream))
        await stream.close()
    async with asyncio.timeout(20):
        while not (gone := [r for r in caplog.records if getattr(r, "outcome", None) == "gone"]):  # noqa: ASYNC110  # nor here
            await asyncio.sleep(0.01)
    assert gone[0].tokens_out < 7  # type: ignore[attr-defined]  # a fact given as extra
    assert (await samples(sim))["vllm:num_requests_running"] == 0


async def test_an_error_status_may_hit_the_next_request_only(sim: Process) -> None:
    await switch(sim, "PUT", "/faults/error", status=503, retry_after=7, requests=1)
    first, second = await ask(sim), await ask(sim)
    assert (first.status_code, first.headers["retry-after"], second.status_code) == (503, "7", 200)
    assert first.json()["error"]["code"] == "simulated_error"


@pytest.mark.parametrize(
    "streamed", [pytest.param(True, id="in a stream"), pytest.param(False, id="in a body")]
)
async def test_reset_breaks_the_answer_in_the_middle(sim: Process, streamed: bool) -> None:
    await switch(sim, "PUT", "/faults/reset", after=2)
    with pytest.raises(httpx.TransportError):
        await ask(sim, stream=streamed)


async def test_malformed_framing_is_a_protocol_error(sim: Process) -> None:
    await switch(sim, "PUT", "/faults/malformed", after=1)
    with pytest.raises(httpx.RemoteProtocolError):
        await ask(sim, stream=True)


async def test_malformed_json_breaks_one_event(sim: Process) -> None:
    await switch(sim, "PUT", "/faults/malformed", after=1, form="json")
    events = (await ask(sim, stream=True)).text.strip().split("\n\n")
    broken = [event for event in events[:-1] if not _reads(event)]
    assert len(broken) == 1
    assert events[-1] == "data: [DONE]"


def _reads(event: str) -> bool:
    try:
        json.loads(event.removeprefix("data: "))
    except json.JSONDecodeError:
        return False
    return True


async def test_unhealthy_is_seen_by_health_checks_alone(sim: Process) -> None:
    await switch(sim, "PUT", "/faults/unhealthy")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}") as plain:
        assert (await plain.get("/health")).status_code == 503
    assert (await ask(sim)).status_code == 200


async def test_an_error_of_all_scope_hits_health_and_metrics(sim: Process) -> None:
    await switch(sim, "PUT", "/faults/error", status=500, scope="all")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}") as plain:
        assert [(await plain.get(path)).status_code for path in ("/health", "/metrics")] == [500, 500]


async def test_reduced_capacity_shows_in_the_status(sim: Process) -> None:
    await switch(sim, "PUT", "/faults/capacity", running=1)
    assert (await switch(sim, "GET", "/status")).json()["capacity"] == 1
    await switch(sim, "DELETE", "/faults")
    assert (await switch(sim, "GET", "/status")).json()["capacity"] == 8


async def test_an_unknown_fault_changes_nothing(sim: Process) -> None:
    assert (await switch(sim, "PUT", "/faults/explode")).status_code == 404
    wrong = await switch(sim, "PUT", "/faults/slow", faktor=2)
    assert (wrong.status_code, "faktor" in wrong.text) == (400, True)
    assert (await switch(sim, "GET", "/faults")).json() == {}


async def test_the_log_accounts_for_every_request_by_its_id(
    sim: Process, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "edge.simulator")
    async with client(sim) as api:
        for n in range(3):
            await api.chat.completions.create(
                model="shared-model", messages=QUESTION, extra_headers={"x-ai-provider-request-id": f"r{n}"}
            )
    lines = [(r.request_id, r.outcome) for r in caplog.records if r.message == "request"]  # type: ignore[attr-defined]  # facts given as extra
    assert lines == [("r0", "answered"), ("r1", "answered"), ("r2", "answered")]


async def test_a_token_file_emptied_while_it_runs_lets_nobody_in(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("right")
    async with (
        simulators.running(bearer=None, bearer_file=str(file)) as sim,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}/v1") as plain,
    ):
        assert (await plain.get("/models", headers={"Authorization": "Bearer right"})).status_code == 200
        file.write_text("")
        for shown in ("Bearer", "Bearer right"):
            assert (await plain.get("/models", headers={"Authorization": shown})).status_code == 401


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(
            "chat/completions",
            {"messages": QUESTION, "stream": None, "n": None, "stream_options": None, "max_tokens": None},
            id="chat",
        ),
        pytest.param("completions", {"prompt": [[1, 2], [3]], "stream": None}, id="lists of token numbers"),
        pytest.param(
            "embeddings", {"input": "a", "dimensions": None, "encoding_format": None}, id="embeddings"
        ),
    ],
)
async def test_null_is_as_good_as_nothing(sim: Process, path: str, body: dict[str, object]) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}/v1") as plain:
        answer = await plain.post(
            f"/{path}", json={"model": "shared-model", **body}, headers={"Authorization": "Bearer right"}
        )
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("method", "path", "size", "status"),
    [
        pytest.param("GET", "/v1/nothing", 0, 404, id="a path that is not here"),
        pytest.param("PUT", "/v1/models", 0, 405, id="a method that is not here"),
        pytest.param("POST", "/v1/chat/completions", 9 * 1024 * 1024, 413, id="a body without end"),
    ],
)
async def test_every_refusal_has_the_shape_of_the_api(
    sim: Process, method: str, path: str, size: int, status: int
) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{sim.port}", timeout=20) as plain:
        answer = await plain.request(
            method, path, content=b"x" * size, headers={"Authorization": "Bearer right"}
        )
    assert answer.status_code == status
    assert answer.headers["x-sim-provider"] == "provider-east"
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("pins", [{"queue": -1}, {"kv": 1.5}, {"kv": -0.1}])
async def test_a_load_that_cannot_be_is_not_shown(sim: Process, pins: dict[str, float]) -> None:
    assert (await switch(sim, "PUT", "/load", **pins)).status_code == 400
    assert (await samples(sim))["praxis_sim_kv_ratio"] == 0
