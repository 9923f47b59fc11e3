"""A site's phase, from what is known of it now: its pins, its probes, its place in the mesh.

    Pending      nothing is known of it yet
    Discovered   the mesh knows it, its gateway's address is not known
    Connecting   it can be asked who it is, and has not proved it
    Active       its certificate is the pinned one
    Unreachable  it was Active, and has not answered for three probes
    Left         it said goodbye

What proves nothing never makes a site Active; a probe that fails to *reach* it, once or twice, does not take
that away; a certificate that is the wrong one does, at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from grid.crd.site import GridSite
from grid.reconcile.world import UNREACHED, Identified, Member, Membership, Reach, Trust, World
from grid.scoring.health import Phase

ACTIVE = "Active"
# Where each phase may go. From any, what proves itself is Active, and who says goodbye has Left.
MOVES: dict[str, frozenset[str]] = {
    "Pending": frozenset({"Discovered", "Connecting", "Active", "Left"}),
    "Discovered": frozenset({"Connecting", "Active", "Left"}),
    "Connecting": frozenset({"Discovered", "Active", "Left"}),
    "Active": frozenset({"Discovered", "Connecting", "Unreachable", "Left"}),
    "Unreachable": frozenset({"Discovered", "Connecting", "Active", "Left"}),
    "Left": frozenset({"Discovered", "Connecting", "Active"}),
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A site's phase with the reason for it. verified: it has proved who it is, and may be routed to."""

    phase: str
    reason: str
    message: str = ""

    @property
    def verified(self) -> bool:
        return self.phase == ACTIVE


def standing(site: GridSite, world: World) -> Standing:
    """What *site* is, in *world*."""
    before = site.status.phase if site.status else "Pending"
    member = world.members.get((site.spec.grid_network_ref, site.metadata.name))
    if _has_left(site, member, world):
        return Standing("Left", "Left", "it left the grid")
    if site.metadata.name == world.site:
        return _own(before, world.identity)
    unproved = _unproved(site, member)
    if unproved is not None:
        return unproved
    return _probed(before, world.reached.get(site.metadata.name), member)


def _has_left(site: GridSite, member: Member | None, world: World) -> bool:
    """A goodbye stands until the site is a member again, also for an operator that did not hear it. Without a
    mesh, nobody could come back."""
    if member is not None:
        return member.state is Membership.LEFT
    left = site.status is not None and site.status.phase == "Left"
    return left and world.has_mesh(site.spec.grid_network_ref) and site.metadata.name != world.site


def _own(before: str, identity: Identified | None) -> Standing:
    """Our own site is verified by our own certificate being the pinned one; it waits for no peer."""
    if identity is None:
        return Standing(before, "AwaitingIdentityCheck")
    if identity.found is Trust.VERIFIED:
        return Standing(ACTIVE, "IdentityVerified")
    return Standing("Connecting", identity.found, identity.detail)


def _unproved(site: GridSite, member: Member | None) -> Standing | None:
    """What keeps a site from being asked who it is; None if it can be."""
    trust = site.spec.trust
    endpoint = site.endpoint
    if endpoint is None and site.spec.role != "edge":
        if member is None:
            return Standing("Pending", "AwaitingDiscovery")
        return Standing("Discovered", "GatewayAddressMissing", "its gateway's address is not known yet")
    if endpoint is not None and endpoint.tls.mode == "Plaintext":
        return Standing("Connecting", "IdentityVerificationRequired", "plaintext proves nobody's identity")
    if trust is not None and trust.cert_fingerprint is not None:
        return Standing(
            "Connecting",
            Trust.TRUST_MATERIAL_INVALID,
            "certFingerprint proves nothing: use canonicalFingerprints",
        )
    if trust is None or trust.canonical_fingerprints is None:
        return Standing(
            "Connecting", Trust.TRUST_MATERIAL_MISSING, "no canonicalFingerprints to verify it by"
        )
    if endpoint is not None and endpoint.tls.server_name is None:
        return Standing("Connecting", Trust.TRUST_MATERIAL_MISSING, "no tls.serverName to verify it by")
    return None


def _probed(before: str, reach: Reach | None, member: Member | None) -> Standing:
    if reach is None:
        # A restarted operator has not probed yet; what was proved stands until then.
        return (
            Standing(ACTIVE, Trust.VERIFIED) if before == ACTIVE else Standing("Connecting", "AwaitingProbe")
        )
    if reach.found is Trust.VERIFIED:
        return Standing(ACTIVE, Trust.VERIFIED)
    if reach.found not in UNREACHED:
        return Standing("Connecting", reach.found, "its certificate was not accepted")
    if before not in {ACTIVE, "Unreachable"}:
        return Standing("Connecting", reach.found, "its gateway does not answer")
    lost = reach.health.phase is Phase.UNAVAILABLE or _is_dead(member)
    if before == "Unreachable" or lost:
        return Standing("Unreachable", reach.found, "its gateway does not answer")
    return Standing(ACTIVE, Trust.VERIFIED)


def _is_dead(member: Member | None) -> bool:
    return member is not None and member.state is Membership.DEAD
