"""What is used to prove who we are has an end, and one valid certificate for each purpose is enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge.readiness_tls import Material, material
from tests.kit.certs import Authority
from tests.kit.edges import built, write

TEXT = """
listeners:
  - name: main
    address: "127.0.0.1:0"
    filter_chains: [main]
    tls: {{certificates: [{{cert_path: {leaf}, key_path: {key}}}]}}
filter_chains:
  - {{name: main, filters: [{{filter: static_response, status: 200}}]}}
clusters:
  - name: east
    endpoints: ["127.0.0.1:9"]
    tls:
      sni: east
      ca: {{ca_path: {ca}}}
      client_cert: {{cert_path: {shown}, key_path: {shown_key}}}
  - {{name: plain, endpoints: ["127.0.0.1:9"]}}
"""


@pytest.mark.parametrize(
    ("ends", "valid"),
    [
        pytest.param((), True, id="nothing needs one"),
        pytest.param(((11.0,),), True, id="valid"),
        pytest.param(((10.0,),), False, id="at its end"),
        pytest.param(((9.0, 11.0),), True, id="one of two has ended"),
        pytest.param(((11.0,), (9.0,)), False, id="one purpose is without"),
    ],
)
def test_valid(ends: tuple[tuple[float, ...], ...], valid: bool) -> None:
    assert Material(ends).is_valid(10.0) is valid


@pytest.mark.parametrize("expired", [False, True])
def test_listeners_and_the_way_to_providers_are_read(tmp_path: Path, expired: bool) -> None:
    authority = Authority(tmp_path)
    leaf, shown = authority.leaf("here"), authority.leaf("edge", expired=expired)
    text = TEXT.format(
        leaf=leaf.certificate, key=leaf.key, ca=authority.path, shown=shown.certificate, shown_key=shown.key
    )
    made = built(write(tmp_path, text))
    found = material(made)
    assert len(found.ends) == 2
    assert found.is_valid(1_800_000_000.0) is not expired
    leaf.certificate.unlink()
    assert material(made).is_valid(1_800_000_000.0) is not expired
