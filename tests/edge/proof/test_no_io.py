"""The request path touches no file and no socket: every filter runs under a guard that would notice."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edge.catalog import FILTERS
from edge.chain import Chain, Exchange, Reply, Request
from edge.wire.faults import Cause, End, RemoteFault
from edge.wire.pool import Cluster
from edge.wire.ports import Peer
from tests.kit.certs import Authority
from tests.kit.edges import built, write
from tests.kit.overlays import candidate, document, encoded

_FORBIDDEN = (
    "open",
    "socket.",
    "os.",
    "subprocess.",
    "shutil.",
    "sqlite3.",
    "ssl.",
    "pathlib.",
    "glob.",
    "ctypes.",
)
_state = {"armed": False, "installed": False}


class TouchedTheOutside(AssertionError):
    """An audited event on the request path."""


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _state["armed"] and event.startswith(_FORBIDDEN):
        _state["armed"] = False
        raise TouchedTheOutside(f"{event} {args!r}")


def _no_thread(*_: object) -> int:
    raise TouchedTheOutside("a thread")


@contextmanager
def guarded() -> Iterator[None]:
    """Inside, opening a file or a socket raises: Python's own audit events, which nothing in Python can
    avoid. Starting a thread makes no event on 3.11, so its one way in is closed."""
    if not _state["installed"]:
        sys.addaudithook(_audit)  # for good; it does nothing outside this block
        _state["installed"] = True
    start = threading._start_new_thread  # type: ignore[attr-defined]  # what Thread.start calls
    threading._start_new_thread = _no_thread  # type: ignore[attr-defined]
    _state["armed"] = True
    try:
        yield
    finally:
        _state["armed"] = False
        threading._start_new_thread = start  # type: ignore[attr-defined]


def test_the_guard_would_notice(tmp_path: Path) -> None:
    import socket

    (tmp_path / "x").write_text("x")
    with pytest.raises(TouchedTheOutside), guarded():
        (tmp_path / "x").read_text()
    with pytest.raises(TouchedTheOutside), guarded():
        socket.socket()
    with pytest.raises(TouchedTheOutside), guarded():
        threading.Thread(target=print).start()


TEXT = """
listeners:
  - name: main
    address: "127.0.0.1:0"
    filter_chains: [main]
    tls:
      certificates: [{{cert_path: {leaf}, key_path: {key}}}]
      client_ca: {{ca_path: {ca}}}
      client_cert_mode: require
filter_chains:
  - name: main
    filters:
      - {{filter: peer_identity_trust, trusted_peers: [{{organization: grid}}]}}
      - filter: request_id
      - filter: access_log
      - {{filter: forwarded_headers, trusted_proxies: ["192.0.2.0/24"], use_standard_header: true}}
      - {{filter: ip_acl, allow: ["10.0.0.0/8"]}}
      - filter: api_key_auth
        keys: [{{sha256: {digest}, tenant: acme}}]
      - {{filter: rate_limit, mode: per_tenant, rate: 10, burst: 10}}
      - {{filter: rate_limit, mode: per_ip, rate: 10, burst: 10}}
      - {{filter: concurrency_limit, max_requests: 10}}
      - {{filter: body_limit, max_bytes: 1000}}
      - {{filter: json_body_field, field: model, header: X-Model}}
      - filter: model_authorization
        tenants: {{acme: ["*"]}}
      - {{filter: headers, response_set: [{{name: X-A, value: b}}]}}
      - {{filter: static_response, status: 204, conditions: [{{when: {{path: /empty}}}}]}}
      - {{filter: timeout, timeout_ms: 1000}}
      - filter: router
        routes: [{{path_prefix: /, cluster: east}}]
        conditions: [{{unless: {{path: /grid}}}}, {{unless: {{path: /older}}}}, {{unless: {{path: /provider}}}}]
      - filter: grid_route
        overlay_file: {overlay}
        affinity: {{secret_file: {secret}}}
        conditions: [{{when: {{path: /grid}}}}]
      - filter: intelligent_route
        local_site: here
        candidates: [{{name: m, site: here, cluster: east}}]
        conditions: [{{when: {{path: /older}}}}]
      - filter: provider_route
        provider_id: here
        routes: [{{candidate_id: c, model: m, paths: [/provider], cluster: east}}]
        conditions: [{{when: {{path: /provider}}}}]
      - filter: circuit_breaker
        clusters: [{{name: east, consecutive_failures: 1, recovery_window_secs: 1}}]
      - filter: credential_inject
        credentials: [{{name: sim, file: {token}}}]
        default: default/sim/token
      - filter: load_balancer
clusters:
  - {{name: east, endpoints: ["127.0.0.1:9"]}}
"""


def request(target: str, key: str) -> Request:
    made = Request()
    made.method, made.target, made.host = b"POST", target.encode(), b"api.grid.test"
    made.body = b'{"model":"m","mod\\u0065ls":[]}'
    made.declared_length = len(made.body)
    made.fields = {
        b"authorization": f"Bearer {key}".encode(),
        b"x-forwarded-for": b"10.0.0.1",
        b"x-ai-x": b"1",
        b"x-praxis-session-id": b"conversation-7",
        b"x-ai-routing-candidate": b"c",
        b"x-ai-routing-request-id": b"r",
        b"x-ai-routing-revision": b"1",
    }
    return made


@pytest.fixture
def chain(tmp_path: Path) -> tuple[Chain, Peer]:
    authority = Authority(tmp_path)
    leaf = authority.leaf("edge", organizations=("grid",))
    (tmp_path / "token").write_text("t")
    (tmp_path / "secret").write_bytes(bytes(32))
    near, far = (candidate(site, name="m", cluster="east", rank=n) for n, site in enumerate(("near", "far")))
    written = {"generated_at": "2026-01-01T00:00:00Z", "valid_until": "2026-01-01T01:00:00Z"}
    (tmp_path / "overlay").write_bytes(encoded(document([near, far], **written)))
    text = TEXT.format(
        leaf=leaf.certificate,
        key=leaf.key,
        ca=authority.path,
        digest=hashlib.sha256(b"key").hexdigest(),
        token=tmp_path / "token",
        overlay=tmp_path / "overlay",
        secret=tmp_path / "secret",
    )
    made = built(write(tmp_path, text)).chains["main"]
    return made, Peer("192.0.2.1", 1, secure=True, certificate=leaf.der)


def test_every_filter_is_in_the_chain(chain: tuple[Chain, Peer]) -> None:
    assert set(FILTERS) <= {step.name for step in chain[0].steps}


@pytest.mark.parametrize(
    ("target", "key", "status"),
    [
        pytest.param("/v1/chat", "key", 200, id="served"),
        pytest.param("/empty", "key", 204, id="answered here"),
        pytest.param("/v1/chat", "wrong", 401, id="refused"),
        pytest.param("/v1/chat", "key", 502, id="failed upstream"),
        pytest.param("/grid", "key", 200, id="routed by the overlay with a session"),
        pytest.param("/older", "key", 200, id="routed by static candidates"),
        pytest.param("/provider", "key", 200, id="routed by the provider's map"),
    ],
)
def test_no_filter_touches_the_outside(chain: tuple[Chain, Peer], target: str, key: str, status: int) -> None:
    steps, peer = chain
    exchange = Exchange(steps, request(target, key), peer, lambda: 1.0)
    with guarded():
        response = exchange.on_head()
        if response is None:
            outcome = exchange.on_body()
            assert exchange.upstream is outcome
            if status == 502:
                response = exchange.on_failed(RemoteFault(Cause.RESET, unsent=False))
        reply = Reply(response.status if response else 200, list(response.fields) if response else [])
        exchange.on_reply(reply)
        exchange.on_end(End.COMPLETE, 0)
    assert reply.status == status
    assert exchange.tenant == (None if key == "wrong" else "acme")


def test_the_next_request_after_a_failure_touches_nothing_either(chain: tuple[Chain, Peer]) -> None:
    """The way that leaves aside who could not be reached."""
    steps, peer = chain
    first, second = (Exchange(steps, request("/grid", "key"), peer, lambda: 1.0) for _ in range(2))
    with guarded():
        first.on_head()
        first.on_body()
        first.on_unsent(RemoteFault(Cause.REFUSED, unsent=True))
        second.on_head()
        outcome = second.on_body()
        second.on_reply(Reply(200, []))
        second.on_end(End.COMPLETE, 0)
    assert isinstance(outcome, Cluster)


def test_failing_over_touches_nothing_either(chain: tuple[Chain, Peer]) -> None:
    steps, peer = chain
    exchange = Exchange(steps, request("/grid", "key"), peer, lambda: 1.0)
    with guarded():
        assert exchange.on_head() is None
        exchange.on_body()
        tried = exchange.candidate
        other = exchange.on_unsent(RemoteFault(Cause.REFUSED, unsent=True))
        exchange.on_end(End.COMPLETE, 0)
    assert isinstance(other, Cluster)
    assert other.name == "east"  # it serves both candidates
    assert exchange.candidate != tried
