"""Options of `forwarded_headers`, as in `edge.filters.forwarded_headers`."""

from __future__ import annotations

from pydantic import Field

from edge.config.networks import Cidr
from edge.config.strict import Strict


class Options(Strict):
    """use_standard_header: also write `Forwarded` (RFC 7239)."""

    trusted_proxies: list[Cidr] = Field(default_factory=list)
    use_standard_header: bool = False
