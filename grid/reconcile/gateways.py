"""One gateway's overlay: whose view it is, what is rendered, how far it has come.

    desired -> rendered -> distributed -> accepted -> serving

The first three are ours to know; the last two a gateway says itself. A ConfigMap somebody edited is simply
not what it should be, and is written again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grid.contract.names import INFERENCE_MODEL, overlay_configmap
from grid.contract.overlay import Overlay, Scope, is_identifier
from grid.contract.parse import parse
from grid.contract.reasons import OverlayRejected
from grid.contract.status import GatewayStatus, Loaded
from grid.contract.write import write
from grid.crd.durations import seconds
from grid.crd.network import GatewayRef, GridNetwork
from grid.crd.site import GridSite
from grid.overlay.render import Memo, render
from grid.overlay.target import DEFAULT_MAX_AGE_S, Rendered, Target
from grid.reconcile.actions import WriteOverlay
from grid.reconcile.world import Stored
from grid.scoring.admission import Reason
from grid.scoring.distance import NOWHERE, Place, distance
from grid.scoring.offer import Freshness, Offer, Profile, View
from grid.scoring.rank import Preference
from grid.scoring.signals import LOCALITY, Category

# RFC 1123 subdomain, as Kubernetes wants an object's name.
_IN_CLUSTER = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
# A label is a count or `sha256:` and 64 digits.
_LONGEST_LABEL = 80

Offers = Mapping[tuple[str, str], Sequence[Offer]]


@dataclass(frozen=True, slots=True)
class Desk:
    """What is kept of one gateway between two decisions: the last overlay with its text, and rankings.

    distributed: the revision its ConfigMap last held, "" if none is known.
    counted: how far the revisions had come where the overlay itself is lost; 0 if it is not.
    settled: its ConfigMap held the text, all of it, when it was last looked at.
    """

    overlay: Overlay | None = None
    text: str = ""
    distributed: str = ""
    counted: int = 0
    settled: bool = False
    memo: Memo = field(default_factory=Memo)


@dataclass(frozen=True, slots=True)
class Gateway:
    """One of a network's gateways, with whose view it has."""

    network: GridNetwork
    ref: GatewayRef
    target: Target

    @property
    def configmap(self) -> tuple[str, str]:
        return (self.ref.namespace, overlay_configmap(self.network.metadata.name, self.ref.name))

    @property
    def site_known(self) -> bool:
        return self.target.view.place is not NOWHERE


@dataclass(frozen=True, slots=True)
class Outcome:
    """A gateway after a decision. write: its ConfigMap, if that is not right. phase: the last step proved.

    failed: why the last attempt to write it came to nothing; "" if it did not.
    desk: for the next decision. accepted, serving: revisions as the gateway calls them, "" if it says none.
    """

    gateway: Gateway
    rendered: Rendered
    desk: Desk
    phase: str
    write: WriteOverlay | None
    failed: str = ""
    accepted: str = ""
    serving: str = ""


def place_of(site: GridSite) -> Place:
    spec = site.spec
    return Place(site.metadata.name, spec.region or "", spec.zone or "", spec.sovereignty_zone or "")


def gateway_of(network: GridNetwork, ref: GatewayRef, sites: Mapping[str, GridSite]) -> Gateway:
    """Whose overlay *ref* is. A site that does not exist is nowhere: neutral, never local."""
    name = ref.local_site_name or network.metadata.name
    site = sites.get(name)
    view = View(
        place=place_of(site) if site else NOWHERE,
        labels=site.metadata.labels if site else {},
        profile=Profile(ref.profile),
    )
    target = Target(
        grid_id=network.grid_id,
        network=network.metadata.name,
        gateway=ref.name,
        site=name,
        view=view,
        max_age_s=seconds(ref.max_age, DEFAULT_MAX_AGE_S),
    )
    return Gateway(network, ref, target)


def is_nameable(gateway: Gateway) -> bool:
    """Whether it can be named in an overlay, and a ConfigMap after it."""
    target, (namespace, name) = gateway.target, gateway.configmap
    named = (target.grid_id, target.network, target.gateway, target.site)
    return all(map(is_identifier, named)) and all(map(_IN_CLUSTER.fullmatch, (namespace, name)))


def read_stored(stored: Stored | None, target: Target) -> Overlay | None:
    """The stored overlay, if it is one of this target; what is not is as good as none."""
    if stored is None or stored.text is None:
        return None
    try:
        return parse(stored.text.encode(), expected=Scope(target.network, target.gateway, target.site))
    except (OverlayRejected, UnicodeEncodeError):
        return None


def take_over(gateway: Gateway, stored: Stored | None) -> Desk:
    """The desk of a gateway not yet served by this process: it goes on from what is stored."""
    overlay = read_stored(stored, gateway.target)
    if stored is None or overlay is None:
        return Desk(counted=stored.revision if stored else 0)
    return Desk(overlay, stored.text or "", overlay.label, settled=True)


def serve(
    gateway: Gateway,
    offers: Offers,
    preference: Preference,
    desk: Desk,
    stored: Stored | None,
    status: GatewayStatus | None,
    now: float,
) -> Outcome:
    """Renders for one gateway and says what is to be written."""
    rendered = render(gateway.target, offers, preference, desk.overlay, now, desk.memo)
    if desk.overlay is None and desk.counted:
        counted = replace(rendered.overlay, revision=desk.counted + 1)
        rendered = replace(rendered, overlay=counted)
    overlay = rendered.overlay
    text = desk.text if desk.overlay is overlay else write(overlay, rendered.texts).decode()
    is_stored = stored is not None and stored.text == text
    # Stamped anew the content is the same: it is on its way, and the one before it is there.
    was_stored = stored is not None and stored.text == desk.text and _same_content(desk.overlay, overlay)
    if stored is not None and is_stored:
        text = stored.text or ""  # one copy of it is enough
    is_distributed = is_stored or was_stored
    is_changed = desk.settled and (stored is None or stored.text != desk.text)
    distributed = overlay.label if is_distributed else desk.distributed
    return Outcome(
        gateway=gateway,
        rendered=rendered,
        desk=Desk(overlay, text, distributed, settled=is_stored, memo=desk.memo),
        phase=_phase(overlay, is_distributed=is_distributed, status=status),
        write=None if is_stored else _configmap(gateway, overlay, text, restored=is_changed),
        accepted=_label(status.accepted) if status else "",
        serving=_label(status.serving) if status else "",
    )


def _configmap(gateway: Gateway, overlay: Overlay, text: str, *, restored: bool) -> WriteOverlay:
    namespace, name = gateway.configmap
    owner = gateway.network.metadata
    return WriteOverlay(
        namespace=namespace,
        name=name,
        network=owner.name,
        gateway=gateway.ref.name,
        owner=(owner.name, owner.uid),
        revision=overlay.revision or 0,
        digest=overlay.digest,
        text=text,
        restored=restored,
    )


def _label(loaded: Loaded | None) -> str:
    return loaded.label[:_LONGEST_LABEL] if loaded else ""


def _same_content(before: Overlay | None, overlay: Overlay) -> bool:
    return before is not None and before.digest == overlay.digest


def _phase(overlay: Overlay, *, is_distributed: bool, status: GatewayStatus | None) -> str:
    if not is_distributed:
        return "Rendered"
    if status is None or status.accepted is None or status.accepted.digest != overlay.digest:
        return "Distributed"
    is_serving = status.serving is not None and status.serving.digest == overlay.digest
    return "Serving" if is_serving else "Accepted"


def with_ghosts(
    offers: Offers, stored: Overlay, sites: Mapping[str, GridSite], preference: Preference, view: View
) -> Offers:
    """*offers* and, for each stored candidate nothing is known of yet, an offer made from it.

    A new operator has not heard the mesh; what it has not heard of is not gone.
    """
    known = {(offer.place.site, offer.cluster) for same in offers.values() for offer in same}
    found = {capability: list(same) for capability, same in offers.items()}
    for candidate in stored.candidates:
        if candidate.kind != INFERENCE_MODEL or (candidate.site, candidate.cluster) in known:
            continue
        site = sites.get(candidate.site)
        place = place_of(site) if site else Place(candidate.site)
        locality = preference.weights.locality * LOCALITY[Category.REMOTE][distance(view.place, place)]
        ghost = Offer(
            kind=candidate.kind,
            name=candidate.name,
            place=place,
            cluster=candidate.cluster,
            stable_id=candidate.stable_id,
            category=Category.REMOTE,
            freshness=Freshness.FRESH if candidate.fresh else Freshness.STALE,
            admission=candidate.admission,
            reason=Reason.AWAITING_SAMPLE,
            base=(candidate.score or locality) - locality,
            credential=candidate.credential,
        )
        found.setdefault((ghost.kind, ghost.name), []).append(ghost)
    return found
