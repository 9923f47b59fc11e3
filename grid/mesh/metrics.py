"""The mesh as metrics: read from its nodes when they are scraped, so that the protocol only counts.

What counts up is shown as it stands; a network's name is a label because networks are configured, a site's
is not because sites come from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

from grid.mesh.udp import Hosted, Mesh
from grid.seal.aead import Drop
from grid.swim.members import State
from grid.swim.messages import Lane, Malformed
from grid.telemetry.metrics import Label, Metrics

HAPPENED = (
    "probes",
    "probes_failed",
    "suspicions",
    "refutations",
    "slept",
    "exchanges",
    "digest_mismatches",
    "rekeyed",
)
REFUSED = ("misdirected", "own_name", "name_taken", "table_full", *Malformed)
OUTCOMES = (
    *("sent", "received", "send_error", "receive_error", "unknown_address", "cut", "too_busy"),
    *("exchanged", "exchange_broken", "exchange_unreachable", "exchange_no_place"),
    *Drop,
)
LANES = tuple(lane.name.lower() for lane in Lane)

Reading = Mapping[tuple[str, ...], float]


class MeshMetrics:
    """current: the mesh that is open now; None while another replica runs it, and nothing is shown then."""

    def __init__(self, metrics: Metrics, current: Callable[[], Mesh | None]) -> None:
        self.networks = Label("network")
        self._current = current
        states = Label("state", {state.name.lower() for state in State})
        lanes = Label("lane", set(LANES))
        metrics.gauge(
            "grid_mesh_members", "Sites by what is held of them.", self.networks, states, read=self._members
        )
        metrics.gauge(
            "grid_mesh_rtt_seconds",
            "Median round trip of the living.",
            self.networks,
            read=lambda: self._each(_rtt),
        )
        metrics.gauge(
            "grid_mesh_agreed_age_seconds",
            "Since a probed site held the same as this one.",
            self.networks,
            read=lambda: self._each(lambda hosted: hosted.agreed_s),
        )
        self._count(metrics, "grid_mesh_events", "What membership did so far.", "event", HAPPENED)
        self._count(
            metrics, "grid_mesh_refused", "Sealed messages that were not taken so far.", "why", REFUSED
        )
        metrics.gauge(
            "grid_mesh_lane_bytes",
            "Bytes of facts sent by datagram so far.",
            self.networks,
            lanes,
            read=lambda: self._counts(LANES, "{}_bytes"),
        )
        metrics.gauge(
            "grid_mesh_datagrams",
            "Datagrams and exchanges so far, by what became of them.",
            Label("outcome", set(OUTCOMES)),
            read=self._outcomes,
        )

    def _count(self, metrics: Metrics, name: str, help_: str, label: str, values: tuple[str, ...]) -> None:
        metrics.gauge(
            name, help_, self.networks, Label(label, set(values)), read=lambda: self._counts(values, "{}")
        )

    def _hosted(self) -> list[Hosted]:
        mesh = self._current()
        hosted = [] if mesh is None else list(mesh.hosted.values())
        self.networks.admit(each.network for each in hosted)
        return hosted

    def _outcomes(self) -> Reading:
        mesh = self._current()
        return {} if mesh is None else {(outcome,): float(mesh.counts[outcome]) for outcome in OUTCOMES}

    def _counts(self, names: tuple[str, ...], key: str) -> Reading:
        return {
            (hosted.network, name): float(hosted.node.view.counts[key.format(name)])
            for hosted in self._hosted()
            for name in names
        }

    def _members(self) -> Reading:
        found: dict[tuple[str, ...], float] = {}
        for hosted in self._hosted():
            found.update({(hosted.network, state.name.lower()): 0.0 for state in State})
            for member in hosted.node.view.table:
                found[hosted.network, member.state.name.lower()] += 1
        return found

    def _each(self, read: Callable[[Hosted], float | None]) -> Reading:
        found = {(hosted.network,): read(hosted) for hosted in self._hosted()}
        return {network: value for network, value in found.items() if value is not None}


def _rtt(hosted: Hosted) -> float | None:
    known = [member.rtt_s for member in hosted.node.view.table.living if member.rtt_s is not None]
    return median(known) if known else None
