"""Offers and views for tests: a healthy, measured provider in us-east by default."""

from __future__ import annotations

import dataclasses
from typing import Any

from grid.contract.digest import stable_id
from grid.scoring.distance import Place
from grid.scoring.offer import Offer, View
from grid.scoring.signals import Category, Signals, Weights, score_anywhere

EAST = Place("provider-east", "us-east", "us-east-1a")
WEST = Place("provider-west", "eu-west", "eu-west-1a")
EDGE_EAST = View(Place("edge-us-east", "us-east"))
EDGE_WEST = View(Place("edge-eu-west", "eu-west"))


def offer(
    place: Place = EAST, signals: Signals | None = None, weights: Weights | None = None, **changes: Any
) -> Offer:
    """An offer of shared-model at *place*; its base score is that of its signals."""
    signals = Signals(queue=0.2, kv_cache=0.2) if signals is None else signals
    name = changes.pop("name", "shared-model")
    cluster = changes.pop("cluster", f"gateway-{place.site}")
    found = Offer(
        kind="inference_model",
        name=name,
        place=place,
        cluster=cluster,
        stable_id=stable_id("inference_model", name, place.site, cluster),
        category=Category.REMOTE,
        signals=signals,
        base=score_anywhere(signals, weights or Weights()),
    )
    return dataclasses.replace(found, **changes)
