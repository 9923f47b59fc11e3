"""The gateway's metrics: every name and every label's closed set, in one place.

Names are the reference's where it has them. `route` and `endpoint` labels are left out: a route is its
cluster, and an endpoint is an address, which does not belong in a series. `grid.telemetry.metrics` turns
unknown values into `other`.
"""

from __future__ import annotations

from collections import defaultdict

from edge.routing.accept import Outcome as Reload
from edge.routing.bindings import Outcome as Binding
from edge.routing.decision import Reason
from edge.wire.faults import Cause
from grid.contract.reasons import RejectReason
from grid.telemetry.metrics import Label, Metrics, Reading

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "none")
ERRORS = ("filter_reject", "timeout", "upstream_unavailable", "upstream_protocol", "downstream", "internal")
OVERLOAD = ("memory", "file_descriptors", "global_connections", "listener_connections", "draining")
REFUSALS = (
    "address_not_allowed",
    "bad_framing",
    "bad_host",
    "bad_request",
    "bad_target",
    "candidate_not_served",
    "circuit_open",
    "concurrency_limit_exceeded",
    "credential_unavailable",
    "draining",
    "expectation_failed",
    "head_too_large",
    "http_version_not_supported",
    "internal_error",
    "invalid_body",
    "invalid_session",
    "method_not_supported",
    "model_not_allowed",
    "model_not_found",
    "model_required",
    "no_cluster",
    "no_eligible_provider",
    "no_overlay",
    "no_route",
    "overlay_expired",
    "overloaded",
    "peer_not_trusted",
    "rate_limit_exceeded",
    "request_timeout",
    "request_too_large",
    "routing_context_required",
    "too_many_fields",
    "transfer_coding_not_supported",
    "unauthorized",
    "upgrade_not_supported",
    "uri_too_long",
)


class EdgeMetrics:
    """Counts of one process; they outlive every reload.

    active: (listener,) -> requests being answered, as one number to be counted up and down.
    """

    def __init__(self) -> None:
        self.metrics = made = Metrics()
        self.cluster = Label("cluster", {"none"})
        self.listener = Label("listener")
        method, status_class = Label("method", set(METHODS)), Label("status_class", set(CLASSES))
        cause = Label("cause", {str(cause) for cause in Cause})

        self.requests = made.counter(
            "praxis_http_requests_total", "Requests.", method, status_class, self.listener, self.cluster
        )
        self.duration = made.histogram(
            "praxis_http_request_duration_seconds", "From head to end.", status_class, self.cluster
        )
        self.first_byte = made.histogram(
            "praxis_upstream_first_byte_seconds", "From head to the upstream's head.", self.cluster
        )
        self.first_token = made.histogram(
            "praxis_first_token_seconds", "From head to an event stream's first event.", self.cluster
        )
        self.connect = made.histogram(
            "praxis_upstream_connect_seconds", "Look-up, TCP and TLS of a connection made.", self.cluster
        )
        self.tokens = made.counter(
            "praxis_tokens_total",
            "As answers say.",
            self.cluster,
            Label("direction", {"prompt", "completion"}),
        )
        self.stream = made.histogram("praxis_stream_duration_seconds", "From head sent to end.", self.cluster)
        self.active: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0])
        made.gauge(
            "praxis_http_active_requests",
            "Being answered.",
            self.listener,
            read=lambda: {key: cell[0] for key, cell in self.active.items()},
        )
        self.errors = made.counter("praxis_errors_total", "By family.", Label("type", set(ERRORS)))
        self.refusals = made.counter("praxis_refusals_total", "By code.", Label("code", set(REFUSALS)))
        self.overload = made.counter(
            "praxis_overload_rejects_total", "Refused to stay alive.", Label("reason", set(OVERLOAD))
        )
        self.upstream = made.counter(
            "praxis_upstream_requests_total", "Asked of upstreams.", self.cluster, status_class
        )
        self.connect_failures = made.counter(
            "praxis_upstream_connect_failures_total", "Nothing was sent.", self.cluster, cause
        )
        self.trust_failures = made.counter(
            "praxis_mtls_trust_failures_total", "Not who they should be.", Label("side", {"peer", "upstream"})
        )
        self.model, self.site = Label("model"), Label("site", {"none"})
        self.decisions = made.counter(
            "praxis_route_decisions_total", "Of the overlay.", Label("reason", set(map(str, Reason)))
        )
        self.selections = made.counter(
            "praxis_route_selections_total", "Sent to a candidate.", self.model, self.site
        )
        self.failovers = made.counter(
            "praxis_route_failovers_total", "Candidates that gave way, unsent.", self.model, self.site, cause
        )
        self.affinity = made.counter(
            "praxis_affinity_outcomes_total", "Of sessions.", Label("outcome", set(map(str, Binding)))
        )
        self.overlays = made.counter(
            "praxis_overlay_reloads_total", "Documents looked at.", Label("outcome", set(map(str, Reload)))
        )
        self.overlay_rejections = made.counter(
            "praxis_overlay_rejections_total", "By reason.", Label("reason", set(map(str, RejectReason)))
        )
        self.reloads = made.counter(
            "praxis_config_reloads_total",
            "Of the configuration.",
            Label("outcome", {"applied", "unchanged", "rejected"}),
        )
        self.open_fds = made.gauge("praxis_process_open_fds", "File descriptors.")
        self.resident_bytes = made.gauge("praxis_process_resident_bytes", "Resident memory.")
        self.access_dropped = made.counter(
            "praxis_access_log_dropped_total", "Lines the sink had no room for."
        )

    def show_endpoints(self, known: Reading, healthy: Reading, panicking: Reading) -> None:
        """Adds the endpoint gauges, read at each scrape: (cluster,) -> how many, and 1 while the unhealthy
        ones are asked too. Once a process."""
        self.metrics.gauge("praxis_upstream_total_endpoints", "Known.", self.cluster, read=known)
        self.metrics.gauge("praxis_upstream_healthy_endpoints", "Asked.", self.cluster, read=healthy)
        self.metrics.gauge("praxis_upstream_panic", "1 while all are asked.", self.cluster, read=panicking)
