"""Each signal is 0..1 with 1 best, a missing one is neutral, and the weights are the documented ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.overlay import TIER_ORDER, Tier
from grid.scoring.signals import LOCALITY, PRESETS, Category, Score, Signals, Weights, score, score_anywhere

ONES = Weights(1, 1, 1, 1, 1, 1)
SIGNALS = st.builds(
    Signals,
    *(st.none() | st.floats(-1, 2) for _ in range(3)),
    st.none() | st.floats(-10, 10_000),
    st.none() | st.floats(-1, 1),
)


@pytest.mark.parametrize(
    ("signals", "parts"),
    [
        pytest.param(Signals(), (0.5, 0.5, 0.5, 0.5, 0.5), id="nothing measured is neutral"),
        pytest.param(Signals(0.0, 0.0, 1.0, 0.0, 0.0), (1, 1, 1, 1, 1), id="idle, cached, quick and free"),
        pytest.param(Signals(1.0, 1.0, 0.0, 5000.0, 0.1), (0, 0, 0, 0, 0), id="full, cold, slow and dear"),
        pytest.param(Signals(0.25, 0.75, 0.5, 1000.0, 0.05), (0.75, 0.25, 0.5, 0.8, 0.5), id="in between"),
        pytest.param(Signals(7.0, -1.0, 2.0, 9e9, -1.0), (0, 1, 1, 0, 1), id="out of range is clamped"),
    ],
)
def test_signals_are_brought_to_one(signals: Signals, parts: tuple[float, ...]) -> None:
    found = score(signals, Category.OTHER, Tier.UNKNOWN, ONES)
    assert (
        found.queue_depth,
        found.kv_cache,
        found.prefix_cache,
        found.latency,
        found.cost,
    ) == pytest.approx(parts)


@pytest.mark.parametrize(
    ("category", "by_tier"),
    [
        pytest.param(Category.LOCAL, (1.0, 0.9, 0.7, 0.4, 0.5), id="own, declared here"),
        pytest.param(Category.REMOTE, (1.0, 0.9, 0.7, 0.4, 0.5), id="own, declared elsewhere"),
        pytest.param(Category.CLOUD_MANAGED, (0.2,) * 5, id="a cloud's, wherever"),
        pytest.param(Category.API_PROVIDER, (0.1,) * 5, id="a third party's, wherever"),
        pytest.param(Category.OTHER, (0.5,) * 5, id="nobody knows whose"),
    ],
)
def test_locality(category: Category, by_tier: tuple[float, ...]) -> None:
    assert tuple(LOCALITY[category][tier] for tier in TIER_ORDER) == by_tier


@pytest.mark.parametrize(
    ("preset", "weights"),
    [
        pytest.param("combined", Weights(3, 3, 2, 2, 2, 1), id="all six"),
        pytest.param("noMetrics", Weights(0, 0, 0, 0, 0, 0), id="none"),
        pytest.param("queueDepth", Weights(0, 1, 0, 0, 0, 0), id="the queue alone"),
        pytest.param("kvCachePressure", Weights(0, 0, 1, 0, 0, 0), id="the KV cache alone"),
    ],
)
def test_presets(preset: str, weights: Weights) -> None:
    assert PRESETS[preset] == weights


def test_the_best_score_is_thirteen() -> None:
    best = score(Signals(0, 0, 1, 0, 0), Category.LOCAL, Tier.SAME_SITE, Weights())
    assert best == Score(3, 3, 2, 2, 2, 1)
    assert best.total == 13


@given(SIGNALS, st.sampled_from(Category), st.sampled_from(Tier))
def test_a_score_is_its_shared_part_and_its_locality(
    signals: Signals, category: Category, tier: Tier
) -> None:
    whole = score(signals, category, tier, Weights())
    assert whole.total == pytest.approx(score_anywhere(signals, Weights()) + 3.0 * LOCALITY[category][tier])
    assert 0 <= whole.total <= 13
