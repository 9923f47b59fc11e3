"""Lets a tenant use the models it may, by name or pattern; whoever is not listed may use the default's,
usually none.

It stands directly after the filter that finds the model. A request without a model (a listing) passes, with
what the tenant may see in `allowed_models`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.model_authorization import Options
from edge.setup import Setup

_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Grant:
    """allowed: models that were found to match, asked for again and again; patterns never change."""

    patterns: frozenset[str]
    matches: re.Pattern[str]
    allowed: set[str] = field(default_factory=set, repr=False, compare=False)

    def covers(self, model: str) -> bool:
        if self.matches.fullmatch(model) is None:
            return False
        if len(self.allowed) < _REMEMBERED:
            self.allowed.add(model)
        return True


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(
        reads=frozenset({"tenant", "model"}), writes=frozenset({"allowed_models"}), security=True
    )


@dataclass(frozen=True, slots=True)
class ModelAuthorization(_Kind):
    grants: Mapping[str, Grant]
    default: Grant

    @classmethod
    def build(cls, options: Options, _: Setup) -> ModelAuthorization:
        return cls(
            {tenant: _grant(given) for tenant, given in options.tenants.items()}, _grant(options.default)
        )

    def on_body(self, exchange: Exchange) -> Response | None:
        grant = self.grants.get(exchange.tenant or "", self.default)
        exchange.allowed_models = grant.patterns
        model = exchange.model
        if model is None or model in grant.allowed or grant.covers(model):
            return None
        return refuse(exchange, 403, "model_not_allowed", param="model")


def _grant(patterns: list[str]) -> Grant:
    parts = [".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns]
    # Without patterns nothing matches, not even the empty name.
    return Grant(frozenset(patterns), re.compile("|".join(parts) if parts else r"(?!)", re.DOTALL))
