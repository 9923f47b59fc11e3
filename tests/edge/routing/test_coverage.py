"""What is listed and counted is what a new request could be routed to, now, by its tenant."""

from __future__ import annotations

import pytest

from edge.routing.coverage import coverage, is_covered, routable
from edge.routing.select import Policy
from edge.routing.snapshot import Snapshot, index
from grid.contract.overlay import Admission
from grid.contract.status import Coverage
from tests.kit.routing import KIND, candidate, overlay, snapshot

WORLD = snapshot(
    candidate("east", name="open"),
    candidate("west", 1, name="open", admission=Admission.NONE),
    candidate("east", name="bound-only", admission=Admission.EXISTING_ONLY),
    candidate("east", name="closed", admission=Admission.NONE),
    candidate("west", name="also-open", fresh=False),
    candidate("east", kind="mcp_tool", name="search"),
)


@pytest.mark.parametrize(
    ("allowed", "policy", "names"),
    [
        pytest.param(None, Policy(), ("also-open", "open"), id="only what is routable"),
        pytest.param(frozenset({"open", "closed"}), Policy(), ("open",), id="filtered by tenant"),
        pytest.param(frozenset(), Policy(), (), id="a tenant without models"),
        pytest.param(None, Policy(sites=frozenset({"east"})), ("open",), id="only at the sites allowed"),
    ],
)
def test_models_listed(allowed: frozenset[str] | None, policy: Policy, names: tuple[str, ...]) -> None:
    assert routable(WORLD, allowed, policy) == names


def test_a_model_whose_cluster_is_not_configured_is_not_listed() -> None:
    assert routable(index(overlay([candidate()]), frozenset(), 0)) == ()


@pytest.mark.parametrize(
    ("loaded", "required", "expected", "covered"),
    [
        pytest.param(WORLD, ["open"], Coverage(routes=5, open=3, missing=0), True, id="An individual provider failure does not make an otherwise useful edge unready"),
        pytest.param(WORLD, [], Coverage(routes=5, open=3, missing=0), True, id="any route will do"),
        pytest.param(WORLD, ["open", "closed", "absent"], Coverage(routes=5, open=3, missing=2), False, id="Loss of all required route coverage makes the edge unready"),
        pytest.param(snapshot(candidate(admission=Admission.NONE)), [], Coverage(routes=1, open=0, missing=0), False, id="at least one eligible route"),
        pytest.param(snapshot(), [], Coverage(routes=0, open=0, missing=0), False, id="authoritatively nothing"),
        pytest.param(None, ["open"], Coverage(routes=0, open=0, missing=1), False, id="no overlay yet"),
    ],
)  # fmt: skip
def test_coverage(loaded: Snapshot | None, required: list[str], expected: Coverage, covered: bool) -> None:
    found = coverage(loaded, [(KIND, name) for name in required])
    assert found == expected
    assert is_covered(found) is covered
