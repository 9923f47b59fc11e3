"""What sites say in the four lanes, as bytes and as values: CRDT facts in and out of the membership.

    state     a Share: providers, capabilities, spend          gateway   `host:port` of the site's gateway
    metadata  role and place of the site                       cert      its certificate as PEM, never a key

Every payload of state and metadata begins with its version. A reader of version 1 ignores fields after those
it knows, and refuses another version whole. A provider's record is bytes to everybody but who reconciles it.

An origin says its whole state each time: of two revisions the later one is what it has, so what is not in it
is gone, also where the origin lost its memory and counts anew. Only spend never shrinks.

What is refused leaves what was held before: one bad fact of one origin harms nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, TypeVar, assert_never

import msgspec

from grid.crdt.gcounter import LIMIT, GCounter
from grid.crdt.lww import Lww
from grid.crdt.orset import Context, OrSet
from grid.crdt.snapshot import MAX_PROVIDERS, MAX_TENANTS, Capability, Share, Snapshot
from grid.mesh.addresses import split
from grid.seal.trust import Refusal, leaf_of
from grid.swim.messages import FactHeard, Lane

_T = TypeVar("_T")

VERSION: Final = 1
MAX_NAME: Final = 256
MAX_RECORD: Final = 64 * 1024
MAX_CAPABILITIES: Final = 16_384
MAX_DOTS: Final = 64
"""Under which one item is held; each origin needs one, and only the origin itself writes its share."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
Word = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
Count = Annotated[int, msgspec.Meta(ge=0, le=LIMIT)]
Record = Annotated[bytes, msgspec.Meta(max_length=MAX_RECORD)]
Dots = Annotated[list[tuple[Name, Count]], msgspec.Meta(max_length=MAX_DOTS)]


class Refused(StrEnum):
    """Why a payload was refused; also a metric's label. Of certificates: Refusal says it."""

    VERSION = "lane_version"
    MALFORMED = "lane_malformed"
    CERTIFICATE = "lane_certificate"


@dataclass(frozen=True, slots=True)
class SiteSaid:
    """What a site says of itself; "" is not said."""

    role: str = ""
    region: str = ""
    zone: str = ""
    sovereignty_zone: str = ""
    server_name: str = ""


class _Provider(msgspec.Struct, array_like=True):
    name: Name
    revision: Count
    writer: Name
    record: Record | None


class _State(msgspec.Struct, array_like=True):
    version: int
    providers: Annotated[list[_Provider], msgspec.Meta(max_length=MAX_PROVIDERS)]
    capabilities: Annotated[list[tuple[Name, Name, Dots]], msgspec.Meta(max_length=MAX_CAPABILITIES)]
    upto: Annotated[dict[Name, Count], msgspec.Meta(max_length=MAX_DOTS)]
    beyond: Annotated[list[tuple[Name, Count]], msgspec.Meta(max_length=MAX_CAPABILITIES)]
    spend: Annotated[dict[Name, Count], msgspec.Meta(max_length=MAX_TENANTS)]


class _Metadata(msgspec.Struct, array_like=True):
    version: int
    role: Word
    region: Word
    zone: Word
    sovereignty_zone: Word
    server_name: Word


class _Versioned(msgspec.Struct, array_like=True):
    version: int


_state = msgspec.msgpack.Decoder(_State)
_metadata = msgspec.msgpack.Decoder(_Metadata)
_versioned = msgspec.msgpack.Decoder(_Versioned)


def write_state(share: Share[bytes], origin: str) -> bytes:
    """The origin's own share, the same bytes for equal shares. Of spend only what it counted itself."""
    items = sorted(share.capabilities.dots.items(), key=lambda item: (item[0].kind, item[0].name))
    counted = {tenant: counter.slots.get(origin, 0) for tenant, counter in sorted(share.spend.items())}
    return msgspec.msgpack.encode(
        _State(
            VERSION,
            [_Provider(n, r.revision, r.writer, r.value) for n, r in sorted(share.providers.items())],
            [(c.kind, c.name, sorted(dots)) for c, dots in items],
            dict(sorted(share.capabilities.context.upto.items())),
            sorted(share.capabilities.context.beyond),
            {tenant: count for tenant, count in counted.items() if count},
        )
    )


def read_state(payload: bytes, origin: str) -> Share[bytes] | Refused:
    """Never raises, whatever the bytes. Spend is counted for the origin, whoever it claims to speak for."""
    try:
        if _versioned.decode(payload).version != VERSION:
            return Refused.VERSION
        said = _state.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Refused.MALFORMED
    return Share(
        {p.name: Lww(p.record, p.revision, p.writer) for p in said.providers},
        OrSet(
            {Capability(kind, name): frozenset(dots) for kind, name, dots in said.capabilities if dots},
            Context(said.upto, frozenset(said.beyond)),
        ),
        {tenant: GCounter({origin: count}) for tenant, count in said.spend.items()},
    )


def write_metadata(said: SiteSaid) -> bytes:
    return msgspec.msgpack.encode(
        _Metadata(VERSION, said.role, said.region, said.zone, said.sovereignty_zone, said.server_name)
    )


def read_metadata(payload: bytes) -> SiteSaid | Refused:
    """Never raises, whatever the bytes."""
    try:
        if _versioned.decode(payload).version != VERSION:
            return Refused.VERSION
        said = _metadata.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Refused.MALFORMED
    return SiteSaid(said.role, said.region, said.zone, said.sovereignty_zone, said.server_name)


def read_gateway(payload: bytes) -> str | Refused:
    """`host:port`, or empty for a site that has no gateway any more. Never raises, whatever the bytes."""
    try:
        address = payload.decode()
    except UnicodeDecodeError:
        return Refused.MALFORMED
    if len(address) > MAX_NAME or not address.isprintable() or (address and split(address) is None):
        return Refused.MALFORMED
    return address


@dataclass(slots=True)
class Heard:
    """What other sites of one network say. snapshot: state. gateways, certs, sites: by origin. refused: why
    facts were refused, and how often."""

    network: str
    snapshot: Snapshot[bytes] = field(default_factory=Snapshot)
    gateways: dict[str, str] = field(default_factory=dict)
    certs: dict[str, bytes] = field(default_factory=dict)
    sites: dict[str, SiteSaid] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    _revisions: dict[str, int] = field(default_factory=dict)

    def hear(self, fact: FactHeard) -> bool:
        """Whether anything is other than before. A refused fact changes nothing."""
        match fact.lane:
            case Lane.STATE:
                return self._hear_state(fact)
            case Lane.GATEWAY:
                return self._keep(self.gateways, fact.origin, read_gateway(fact.payload))
            case Lane.CERT:
                return self._hear_cert(fact)
            case Lane.METADATA:
                return self._keep(self.sites, fact.origin, read_metadata(fact.payload))
            case _:
                assert_never(fact.lane)

    def forget(self, origin: str) -> None:
        """A site that is gone for so long that nobody remembers it."""
        self.snapshot = self.snapshot.without([origin])
        self._revisions.pop(origin, None)
        for held in (self.gateways, self.certs, self.sites):
            held.pop(origin, None)

    def providers(self, origin: str) -> Mapping[str, bytes]:
        """Records of the providers an origin has now, by name."""
        return self.snapshot.share(self.network, origin).live

    def _hear_state(self, fact: FactHeard) -> bool:
        share = read_state(fact.payload, fact.origin)
        if isinstance(share, Refused):
            self.refused[share] += 1
            return False
        before = self.snapshot.share(self.network, fact.origin)
        after = before.merge(share)
        if fact.revision > self._revisions.get(fact.origin, 0):
            self._revisions[fact.origin] = fact.revision
            after = Share(share.providers, share.capabilities, after.spend)
        self.snapshot = self.snapshot.with_instead(self.network, fact.origin, after)
        return after != before

    def _hear_cert(self, fact: FactHeard) -> bool:
        """What could be a private key is discarded before anything else looks at it."""
        if isinstance(leaf_of(fact.payload), Refusal):
            self.refused[Refused.CERTIFICATE] += 1
            return False
        return self._keep(self.certs, fact.origin, fact.payload)

    def _keep(self, held: dict[str, _T], origin: str, value: _T | Refused) -> bool:
        if isinstance(value, Refused):
            self.refused[value] += 1
            return False
        if held.get(origin) == value:
            return False
        held[origin] = value
        return True
