"""Lets requests in by the client's address: those allowed, or all but those denied. An unknown address is
refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Response, Traits, refuse
from edge.config.networks import Networks, parse
from edge.filters.options.ip_acl import Options
from edge.setup import Setup


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(security=True)


@dataclass(frozen=True, slots=True)
class IpAcl(_Kind):
    allow: Networks
    deny: Networks

    @classmethod
    def build(cls, options: Options, _: Setup) -> IpAcl:
        return cls(Networks(options.allow), Networks(options.deny))

    def on_head(self, exchange: Exchange) -> Response | None:
        may = self._may(exchange.address)
        return None if may else refuse(exchange, 403, "address_not_allowed")

    def _may(self, address: str) -> bool:
        if self.allow:
            return address in self.allow
        return address not in self.deny and parse(address) is not None
