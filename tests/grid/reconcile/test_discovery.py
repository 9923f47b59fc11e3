"""Sites come from the mesh only where a network says so, never with trust, and addresses follow their gossip."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from grid.contract.names import LABEL_AUTO_DISCOVER, LABEL_AUTO_DISCOVERED
from grid.crd.network import read_network
from grid.crd.site import read_site
from grid.reconcile.actions import WriteSite
from grid.reconcile.discovery import site_writes
from grid.reconcile.sites import standing
from grid.reconcile.world import Member, Membership, SiteFacts, World
from tests.kit.resources import network, resource, site

OPEN = {LABEL_AUTO_DISCOVER: "true"}
FACTS = SiteFacts("combined", "us-east", "1a", "us", "new.grid.internal")
ALIVE = Member(Membership.ALIVE, 0.0, "10.0.0.9:8443", FACTS)
FOUND = {
    "gridNetworkRef": "production",
    "role": "combined",
    "region": "us-east",
    "zone": "1a",
    "sovereigntyZone": "us",
    "gatewayEndpoint": {
        "address": "10.0.0.9:8443",
        "tls": {"mode": "Mutual", "serverName": "new.grid.internal"},
    },
}


def world(
    *sites: dict[str, Any], name: str = "new", member: Member = ALIVE, labels: dict[str, str] | None = None
) -> World:
    return World(
        site="here",
        networks=(
            read_network(resource("GridNetwork", "production", network()["spec"], labels=labels or {})),
        ),
        sites=tuple(read_site(each) for each in sites),
        members={("production", name): member},
    )


def test_a_new_member_becomes_a_site_that_is_not_trusted() -> None:
    (write,) = site_writes(world(labels=OPEN))
    assert (write.name, write.spec) == ("new", FOUND)
    assert write.labels[LABEL_AUTO_DISCOVERED] == "true"
    made = read_site(resource("GridSite", "new", dict(write.spec), labels=dict(write.labels)))
    assert standing(made, world(labels=OPEN)).reason == "TrustMaterialMissing"
    after = dataclasses.replace(world(labels=OPEN), sites=(made,))
    assert list(site_writes(after)) == [], "once it is there, nothing is to be done"


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(world(), id="the network does not say so"),
        pytest.param(world(labels={LABEL_AUTO_DISCOVER: "no"}), id="the network says no"),
        pytest.param(world(name="here", labels=OPEN), id="it is ourselves"),
        pytest.param(world(name="Not_A_Name", labels=OPEN), id="no object could have its name"),
        pytest.param(
            world(member=dataclasses.replace(ALIVE, state=Membership.DEAD), labels=OPEN), id="it is dead"
        ),
        pytest.param(
            world(site("new", gridNetworkRef="other"), labels=OPEN), id="it is another network's site"
        ),
        pytest.param(
            world(site("new", egress={"address": "old:1"}), labels=OPEN),
            id="somebody names its address by the older name",
        ),
        pytest.param(
            world(site("new", gatewayEndpoint=FOUND["gatewayEndpoint"])),
            id="its address is known already",
        ),
        pytest.param(
            world(site("new"), member=dataclasses.replace(ALIVE, address="javascript:x")),
            id="no address at all",
        ),
    ],
)
def test_nothing_is_written(seen: World) -> None:
    assert list(site_writes(seen)) == []


def test_of_a_declared_site_only_the_address_is_ours() -> None:
    declared = site("new", gatewayEndpoint={"address": "old:1", "tls": {"serverName": "x"}})
    assert list(site_writes(world(declared))) == [
        WriteSite("new", {"gatewayEndpoint": {"address": "10.0.0.9:8443"}}, {})
    ]


def test_a_declared_site_without_a_name_for_its_certificate_is_given_what_it_gossips() -> None:
    named = {"address": "10.0.0.9:8443", "tls": {"serverName": "new.grid.internal"}}
    assert list(site_writes(world(site("new")))) == [WriteSite("new", {"gatewayEndpoint": named}, {})]
    moved = dataclasses.replace(ALIVE, address="10.0.0.10:8443")
    (write,) = site_writes(world(site("new", gatewayEndpoint=named), member=moved))
    assert write.spec["gatewayEndpoint"] == {**named, "address": "10.0.0.10:8443"}, (
        "with the name it was given"
    )


@pytest.mark.parametrize(
    ("own", "address", "written"),
    [
        pytest.param(site("here"), "10.1.1.1:8443", ["10.1.1.1:8443"], id="not said yet"),
        pytest.param(
            site("here", gatewayEndpoint={"address": "old:1"}), "10.1.1.1:8443", ["10.1.1.1:8443"], id="moved"
        ),
        pytest.param(site("here", gatewayEndpoint={"address": "a:1"}), "a:1", [], id="said already"),
        pytest.param(site("here", egress={"address": "old:1"}), "a:1", [], id="named by a person"),
        pytest.param(site("here"), "", [], id="a Service without an address"),
    ],
)
def test_our_own_address_is_that_of_our_gateways_service(
    own: dict[str, Any], address: str, written: list[str]
) -> None:
    found = World(site="here", sites=(read_site(own),), gateway=address)
    assert [write.spec["gatewayEndpoint"]["address"] for write in site_writes(found)] == written


def test_a_found_site_follows_what_it_gossips() -> None:
    made = resource("GridSite", "new", FOUND, labels={LABEL_AUTO_DISCOVERED: "true"})
    moved = dataclasses.replace(ALIVE, address="10.0.0.10:8443")
    (write,) = site_writes(world(made, member=moved))
    assert write.spec["gatewayEndpoint"]["address"] == "10.0.0.10:8443"
    bare = resource(
        "GridSite", "new", {"gridNetworkRef": "production"}, labels={LABEL_AUTO_DISCOVERED: "true"}
    )
    assert [write.spec for write in site_writes(world(bare))] == [FOUND]


def test_what_a_member_does_not_say_is_left_out() -> None:
    silent = dataclasses.replace(ALIVE, address="", facts=SiteFacts(role="queen"))
    (write,) = site_writes(world(member=silent, labels=OPEN))
    assert write.spec == {"gridNetworkRef": "production", "role": "provider"}
