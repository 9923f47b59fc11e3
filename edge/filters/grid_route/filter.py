"""Sends a request to the candidate that the Grid's overlay and the session's affinity choose.

    model, tenant, session  ->  edge.routing.place  ->  cluster, hop fields, and who is next if it fails

The decision is `edge.routing`'s; this turns requests into its values and its reasons into answers. It also
answers `GET /v1/models`, from the same snapshot. Nothing is read on a request: the overlay's file is looked
at when the chain is built and by whoever watches it (`OverlayFile.look`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Reply, Response, Traits, refuse
from edge.filters.grid_route.options import AffinityOptions, Options
from edge.filters.grid_route.record import Records
from edge.filters.grid_route.routing import Routing
from edge.filters.grid_route.sources import overlay_file, secrets, static
from edge.filters.grid_route.trip import Trip
from edge.listing import Granted, listing
from edge.overlay import OverlayFile
from edge.routing.accept import View
from edge.routing.affinity import BadSession, read_session
from edge.routing.bindings import Bindings, Limits
from edge.routing.cooling import Cooling
from edge.routing.coverage import routable
from edge.routing.decision import Reason
from edge.routing.place import Rules, Session
from edge.routing.select import Policy, Spread
from edge.routing.snapshot import Snapshot
from edge.setup import Setup, Unusable

_STRIPPED = (b"x-ai-routing-", b"x-grid-peer-")
_MODELS = b"/v1/models"
_REMEMBERED = 1024
_MAX_NAME = 64  # bytes


class _Kind:
    """What the catalog asks."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options


@dataclass(frozen=True, slots=True, repr=False)
class GridRoute(_Kind):
    """file: None with static candidates. affinity: None when it is off. header: the session's, as fields have
    it. harmless: names of fields looked at before, that claim nothing of a route."""

    options: Options
    file: OverlayFile | None
    view: View
    routing: Routing
    affinity: AffinityOptions | None
    header: bytes
    traits: Traits
    harmless: set[bytes] = field(default_factory=set)

    @classmethod
    def build(cls, options: Options, setup: Setup) -> GridRoute:
        """Raises Unusable: no overlay to begin with, a secret that is none, a cluster nobody defined."""
        affinity = options.affinity if options.affinity and options.affinity.enabled else None
        for at, name in enumerate(options.provider_hop_clusters):
            if name not in setup.clusters:
                raise Unusable(f"no cluster {name!r}", "provider_hop_clusters", at)
        file = overlay_file(options, setup)
        view = file.view(setup.clusters) if file else View(setup.clusters, static(options, setup))
        traits = Traits(
            reads=frozenset({"model", "tenant"} if affinity else {"model"}),
            writes=frozenset({"cluster", "candidate", "session", "decision", "credential"}),
        )
        header = affinity.session_header.lower().encode() if affinity else b""
        return cls(options, file, view, _routing(options, affinity, setup), affinity, header, traits)

    def on_body(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        if not fields.keys() <= self.harmless:
            self._strip(fields)
        fields.pop(b"authorization", None)
        session = None
        if self.affinity is not None:
            try:
                session = self._session(exchange, self.affinity)
            except BadSession as bad:
                header = self.affinity.session_header
                return refuse(exchange, 400, "invalid_session", f"The header {header} {bad}.", param=header)
        snapshot = self.view.snapshot
        if snapshot is None:
            return refuse(exchange, 503, "no_overlay", "No routes are known yet.", retry_after_s=1)
        if exchange.model is None:
            return self._without_model(exchange, snapshot)
        trip = Trip(self.routing, exchange, exchange.model, snapshot, session)
        exchange.next_upstream, exchange.record = trip.next, trip.record
        reason = trip.begin()
        return None if reason is None else _refusal(exchange, reason)

    def on_reply(self, exchange: Exchange, reply: Reply) -> None:
        """An answer from a cluster that could not be reached before ends its being left aside. Where nobody
        could be reached, the client is told to come again."""
        cooling = self.routing.cooling
        if cooling.until and not reply.local and exchange.cluster is not None:
            cooling.reached(exchange.cluster)
        if exchange.unsent and reply.local:
            reply.status = exchange.status = 503
            reply.set(b"retry-after", b"1")

    @property
    def followed(self) -> OverlayFile | None:
        """The file whoever watches overlays should watch; None with static candidates or reload off."""
        reload = self.options.reload
        return None if reload is not None and not reload.enabled else self.file

    @property
    def debounce_ms(self) -> int:
        """Silence to wait for after a change of the file."""
        return self.options.debounce_ms

    def _strip(self, fields: dict[bytes, bytes]) -> None:
        """Takes out what only this filter may say of a route."""
        for name in tuple(fields):
            if name.startswith(_STRIPPED):
                del fields[name]
            elif len(self.harmless) < _REMEMBERED and len(name) <= _MAX_NAME:
                self.harmless.add(name)

    def _session(self, exchange: Exchange, affinity: AffinityOptions) -> Session | None:
        """Raises BadSession. The header goes no further: behind this gateway only the key stands for it."""
        request = exchange.request
        value = request.fields.pop(self.header, None)
        if value is None:
            return None
        most, tenant = affinity.max_session_id_bytes, exchange.tenant
        read_session(value, repeated=self.header in request.repeated, max_bytes=most)
        return None if tenant is None else Session(tenant, value)

    def _without_model(self, exchange: Exchange, snapshot: Snapshot) -> Response:
        if exchange.request.method != b"GET" or exchange.request.path != _MODELS:
            return refuse(exchange, 400, "model_required", "'model' is required.", param="model")
        if not self.routing.serves(snapshot):
            return _refusal(exchange, Reason.EXPIRED)
        granted = None if exchange.allowed_models is None else Granted(exchange.allowed_models)
        return listing(routable(snapshot, granted, self.routing.rules.policy))


def _routing(options: Options, affinity: AffinityOptions | None, setup: Setup) -> Routing:
    """Raises Unusable. Bindings and what could not be reached outlive a reload."""
    sites = None if options.sites is None else frozenset(options.sites)
    policy = Policy(sites, Spread(options.spread))
    limits = affinity.limits if affinity else Limits()
    kept, place = setup.kept, setup.place
    return Routing(
        Rules(policy, secrets(affinity, setup), limits),
        kept.keep(place, Bindings, Bindings),
        kept.keep(place, Cooling, Cooling),
        frozenset(options.provider_hop_clusters),
        setup.clusters,
        options.overlay_age.policy if options.overlay_file is not None else None,
        options.max_attempts,
        options.attempts_secs,
        Records(options.local_site, options.local_region),
        setup.metrics,
        setup.now,
        setup.wall,
        setup.new_id,
        options.overlay_file is not None and options.overlay_age.hard_expiry == "reject",
    )


def _refusal(exchange: Exchange, reason: Reason) -> Response:
    match reason:
        case Reason.FORBIDDEN:
            return refuse(exchange, 403, "model_not_allowed", param="model")
        case Reason.UNKNOWN:
            return refuse(exchange, 404, "model_not_found", "The model does not exist.", param="model")
        case Reason.EXPIRED:
            return refuse(exchange, 503, "overlay_expired", "No current routes are known.", retry_after_s=5)
        case _:
            why = "No provider of this model takes requests now."
            return refuse(exchange, 503, "no_eligible_provider", why, retry_after_s=1)
