"""Options of `timeout`, as in `edge.filters.timeout`."""

from __future__ import annotations

from edge.config.model import Millis
from edge.config.strict import Strict


class Options(Strict):
    timeout_ms: Millis
