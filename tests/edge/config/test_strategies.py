"""How a cluster picks endpoints, as the file says it: every form that is understood, and what contradicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge.config.load import Loaded, load
from edge.config.problems import ConfigRejected
from tests.kit.edges import built, write

TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - {{name: main, filters: [{{filter: router, routes: [{{path_prefix: /, cluster: a}}]}}, {{filter: load_balancer}}]}}
clusters: [{{name: a, endpoints: {endpoints}, {more}}}]
"""


def loaded(folder: Path, more: str, endpoints: str = "[h:1]") -> Loaded:
    return load(write(folder, TEXT.format(more=more, endpoints=endpoints)), {})


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param("p2c", ("p2c", "path", None), id="a name alone"),
        pytest.param("consistent_hash", ("consistent_hash", "path", None), id="hashing, by name alone"),
        pytest.param("{consistent_hash: }", ("consistent_hash", "path", None), id="hashing, with nothing"),
        pytest.param("{consistent_hash: {header: X-A}}", ("consistent_hash", "header", "X-A"), id="a header"),
        pytest.param(
            "{name: consistent_hash, key: client_address}",
            ("consistent_hash", "client_address", None),
            id="as it is printed",
        ),
    ],
)
def test_forms(tmp_path: Path, strategy: str, expected: tuple[str, str, str | None]) -> None:
    model = loaded(tmp_path, f"load_balancer_strategy: {strategy}").gateway.clusters[0]
    read = model.load_balancer_strategy
    assert (read.name, read.hashes, read.header) == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param(
            "{name: fastest}",
            "'fastest' is not 'round_robin', 'least_connections', 'p2c' or 'consistent_hash'",
            id="a strategy there is not",
        ),
        pytest.param(
            "{p3c: {}}",
            "clusters[0].load_balancer_strategy.p3c: unknown key",
            id="a strategy's long form there is not",
        ),
        pytest.param(
            "{consistent_hash: {headr: X-User}}",
            "load_balancer_strategy.headr: unknown key (did you mean 'header'?)",
            id="a key consistent_hash has not",
        ),
        pytest.param(
            "{consistent_hash: X-User}",
            "clusters[0].load_balancer_strategy: consistent_hash takes {header: NAME} or {key: ...}",
            id="consistent_hash with a bare word",
        ),
        pytest.param(
            "{consistent_hash: {}, header: X-User}",
            "and nothing beside it",
            id="consistent_hash and something beside it",
        ),
        pytest.param(
            "{name: p2c, header: X-User}",
            "p2c hashes nothing: header and key go with consistent_hash",
            id="a header for a strategy that hashes nothing",
        ),
        pytest.param(
            "{consistent_hash: {header: X-User, key: session}}",
            "key: session and header contradict each other",
            id="two keys",
        ),
        pytest.param(
            "{consistent_hash: {key: header}}", "key: header needs header", id="a header without its name"
        ),
        pytest.param(
            "{consistent_hash: {header: Connection}}",
            "the field Connection cannot be hashed",
            id="a field of one hop",
        ),
    ],
)
def test_strategies_that_are_refused(tmp_path: Path, strategy: str, expected: str) -> None:
    with pytest.raises(ConfigRejected) as rejected:
        loaded(tmp_path, f"load_balancer_strategy: {strategy}")
    (problem,) = map(str, rejected.value.problems)
    assert expected in problem
    assert "praxis.yaml:6:" in problem


@pytest.mark.parametrize("weight", ["0", "-1", "65536", "1.5", "'2'"])
def test_weights_that_are_refused(tmp_path: Path, weight: str) -> None:
    with pytest.raises(ConfigRejected, match=r"clusters\[0\]\.endpoints\[0\]\.weight"):
        loaded(tmp_path, "max_attempts: 1", f"[{{address: 'h:1', weight: {weight}}}]")


@pytest.mark.parametrize("percent", ["-1", "100", "'1'"])
def test_panic_thresholds_that_are_refused(tmp_path: Path, percent: str) -> None:
    with pytest.raises(ConfigRejected, match="panic_threshold_percent"):
        loaded(tmp_path, f"health_check: {{type: tcp, panic_threshold_percent: {percent}}}")


def test_more_endpoints_than_can_be_hashed(tmp_path: Path) -> None:
    many = "[" + ", ".join(f"h:{port}" for port in range(1, 1002)) + "]"
    with pytest.raises(ConfigRejected, match="at most 1000 endpoints"):
        loaded(tmp_path, "load_balancer_strategy: consistent_hash", many)
    spread = loaded(tmp_path, "load_balancer_strategy: p2c", many).gateway.clusters[0]
    assert len(spread.endpoints) == 1001


def test_a_session_nobody_finds_out_is_refused(tmp_path: Path) -> None:
    write(
        tmp_path,
        TEXT.format(more="load_balancer_strategy: {consistent_hash: {key: session}}", endpoints="[h:1]"),
    )
    with pytest.raises(ConfigRejected, match="load_balancer_strategy: key: session needs a grid_route"):
        built(tmp_path / "praxis.yaml")
