"""Options of `request_id`, as in `edge.filters.request_id`."""

from __future__ import annotations

from edge.config.fields import HeaderName
from edge.config.strict import Strict


class Options(Strict):
    """trust_client: whether a sane id from outside is taken over."""

    header_name: HeaderName = "X-Request-ID"
    trust_client: bool = True
