"""Options of `load_balancer`, as in `edge.filters.load_balancer`."""

from __future__ import annotations

from pydantic import Field

from edge.config.model import Cluster as ClusterOptions
from edge.config.strict import Strict


class Options(Strict):
    """clusters: beside those at the top of the file, or the same ones again without their health checks."""

    clusters: list[ClusterOptions] = Field(default_factory=list, max_length=10_000)
