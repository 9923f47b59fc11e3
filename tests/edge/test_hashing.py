"""A whole gateway over real backends: whatever is hashed, a key keeps its endpoint, and only those move that
must; shares of keys and of draws are the weights, within what chance allows."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from math import sqrt
from pathlib import Path

import httpx
import pytest

from tests.kit import backends
from tests.kit.backends import Backend
from tests.kit.edges import Edge, edge, write
from tests.kit.overlays import candidate, current, put

KEY = "sk-test-hashing"
TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: forwarded_headers, trusted_proxies: ["127.0.0.0/8"]}}
      - {{filter: api_key_auth, keys: [{{sha256: {digest}, tenant: acme}}]}}
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: grid_route, overlay_file: overlay/grid-config.json, affinity: {{secret_file: secret}}}}
      - filter: load_balancer
clusters:
  - name: gateway-east
    endpoints: [{endpoints}]
    load_balancer_strategy: {strategy}
"""
BODY = b'{"model": "shared-model"}'

Given = tuple[str, dict[str, str]]
"""A request's path and headers."""


def configuration(folder: Path, strategy: str, ports: Sequence[int], weights: Sequence[int]) -> str:
    if not (folder / "secret").exists():
        (folder / "secret").write_bytes(bytes(range(32)))
        put(folder / "overlay" / "grid-config.json", current([candidate("east")]))
    endpoints = ", ".join(
        f'{{address: "127.0.0.1:{port}", weight: {weight}}}'
        for port, weight in zip(ports, weights, strict=True)
    )
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    return TEXT.format(digest=digest, endpoints=endpoints, strategy=strategy)


async def ask(gateway: Edge, made: Sequence[Backend], requests: Sequence[Given]) -> dict[int, int]:
    """Which of *made* each of *requests* went to, by their numbers."""
    for backend in made:
        backend.received.clear()
    async with httpx.AsyncClient(timeout=30, headers={"authorization": f"Bearer {KEY}"}) as client:
        for number, (path, headers) in enumerate(requests):
            answer = await client.post(
                gateway.url() + path, content=BODY, headers={**headers, "x-number": str(number)}
            )
            assert answer.status_code == 200, answer.text
    found = {
        int(request.fields[b"x-number"]): index
        for index, backend in enumerate(made)
        for request in backend.received
    }
    assert len(found) == sum(len(backend.received) for backend in made) == len(requests)
    return found


KINDS = [
    pytest.param("{header: X-User}", lambda n: ("/v1/chat/completions", {"x-user": f"u{n}"}), id="a header"),
    pytest.param("{}", lambda n: (f"/v1/{n}", {}), id="the path"),
    pytest.param(
        "{key: client_address}",
        lambda n: ("/v1/chat/completions", {"x-forwarded-for": f"192.0.2.{n}"}),
        id="the client's address",
    ),
    pytest.param(
        "{key: session}",
        lambda n: ("/v1/chat/completions", {"x-praxis-session-id": f"talk-{n}"}),
        id="the session",
    ),
    pytest.param(
        "{key: session}",
        lambda n: ("/v1/chat/completions", {"x-forwarded-for": f"192.0.2.{n}"}),
        id="the client's address where there is no session",
    ),
]


@pytest.mark.parametrize(
    "weights", [pytest.param((1, 1, 1), id="even"), pytest.param((3, 2, 2), id="uneven")]
)
@pytest.mark.parametrize(("hashed", "request_of"), KINDS)
async def test_a_key_keeps_its_endpoint_and_leaves_only_one_that_is_removed(
    tmp_path: Path, hashed: str, request_of: Callable[[int], Given], weights: Sequence[int]
) -> None:
    strategy = f"{{consistent_hash: {hashed}}}"
    requests = [request_of(n) for n in range(60)]
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(backends.backend()) for _ in range(3)]
        ports = [backend.port for backend in made]
        all_three = configuration(tmp_path, strategy, ports, weights)
        gateway = await stack.enter_async_context(edge(tmp_path, all_three))
        before = await ask(gateway, made, requests)
        assert set(before.values()) == {0, 1, 2}
        assert await ask(gateway, made, requests) == before

        write(tmp_path, configuration(tmp_path, strategy, ports[1:], weights[1:]))
        assert await gateway.reloader.reload()
        after = await ask(gateway, made, requests)
        assert 0 not in after.values()
        assert {n for n in before if after[n] != before[n]} == {n for n in before if before[n] == 0}

        write(tmp_path, all_three)
        assert await gateway.reloader.reload()
        assert await ask(gateway, made, requests) == before


async def test_one_session_of_two_clients_is_one_key(tmp_path: Path) -> None:
    requests = [
        ("/v1/chat/completions", {"x-praxis-session-id": f"talk-{n % 10}", "x-forwarded-for": f"192.0.2.{n}"})
        for n in range(40)
    ]
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(backends.backend()) for _ in range(3)]
        ports = [backend.port for backend in made]
        text = configuration(tmp_path, "{consistent_hash: {key: session}}", ports, (1, 1, 1))
        gateway = await stack.enter_async_context(edge(tmp_path, text))
        went = await ask(gateway, made, requests)
    by_session = defaultdict(set)
    for number, index in went.items():
        by_session[number % 10].add(index)
    assert all(len(indexes) == 1 for indexes in by_session.values())


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param("{consistent_hash: {header: X-User}}", id="keys"),
        pytest.param("{consistent_hash: {key: session}}", id="sessions"),
        pytest.param("p2c", id="draws, while all are idle"),
    ],
)
async def test_shares_are_the_weights(tmp_path: Path, strategy: str) -> None:
    """Five standard deviations of a binomial share: one good run in more than a million fails."""
    weights, count = (5, 3, 2), 500
    requests = [
        ("/v1/chat/completions", {"x-user": f"u{n}", "x-praxis-session-id": f"talk-{n}"})
        for n in range(count)
    ]
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(backends.backend()) for _ in range(3)]
        text = configuration(tmp_path, strategy, [backend.port for backend in made], weights)
        gateway = await stack.enter_async_context(edge(tmp_path, text))
        went = list((await ask(gateway, made, requests)).values())
    for index, weight in enumerate(weights):
        share = weight / sum(weights)
        bound = 5 * sqrt(count * share * (1 - share))
        assert abs(went.count(index) - count * share) <= bound
