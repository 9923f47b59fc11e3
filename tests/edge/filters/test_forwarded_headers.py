"""A client's word about itself counts only when a trusted proxy passed it on."""

from __future__ import annotations

import pytest

from edge.filters.forwarded_headers import ForwardedHeaders
from edge.wire.ports import Peer
from tests.kit.filter_bench import Bench, field_of

TRUSTED = ["10.0.0.0/8", "2001:db8::/32"]


@pytest.mark.parametrize(
    ("peer", "said", "client", "sent"),
    [
        pytest.param("192.0.2.7", "1.1.1.1", "192.0.2.7", "192.0.2.7", id="a stranger is not believed"),
        pytest.param("10.0.0.1", "1.1.1.1", "1.1.1.1", "1.1.1.1, 10.0.0.1", id="a trusted proxy is"),
        pytest.param(
            "10.0.0.1", "9.9.9.9, 1.1.1.1", "1.1.1.1", "9.9.9.9, 1.1.1.1, 10.0.0.1", id="the last stranger"
        ),
        pytest.param(
            "10.0.0.1", "1.1.1.1, 10.0.0.2", "1.1.1.1", "1.1.1.1, 10.0.0.2, 10.0.0.1", id="through two"
        ),
        pytest.param(
            "10.0.0.1", "1.1.1.1, rubbish", "10.0.0.1", "1.1.1.1, rubbish, 10.0.0.1", id="stops at rubbish"
        ),
        pytest.param("10.0.0.1", None, "10.0.0.1", "10.0.0.1", id="a proxy that says nothing"),
        pytest.param("2001:db8::1", "1.1.1.1", "1.1.1.1", "1.1.1.1, 2001:db8::1", id="an IPv6 proxy"),
        pytest.param(
            "::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1", "1.1.1.1, ::ffff:10.0.0.1", id="a mapped address"
        ),
    ],
)
def test_whose_address_it_is(peer: str, said: str | None, client: str, sent: str) -> None:
    bench = Bench()
    fields = {} if said is None else {"X-Forwarded-For": said}
    exchange = bench.exchange(
        bench.build(ForwardedHeaders, trusted_proxies=TRUSTED), fields=fields, peer=Peer(peer)
    )
    exchange.on_head()
    assert (exchange.address, field_of(exchange, "x-forwarded-for")) == (client, sent)


def test_proto_and_host_are_ours_unless_a_proxy_is_trusted() -> None:
    bench = Bench()
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil", "Forwarded": "for=1.1.1.1"}
    stranger = bench.exchange(bench.build(ForwardedHeaders), fields=forged)
    stranger.on_head()
    assert [field_of(stranger, n) for n in ("x-forwarded-proto", "x-forwarded-host", "forwarded")] == [
        "http",
        "api.grid.test",
        None,
    ]
    proxied = bench.exchange(
        bench.build(ForwardedHeaders, trusted_proxies=TRUSTED), fields=forged, peer=Peer("10.0.0.1")
    )
    proxied.on_head()
    assert field_of(proxied, "x-forwarded-proto") == "https"


def test_the_standard_field_is_written_when_asked_for() -> None:
    bench = Bench()
    exchange = bench.exchange(
        bench.build(ForwardedHeaders, use_standard_header=True), peer=Peer("2001:db8::9", secure=True)
    )
    exchange.on_head()
    assert field_of(exchange, "forwarded") == 'for="[2001:db8::9]";proto=https;host="api.grid.test"'
