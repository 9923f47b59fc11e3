"""Configured clusters become live ones with their bounds, and stay the same over a reload that leaves them
alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from edge.clusters import Live, find_clusters
from edge.config.load import Loaded, load
from edge.config.problems import ConfigRejected
from edge.wire.balance import KeyFrom
from tests.kit.certs import Authority
from tests.kit.edges import write

TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - {{name: main, filters: [{{filter: load_balancer}}]}}
clusters:
  - {{name: east, endpoints: ["127.0.0.1:9", {{address: "[::1]:8"}}]{more}}}
"""


def loaded(folder: Path, more: str = "") -> Loaded:
    return load(write(folder, TEXT.format(more=more)), {})


def found_clusters(loaded: Loaded, previous: Mapping[str, Live], idle: int) -> dict[str, Live]:
    found = find_clusters(loaded, previous, idle)
    if found.problems:
        raise ConfigRejected(found.problems)
    return found.live


def live(folder: Path, more: str = "", previous: dict[str, Live] | None = None) -> Live:
    return found_clusters(loaded(folder, more), previous or {}, 64)["east"]


def test_times_and_bounds(tmp_path: Path) -> None:
    more = (
        ", connection_timeout_ms: 100, total_connection_timeout_ms: 200, first_byte_timeout_ms: 300, "
        "read_timeout_ms: 400, total_timeout_ms: 500, idle_timeout_ms: 600, max_connections: 7, max_attempts: 2"
    )
    cluster = live(tmp_path, more).cluster
    times, caps = cluster.timeouts, cluster.caps
    assert (times.connect_s, times.first_byte_s, times.idle_s, times.total_s) == (0.2, 0.3, 0.4, 0.5)
    assert (caps.idle_s, caps.connections, caps.attempts, caps.idle) == (0.6, 7, 2, 64)
    assert [(e.host, e.port) for e in cluster.endpoints] == [("127.0.0.1", 9), ("::1", 8)]


def test_a_stream_is_unbounded_unless_it_is_bounded(tmp_path: Path) -> None:
    assert live(tmp_path).cluster.timeouts.total_s is None


def test_what_did_not_change_is_the_same_with_its_connections(tmp_path: Path) -> None:
    first = live(tmp_path)
    assert live(tmp_path, previous={"east": first}).cluster is first.cluster
    assert live(tmp_path, ", max_connections: 3", {"east": first}).cluster is not first.cluster


def test_renewed_material_is_used_when_the_configuration_is_and_not_before(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    leaf = authority.leaf("edge")
    more = (
        f", tls: {{sni: east.test, ca: {{ca_path: {authority.path}}}, "
        f"client_cert: {{cert_path: {leaf.certificate}, key_path: {leaf.key}}}}}"
    )
    first = live(tmp_path, more)
    assert first.cluster.tls is not None
    before = first.cluster.tls.context()
    authority.leaf("edge")  # the same files, another key
    second = live(tmp_path, more, {"east": first})
    assert first.cluster.tls.context() is before
    second.take_over()
    assert first.cluster.tls.context() is not before
    leaf.key.write_text("rubbish")
    with pytest.raises(ConfigRejected, match=r"clusters\[0\]\.tls"):
        live(tmp_path, more, {"east": second})


def test_the_name_asked_for_is_the_sni_or_the_host(tmp_path: Path) -> None:
    named = live(tmp_path, ", tls: {sni: east.test}").cluster.tls
    unnamed = live(tmp_path, ", tls: {verify: false}").cluster.tls
    assert named is not None
    assert unnamed is not None
    assert (named.server_name, unnamed.server_name) == ("east.test", "127.0.0.1")


def test_what_picks_an_endpoint(tmp_path: Path) -> None:
    more = (
        ", load_balancer_strategy: {consistent_hash: {header: X-User}}"
        ", health_check: {type: tcp, panic_threshold_percent: 30}"
    )
    cluster = live(tmp_path, more).cluster
    assert cluster.key_from == KeyFrom("header", b"x-user")
    assert cluster.panic_percent == 30


@pytest.mark.parametrize(
    ("affinity", "refused"),
    [
        pytest.param("{secret_file: s}", False, id="affinity"),
        pytest.param("{secret_file: s, enabled: false}", True, id="affinity that is off"),
    ],
)
def test_sessions_are_hashed_where_a_filter_finds_them_out(
    tmp_path: Path, affinity: str, refused: bool
) -> None:
    text = TEXT.format(more=", load_balancer_strategy: {consistent_hash: {key: session}}")
    text = text.replace(
        "[{filter: load_b", f"[{{filter: grid_route, affinity: {affinity}}}, {{filter: load_b"
    )
    read = load(write(tmp_path, text), {})
    if refused:
        with pytest.raises(ConfigRejected, match="needs a grid_route with affinity"):
            found_clusters(read, {}, 64)
    else:
        assert found_clusters(read, {}, 64)["east"].cluster.key_from == KeyFrom("session")


def test_another_weight_is_another_cluster(tmp_path: Path) -> None:
    first = live(tmp_path)
    text = TEXT.format(more="").replace('"[::1]:8"', '"[::1]:8", weight: 2')
    changed = found_clusters(load(write(tmp_path, text), {}), {"east": first}, 64)["east"]
    assert [endpoint.weight for endpoint in changed.cluster.endpoints] == [1, 2]
    assert changed.cluster is not first.cluster
