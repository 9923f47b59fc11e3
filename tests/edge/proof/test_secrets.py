"""A canary in every place a secret or a prompt can be is found in none where it must not be."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from edge.dump import dump
from grid.telemetry import logs
from tests.kit import backends
from tests.kit.edges import edge, write

KEY, TOKEN, PROMPT, TENANT = "canary-key", "canary-token", "canary-prompt", "canary-tenant"

TEXT = """
admin: {{address: "127.0.0.1:0", verbose: true}}
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - filter: access_log
      - filter: api_key_auth
        keys: [{{sha256: {digest}, tenant: {tenant}}}]
      - {{filter: rate_limit, mode: per_tenant, rate: 100, burst: 100}}
      - {{filter: json_body_field, field: model, header: X-Model}}
      - filter: model_authorization
        tenants: {{{tenant}: ["*"]}}
      - filter: headers
        request_set: [{{name: X-Api-Key, value: canary-header}}]
      - {{filter: router, routes: [{{path_prefix: /, cluster: east}}]}}
      - filter: credential_inject
        credentials: [{{name: sim, file: {secret}}}]
        default: default/sim/token
      - filter: load_balancer
clusters:
  - {{name: east, endpoints: ["127.0.0.1:{port}"]}}
"""


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    kept, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    stream = io.StringIO()
    logs.configure(stream, "DEBUG")
    yield stream
    root.handlers[:], logging.raiseExceptions = kept, raising
    root.setLevel(level)


async def test_nothing_leaks(tmp_path: Path, log: io.StringIO) -> None:
    secret = tmp_path / "token"
    secret.write_text(TOKEN)
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    seen: list[str] = []
    async with backends.backend() as backend:
        text = TEXT.format(digest=digest, tenant=TENANT, secret=secret, port=backend.port)
        async with edge(tmp_path, text) as made, httpx.AsyncClient(timeout=20) as client:
            url = f"{made.url()}/v1/chat?key={KEY}"
            bodies = (
                f'{{"model":"m","prompt":"{PROMPT}"}}',
                f'{{"model":5,"prompt":"{PROMPT}"}}',
                f'{{"prompt":"{PROMPT}"',
                f'{{"model":"m","model":"{PROMPT}"}}',
            )
            for body in bodies:
                for key in (KEY, KEY + "x"):
                    answer = await client.post(
                        url, content=body, headers={"Authorization": f"Bearer {key}", "Cookie": KEY}
                    )
                    seen += [answer.text, str(answer.headers)] if answer.status_code != 200 else []
            backend.answer = backends.always(b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n")
            answer = await client.post(url, content=bodies[0], headers={"Authorization": f"Bearer {KEY}"})
            seen.append(answer.text)
            secret.write_text(TOKEN + "\n\nsecond line")
            await made.reloader.reload()
            admin = f"http://127.0.0.1:{made.admin_port}"
            seen += [(await client.get(admin + path)).text for path in ("/config", "/status", "/metrics")]
            assert made.server.built is not None
            seen += [dump(made.server.built), repr(made.server.built.chains["main"].steps)]
            seen += [line.decode() for line in made.lines]
    assert backend.received[0].fields[b"authorization"] == b"Bearer " + TOKEN.encode()
    assert KEY.encode() not in backend.received[0].fields[b"authorization"]
    whole = "\n".join([*seen, log.getvalue()])
    assert "cannot stand in a header" in whole  # the reload did fail, and said why
    # The tenant's name is in the configuration itself, which an operator may read.
    for canary in (KEY, TOKEN, PROMPT, "canary-header", digest):
        assert canary not in whole
    assert TENANT not in "\n".join(line.decode() for line in made.lines) + log.getvalue()


async def test_a_problem_in_a_secret_file_does_not_quote_it(tmp_path: Path) -> None:
    from edge.config.problems import ConfigRejected
    from tests.kit.edges import built

    secret = tmp_path / "token"
    secret.write_text(f"{TOKEN} {TOKEN}")
    text = TEXT.format(digest="0" * 64, tenant=TENANT, secret=secret, port=9)
    with pytest.raises(ConfigRejected) as rejected:
        built(write(tmp_path, text))
    assert TOKEN not in str(rejected.value)
