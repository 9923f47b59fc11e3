"""A verified certificate is let in when one peer's every field agrees with it."""

from __future__ import annotations

import datetime as dt
import hashlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import ValidationError

from edge.filters.peer_identity_trust import PeerIdentityTrust
from edge.wire.ports import Peer
from tests.kit.filter_bench import Bench, status_of

SERIAL = 0x1234
NAME = "edge-us-east.grid.internal"
SPIFFE = "spiffe://grid/edge-us-east"


def leaf(organization: str = "praxis-grid", uri: str | None = SPIFFE) -> bytes:
    """DER of a certificate nobody signed but itself; TLS has looked at the chain before a filter runs."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), SERIAL, start, start.replace(year=2036))
    if uri is not None:
        names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri), x509.DNSName(NAME)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


LEAF = leaf()
DIGEST = hashlib.sha256(LEAF).hexdigest()
OTHER = "0" * 64


@pytest.mark.parametrize(
    ("peers", "identity"),
    [
        pytest.param([{"cert_digest": DIGEST}], "peer-0", id="by digest"),
        pytest.param([{"organization": "praxis-grid"}], "peer-0", id="by organization"),
        pytest.param([{"spiffe_id": SPIFFE}], "peer-0", id="by SPIFFE id"),
        pytest.param([{"dns_name": NAME}], "peer-0", id="by DNS name"),
        pytest.param([{"dns_name": "grid.internal"}], None, id="the end of a DNS name"),
        pytest.param([{"serial_number": "4660"}], "peer-0", id="by serial number"),
        pytest.param([{"serial_number": "0x1234"}], "peer-0", id="by serial number in hex"),
        pytest.param(
            [{"cert_digest": DIGEST, "organization": "praxis-grid"}], "peer-0", id="all fields agree"
        ),
        pytest.param([{"cert_digest": DIGEST, "organization": "other"}], None, id="one field does not"),
        pytest.param(
            [{"cert_digest": OTHER}, {"spiffe_id": SPIFFE, "name": "east"}], "east", id="the second peer"
        ),
        pytest.param([{"cert_digest": OTHER}], None, id="nobody"),
        pytest.param([{"spiffe_id": f"{SPIFFE}-2"}], None, id="a longer SPIFFE id"),
    ],
)
def test_who_is_trusted(peers: list[dict[str, str]], identity: str | None) -> None:
    bench = Bench()
    made = bench.build(PeerIdentityTrust, trusted_peers=peers)
    for _ in range(2):  # the second answer is remembered
        exchange = bench.exchange(made, peer=Peer("192.0.2.1", secure=True, certificate=LEAF))
        assert status_of(exchange.on_head()) == (None if identity else 403)
        assert exchange.identity == identity


@pytest.mark.parametrize(
    "certificate",
    [
        pytest.param(None, id="none"),
        pytest.param(b"", id="empty"),
        pytest.param(b"not a certificate", id="not one"),
        pytest.param(LEAF[:-10], id="cut off"),
        pytest.param(leaf(organization="ai-grid", uri=None), id="another's, without names"),
    ],
)
def test_other_certificates(certificate: bytes | None) -> None:
    bench = Bench()
    made = bench.build(PeerIdentityTrust, trusted_peers=[{"organization": "praxis-grid"}])
    exchange = bench.exchange(made, peer=Peer("192.0.2.1", certificate=certificate))
    assert status_of(exchange.on_head()) == 403


@pytest.mark.parametrize(
    "peers",
    [
        pytest.param([], id="nobody"),
        pytest.param([{}], id="a peer without a field"),
        pytest.param([{"name": "east"}], id="a peer with only a name"),
        pytest.param([{"cert_digest": DIGEST.upper()}], id="capital digits"),
        pytest.param([{"cert_digest": "__EDGE_US_EAST_CERT_SHA256__"}], id="a placeholder"),
    ],
)
def test_what_is_no_peer(peers: list[dict[str, str]]) -> None:
    with pytest.raises(ValidationError):
        Bench().build(PeerIdentityTrust, trusted_peers=peers)
