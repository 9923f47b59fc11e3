"""A site is Active only by proof; what is unknown keeps what was proved, what is wrong takes it away."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.crd.network import read_network
from grid.crd.site import GridSite, read_site
from grid.reconcile.sites import MOVES, Standing, standing
from grid.reconcile.world import UNREACHED, Identified, Member, Membership, Reach, Trust, World
from grid.scoring.health import Health, Phase
from tests.kit.resources import network, site

PINS = {"canonicalFingerprints": ["ab" * 32]}
ENDPOINT = {"address": "east:8443", "tls": {"serverName": "east.grid.internal"}}
WORLD = World(site="here")


def east(before: str | None = None, **spec: Any) -> GridSite:
    """A site that can be asked who it is, unless a part of that is None; *before* is the phase it had."""
    given: dict[str, Any] = {"gatewayEndpoint": ENDPOINT, "trust": PINS, **spec}
    if before is not None:
        given["status"] = {"phase": before}
    return read_site(site("east", **{name: value for name, value in given.items() if value is not None}))


def reach(found: Trust, failures: int = 0) -> Reach:
    phase = Phase.UNAVAILABLE if failures >= 3 else Phase.AVAILABLE
    return Reach(found, Health(phase, 0.0, failures=failures))


def world(found: Reach | None = None, member: Membership | None = None) -> World:
    return dataclasses.replace(
        WORLD,
        reached={} if found is None else {"east": found},
        members={} if member is None else {("production", "east"): Member(member, 0.0)},
    )


def meshed(seen: World) -> World:
    """In a network with a mesh."""
    key = {"tls": {"swimKeyRef": {"namespace": "grid-system", "name": "grid-swim-key"}}}
    return dataclasses.replace(seen, networks=(read_network(network("production", **key)),))


@pytest.mark.parametrize(
    ("what", "seen", "phase", "reason"),
    [
        pytest.param(
            east(gatewayEndpoint=None), world(), "Pending", "AwaitingDiscovery", id="nothing is known"
        ),
        pytest.param(
            east(gatewayEndpoint=None),
            world(member=Membership.ALIVE),
            "Discovered",
            "GatewayAddressMissing",
            id="in the mesh, without an address",
        ),
        pytest.param(east(), world(), "Connecting", "AwaitingProbe", id="not probed yet"),
        pytest.param(east(trust=None), world(), "Connecting", "TrustMaterialMissing", id="no trust at all"),
        pytest.param(
            east(trust={"certFingerprint": "aa:bb"}),
            world(reach(Trust.VERIFIED)),
            "Connecting",
            "TrustMaterialInvalid",
            id="the older kind of pin",
        ),
        pytest.param(
            east(trust={**PINS, "certFingerprint": "aa:bb"}),
            world(reach(Trust.VERIFIED)),
            "Connecting",
            "TrustMaterialInvalid",
            id="both kinds of pin",
        ),
        pytest.param(
            east(gatewayEndpoint={"address": "east:8443"}),
            world(),
            "Connecting",
            "TrustMaterialMissing",
            id="no name to verify it by",
        ),
        pytest.param(
            east(gatewayEndpoint={"address": "east:8080", "tls": {"mode": "Plaintext"}}),
            world(reach(Trust.VERIFIED)),
            "Connecting",
            "IdentityVerificationRequired",
            id="plaintext never proves anything",
        ),
        pytest.param(east(), world(reach(Trust.VERIFIED)), "Active", "TlsVerified", id="verified"),
        pytest.param(
            east(gatewayEndpoint=None, egress=ENDPOINT),
            world(reach(Trust.VERIFIED)),
            "Active",
            "TlsVerified",
            id="verified at the address under its older name",
        ),
        pytest.param(
            east("Active"),
            world(reach(Trust.PIN_MISMATCH)),
            "Connecting",
            "PinMismatch",
            id="another certificate",
        ),
        pytest.param(
            east(),
            world(reach(Trust.CONNECTION_FAILED)),
            "Connecting",
            "ConnectionFailed",
            id="never reached yet",
        ),
        pytest.param(
            east("Active"),
            world(reach(Trust.CONNECT_TIMEOUT, 2)),
            "Active",
            "TlsVerified",
            id="two probes lost",
        ),
        pytest.param(
            east("Active"),
            world(reach(Trust.CONNECT_TIMEOUT, 3)),
            "Unreachable",
            "ConnectTimeout",
            id="three probes lost",
        ),
        pytest.param(
            east("Active"),
            world(reach(Trust.CONNECTION_FAILED, 1), Membership.DEAD),
            "Unreachable",
            "ConnectionFailed",
            id="dead in the mesh and one probe lost",
        ),
        pytest.param(
            east("Active"),
            world(reach(Trust.VERIFIED), Membership.DEAD),
            "Active",
            "TlsVerified",
            id="dead in the mesh, but it proves itself",
        ),
        pytest.param(
            east("Unreachable"),
            world(reach(Trust.CONNECTION_FAILED, 1)),
            "Unreachable",
            "ConnectionFailed",
            id="still unreachable, also by a new operator",
        ),
        pytest.param(
            east("Unreachable"), world(reach(Trust.VERIFIED)), "Active", "TlsVerified", id="back again"
        ),
        pytest.param(
            east("Active"), world(), "Active", "TlsVerified", id="a new operator keeps what was proved"
        ),
        pytest.param(
            east("Active"),
            world(reach(Trust.VERIFIED), Membership.LEFT),
            "Left",
            "Left",
            id="it said goodbye",
        ),
        pytest.param(
            east("Left"),
            world(reach(Trust.VERIFIED), Membership.ALIVE),
            "Active",
            "TlsVerified",
            id="it came again",
        ),
        pytest.param(
            east("Left"),
            meshed(world(reach(Trust.VERIFIED))),
            "Left",
            "Left",
            id="it said goodbye to the operator before this one",
        ),
        pytest.param(
            east("Left"),
            world(reach(Trust.VERIFIED)),
            "Active",
            "TlsVerified",
            id="it said goodbye in a mesh that is no more",
        ),
        pytest.param(
            east(role="edge", gatewayEndpoint=None),
            world(reach(Trust.VERIFIED)),
            "Active",
            "TlsVerified",
            id="an edge, by its gateway's certificate",
        ),
        pytest.param(
            east(role="edge", gatewayEndpoint=None),
            world(),
            "Connecting",
            "AwaitingProbe",
            id="an edge waits for its own proof and no peer",
        ),
    ],
)
def test_standing(what: GridSite, seen: World, phase: str, reason: str) -> None:
    found = standing(what, seen)
    assert (found.phase, found.reason) == (phase, reason)


@pytest.mark.parametrize(
    ("identity", "before", "phase", "reason"),
    [
        pytest.param(None, None, "Pending", "AwaitingIdentityCheck", id="not checked yet"),
        pytest.param(None, "Active", "Active", "AwaitingIdentityCheck", id="not checked yet, but before"),
        pytest.param(
            Identified(Trust.VERIFIED),
            None,
            "Active",
            "IdentityVerified",
            id="our certificate is the pinned one",
        ),
        pytest.param(
            Identified(Trust.PIN_MISMATCH, "another"),
            "Active",
            "Connecting",
            "PinMismatch",
            id="our certificate is another",
        ),
    ],
)
def test_our_own_site_waits_for_no_peer(
    identity: Identified | None, before: str | None, phase: str, reason: str
) -> None:
    here = dataclasses.replace(WORLD, site="east", identity=identity)
    found = standing(east(before, gatewayEndpoint=None, trust=None), here)
    assert (found.phase, found.reason) == (phase, reason)
    assert found.message == (identity.detail if identity else "")


REACHES = st.none() | st.builds(reach, st.sampled_from(Trust), st.integers(0, 4))
SPECS = st.sampled_from(
    [
        {},
        {"gatewayEndpoint": None},
        {"trust": None},
        {"gatewayEndpoint": {"address": "a:1", "tls": {"mode": "Plaintext"}}},
    ]
)


@given(st.sampled_from(list(MOVES)), SPECS, REACHES, st.none() | st.sampled_from(Membership))
def test_a_phase_moves_only_where_the_table_lets_it(
    before: str, spec: dict[str, Any], found: Reach | None, member: Membership | None
) -> None:
    after = standing(east(before, **spec), world(found, member))
    assert (
        after.phase == before
        or after.phase in MOVES[before]
        or after == Standing("Pending", "AwaitingDiscovery")
    )


@given(st.sampled_from(list(MOVES)), REACHES, st.none() | st.sampled_from(Membership))
def test_nothing_but_a_verified_certificate_makes_a_site_active(
    before: str, found: Reach | None, member: Membership | None
) -> None:
    after = standing(east(before), world(found, member))
    kept = before == "Active" and (found is None or found.found in UNREACHED)
    assert not after.verified or kept or (found is not None and found.found is Trust.VERIFIED)
