"""What a site says of itself comes from its resource, its Service and its certificate, and never a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grid.crd.site import read_site
from grid.mesh.lanes import SiteSaid
from grid.reconcile.own_place import Certificate, address_of, said_of
from tests.kit.certs import Authority
from tests.kit.resources import site


def service(*ingress: dict[str, str]) -> dict[str, Any]:
    return {"status": {"loadBalancer": {"ingress": list(ingress)}}}


@pytest.mark.parametrize(
    ("found", "address"),
    [
        pytest.param(service({"ip": "10.0.0.9"}), "10.0.0.9:8443", id="an address"),
        pytest.param(service({"hostname": "lb.example"}), "lb.example:8443", id="a name"),
        pytest.param(service({"ip": "fd00::1"}), "[fd00::1]:8443", id="an IPv6 address"),
        pytest.param(service({"ip": "10.0.0.9"}, {"ip": "10.0.0.8"}), "10.0.0.9:8443", id="the first of two"),
        pytest.param(service(), "", id="none yet"),
        pytest.param({"status": {"loadBalancer": None}}, "", id="nothing"),
        pytest.param({}, "", id="no status"),
    ],
)
def test_a_gateway_is_where_its_service_is(found: dict[str, Any], address: str) -> None:
    assert address_of(found, 8443) == address


def test_a_site_says_its_place_and_the_name_its_certificate_has() -> None:
    declared = read_site(site("here", "us-east", "edge", zone="1a", sovereigntyZone="us"))
    assert said_of(declared, "a.b") == SiteSaid("edge", "us-east", "1a", "us", "a.b")
    endpoint = {"address": "a:1", "tls": {"serverName": "named.by.a.person"}}
    assert (
        said_of(read_site(site("here", gatewayEndpoint=endpoint)), "a.b").server_name == "named.by.a.person"
    )
    assert said_of(None, "a.b") == SiteSaid(server_name="a.b")


def test_a_certificate_is_read_again_when_it_changes_and_never_a_key(tmp_path: Path) -> None:
    leaf = Authority(tmp_path).leaf("here", names=("here.grid.internal",))
    held, file = Certificate(tmp_path), tmp_path / "tls.crt"
    assert held.pem() == b""
    file.write_bytes(leaf.certificate.read_bytes())
    assert (held.pem(), held.server_name) == (leaf.certificate.read_bytes(), "here.grid.internal")
    fresh = tmp_path / "fresh"
    fresh.write_bytes(leaf.certificate.read_bytes() + leaf.key.read_bytes())
    fresh.replace(file)
    assert (held.pem(), held.server_name) == (b"", "")
    file.unlink()
    assert held.pem() == b""
