"""Nobody outside speaks for the grid, and the grid's inside does not leave."""

from __future__ import annotations

import pytest

from edge.filters.door import Door
from tests.kit.filter_bench import Bench, answered

CLAIMS = [
    "x-ai-routing-candidate",
    "x-ai-provider-unsent",
    "x-grid-peer-selected-candidate",
    "x-region",
    "x-country",
    "x-tenant-id",
    "x-model",
    "x-sim-provider",
    "x-praxis-debug",
    "x-praxis-session-id",
    "x-other",
    "accept",
]


@pytest.mark.parametrize(
    ("for_peers", "left"),
    [
        pytest.param(False, ["x-praxis-session-id", "x-other", "accept"], id="the public"),
        pytest.param(
            True,
            [
                "x-ai-routing-candidate",
                "x-ai-provider-unsent",
                "x-grid-peer-selected-candidate",
                "x-praxis-debug",
                "x-praxis-session-id",
                "x-other",
                "accept",
            ],
            id="a gateway we know",
        ),
    ],
)
def test_requests(for_peers: bool, left: list[str]) -> None:
    exchange = Bench().exchange(Door(for_peers), fields=dict.fromkeys(CLAIMS, "1"))
    exchange.on_head()
    assert [name.decode() for name in exchange.request.fields] == left


@pytest.mark.parametrize(("for_peers", "count"), [(False, 1), (True, 3)])
def test_answers(for_peers: bool, count: int) -> None:
    exchange = Bench().exchange(Door(for_peers))
    assert (
        len(answered(exchange, fields={"x-sim-provider": "a", "x-ai-provider-unsent": "1", "x": "y"}).fields)
        == count
    )
