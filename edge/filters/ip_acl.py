"""Lets requests in by the client's address: those allowed, or all but those denied. An unknown address is
refused."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field, model_validator

from edge.chain import Exchange, Response, Traits, refuse
from edge.config.networks import Cidr, Networks, parse
from edge.config.strict import Strict
from edge.setup import Setup


class Options(Strict):
    """With `allow`, only those; `deny` then adds nothing. Without it, all but `deny`."""

    allow: list[Cidr] = Field(default_factory=list)
    deny: list[Cidr] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> Options:
        if not self.allow and not self.deny:
            raise ValueError("needs allow or deny")
        return self


@dataclass(frozen=True, slots=True)
class IpAcl:
    allow: Networks
    deny: Networks

    config = Options
    traits = Traits(security=True)

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
