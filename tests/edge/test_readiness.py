"""A gateway is ready when it can serve: an overlay of sound age, routes, certificates, and nobody drains it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from edge.built import Built
from edge.readiness import Readiness, Standing, against
from edge.readiness_tls import Material
from edge.routing.freshness import Age, Freshness
from grid.contract.status import Coverage, NotReady
from tests.kit.edges import built, write
from tests.kit.overlays import Json, candidate, current, put

OPEN = Coverage(routes=2, open=1, missing=0)
SHUT = Coverage(routes=2, open=0, missing=0)
TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: json_body_field, field: model, header: X-Model}}
      - filter: grid_route
        overlay_file: grid-config.json
        start_unready: true
        {options}
      - {{filter: load_balancer}}
clusters:
  - {{name: gateway-east, endpoints: ["127.0.0.1:9"]}}
  - {{name: gateway-west, endpoints: ["127.0.0.1:9"]}}
"""
AGE = "overlay_age: {degraded_after_seconds: 10, not_ready_after_seconds: 30}"


def aged(state: Age, coverage: Coverage = OPEN) -> Standing:
    return Standing(Freshness(state, 1.0, serves=True), coverage)


@pytest.mark.parametrize(
    ("standings", "changes", "reasons"),
    [
        pytest.param([aged(Age.OK)], {}, (), id="all is well"),
        pytest.param([], {}, (), id="a gateway without routes of a grid"),
        pytest.param([Standing(None, OPEN)], {}, (), id="static candidates"),
        pytest.param([aged(Age.DEGRADED)], {}, (), id="Edge reports degraded when update age crosses the warning threshold"),
        pytest.param([aged(Age.NOT_READY)], {}, ("overlay_aged",), id="Edge becomes globally unready after the configured readiness threshold"),
        pytest.param([aged(Age.EXPIRED)], {}, ("overlay_expired",), id="a hard-expired snapshot"),
        pytest.param([aged(Age.ABSENT, SHUT)], {}, ("no_overlay",), id="Has it loaded a valid, sufficiently fresh overlay"),
        pytest.param([aged(Age.OK, SHUT)], {}, ("no_coverage",), id="Is at least one eligible route available"),
        pytest.param([aged(Age.OK), aged(Age.OK, SHUT)], {}, ("no_coverage",), id="one of two routes is of no use"),
        pytest.param([aged(Age.OK)], {"certified": False}, ("tls_missing",), id="a failed security dependency"),
        pytest.param([aged(Age.OK)], {"draining": True}, ("draining",), id="drained by hand"),
        pytest.param([aged(Age.OK)], {"listening": False}, ("no_listener",), id="nobody listens"),
        pytest.param([aged(Age.NOT_READY, SHUT)], {"draining": True}, ("overlay_aged", "no_coverage", "draining"), id="every reason at once"),
    ],
)  # fmt: skip
def test_why_not(standings: list[Standing], changes: dict[str, bool], reasons: tuple[str, ...]) -> None:
    facts = {"listening": True, "draining": False, "certified": True, **changes}
    assert against(standings, **facts) == reasons


@dataclass
class Server:
    built: Built | None
    draining: bool = False
    listeners: Mapping[str, int] = field(default_factory=lambda: {"main": 0})

    def connections(self) -> Mapping[str, int]:
        return self.listeners


class Lab:
    """A gateway with an overlay, at any moment."""

    def __init__(self, folder: Path, options: str, candidates: list[Json] | None) -> None:
        if candidates is not None:
            put(folder / "grid-config.json", current(candidates, valid_s=600))
        self.server = Server(built(write(folder, TEXT.format(options=options))))
        self.after_s = 0.0
        self.readiness = Readiness(self.server, lambda: time.time() + self.after_s)

    def reasons(self, after_s: float = 0.0) -> tuple[NotReady, ...]:
        self.after_s = after_s
        return self.readiness.reasons()


def test_an_overlay_ages_until_the_gateway_is_withdrawn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "edge.readiness")
    lab = Lab(tmp_path, AGE, [candidate("east")])
    found = []
    for after_s in (0, 12, 40, 700):
        found.append(lab.reasons(after_s))
        lab.readiness.say()
    assert found == [(), (), ("overlay_aged",), ("overlay_expired",)]
    said = [(record.message, record.levelname) for record in caplog.records]
    assert said == [
        ("overlay age", "WARNING"),
        ("not ready", "WARNING"),
        ("overlay age", "WARNING"),
        ("not ready", "WARNING"),
        ("overlay age", "WARNING"),
    ]


@pytest.mark.parametrize(
    ("options", "candidates", "reasons"),
    [
        pytest.param("", [candidate("east", admission_state="none"), candidate("west", rank=1)], (), id="one provider's failure"),
        pytest.param("", [candidate("east", admission_state="none")], ("no_coverage",), id="all providers' failure"),
        pytest.param("", [candidate("east", admission_state="existing_only")], ("no_coverage",), id="only for those bound already"),
        pytest.param("", [candidate("north")], ("no_coverage",), id="only by a cluster that is not configured"),
        pytest.param("required_models: [shared-model]", [candidate("east")], (), id="the required model is open"),
        pytest.param("required_models: [shared-model, other]", [candidate("east")], ("no_coverage",), id="a required model is absent"),
        pytest.param("", None, ("no_overlay",), id="no overlay yet"),
    ],
)  # fmt: skip
def test_routes(
    tmp_path: Path, options: str, candidates: list[Json] | None, reasons: tuple[str, ...]
) -> None:
    assert Lab(tmp_path, options, candidates).reasons() == reasons


def test_certificates_end_by_themselves(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "", [candidate("east")])
    lab.readiness.material = Material(((time.time() + 100,),))
    assert lab.reasons() == ()
    assert lab.reasons(101) == ("tls_missing",)


def test_before_it_serves_it_is_not_ready(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "", [candidate("east")])
    lab.server.listeners = {}
    assert lab.reasons() == ("no_listener",)
    lab.server.built = None
    assert lab.reasons() == ("no_listener",)
