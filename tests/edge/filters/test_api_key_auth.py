"""A key becomes its tenant and goes no further."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from edge.filters.api_key_auth import ApiKeyAuth
from edge.setup import Unusable
from edge.wire.ports import Peer
from tests.kit.filter_bench import Bench, field_of, status_of


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


KEYS = [{"sha256": digest("key-a"), "tenant": "acme"}, {"sha256": digest("key-a2"), "tenant": "acme"}]


@pytest.mark.parametrize(
    ("sent", "tenant"),
    [
        pytest.param("Bearer key-a", "acme", id="a key"),
        pytest.param("Bearer key-a2", "acme", id="a tenant's second key, while the first is replaced"),
        pytest.param("bearer  key-a ", "acme", id="the scheme in any case, with spaces"),
        pytest.param("Bearer key-b", None, id="an unknown key"),
        pytest.param("Bearer " + digest("key-a"), None, id="the hash is not the key"),
        pytest.param("Basic key-a", None, id="another scheme"),
        pytest.param("key-a", None, id="no scheme"),
        pytest.param("Bearer ", None, id="nothing"),
        pytest.param("Bearer " + "x" * 600, None, id="something huge"),
        pytest.param(None, None, id="no header"),
    ],
)
def test_keys(sent: str | None, tenant: str | None) -> None:
    bench = Bench()
    fields = {} if sent is None else {"Authorization": sent}
    exchange = bench.exchange(bench.build(ApiKeyAuth, keys=KEYS), fields=fields)
    response = exchange.on_head()
    assert (exchange.tenant, status_of(response)) == (tenant, None if tenant else 401)
    assert field_of(exchange, "authorization") is None
    if response is not None:
        assert (b"www-authenticate", b"Bearer") in response.fields


def test_another_header_takes_the_key_alone() -> None:
    bench = Bench()
    exchange = bench.exchange(
        bench.build(ApiKeyAuth, keys=KEYS, header="X-Api-Key"),
        fields={"X-Api-Key": "key-a", "Authorization": "Bearer not for the next hop"},
    )
    assert exchange.on_head() is None
    assert field_of(exchange, "authorization") is None
    assert (exchange.tenant, field_of(exchange, "x-api-key")) == ("acme", None)


@pytest.mark.parametrize(
    ("address", "sent", "tenant"),
    [
        pytest.param("127.0.0.1", None, "demo", id="loopback without a key"),
        pytest.param("127.0.0.1", "Bearer wrong", None, id="a wrong key is not forgiven"),
        pytest.param("192.0.2.1", None, None, id="from elsewhere"),
        pytest.param("", None, None, id="from nowhere"),
    ],
)
def test_the_demo_tenant_is_for_loopback(address: str, sent: str | None, tenant: str | None) -> None:
    bench = Bench()
    fields = {} if sent is None else {"Authorization": sent}
    exchange = bench.exchange(
        bench.build(ApiKeyAuth, keys=KEYS, demo_tenant="demo"), fields=fields, peer=Peer(address)
    )
    exchange.on_head()
    assert exchange.tenant == tenant


def test_keys_come_from_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": KEYS}))
    bench = Bench()
    exchange = bench.exchange(
        bench.build(ApiKeyAuth, file=str(file)), fields={"Authorization": "Bearer key-a"}
    )
    assert exchange.on_head() is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "cannot be read", id="no file"),
        pytest.param("{", "is not JSON", id="not JSON"),
        pytest.param('{"keys": [{"sha256": "canary", "tenant": "a"}]}', "see keys.0.sha256", id="not a hash"),
        pytest.param('{"keys": []}', "holds no key", id="no keys"),
        pytest.param(
            json.dumps({"keys": [KEYS[0], {"sha256": digest("key-a"), "tenant": "b"}]}),
            "two tenants",
            id="one key twice",
        ),
    ],
)
def test_what_is_no_key_file(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "keys.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(Unusable, match=said) as unusable:
        Bench().build(ApiKeyAuth, file=str(file))
    assert "canary" not in str(unusable.value)
