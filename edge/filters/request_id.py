"""Gives every request an id: the client's when it is a sane one, a new one otherwise; echoed on the
answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Reply, Response, Traits
from edge.filters.options.request_id import Options
from edge.setup import Setup

_SANE = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(writes=frozenset({"request_id"}))


@dataclass(frozen=True, slots=True)
class RequestId(_Kind):
    """header: lower case."""

    header: bytes
    trust_client: bool
    new_id: Callable[[], str]

    @classmethod
    def build(cls, options: Options, setup: Setup) -> RequestId:
        return cls(options.header_name.lower().encode(), options.trust_client, setup.new_id)

    def on_head(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        given = fields.get(self.header)
        if given is None or not self.trust_client or not _SANE.fullmatch(given):
            exchange.request_id = made = self.new_id()
            fields[self.header] = made.encode()
        else:
            exchange.request_id = given.decode()
        return None

    def on_reply(self, exchange: Exchange, reply: Reply) -> None:
        request_id, header = exchange.request_id, self.header
        if request_id is None:
            return
        for name, _ in reply.fields:
            if name == header:
                reply.remove(name)
                break
        reply.fields.append((header, request_id.encode()))  # sane by now, see above
