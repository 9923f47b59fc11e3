"""What one site tells the others of its capacity: the bytes of the mesh's state lane, both ways.

A record is a list of values in a fixed order: short on the wire, and a later version may add at the end. Ages
travel, instants do not. What a site says of itself is believed only as far as its shape: names, bounds and
numbers are held here, and a credential has no place in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated

import msgspec

from grid.contract.overlay import is_identifier
from grid.reconcile.declared import FRESH_FOR_S
from grid.reconcile.world import Capacity, Drain
from grid.scoring.health import Phase
from grid.scoring.signals import Category, Signals

# A site with more would fill a gateway's whole overlay by itself.
MAX_RECORDS = 1024
_Names = Annotated[list[str], msgspec.Meta(max_length=256)]
_Measure = Annotated[float, msgspec.Meta(ge=0)] | None
# Two digits rank as well as all of them, and make fewer different messages.
_DIGITS = 2


class _Record(msgspec.Struct, array_like=True, frozen=True):
    provider: str
    cluster: str
    models: _Names
    category: Category
    phase: Phase
    drain: Drain
    access: Annotated[list[tuple[str, str]], msgspec.Meta(max_length=64)]
    measured: bool
    reading: int | None
    queue: _Measure
    kv_cache: _Measure
    prefix_hit: _Measure
    p99_ms: _Measure
    cost_usd_per_1k: _Measure
    age_s: Annotated[float, msgspec.Meta(ge=0)]
    fresh_for_s: Annotated[float, msgspec.Meta(gt=0)]


_Records = Annotated[list[_Record], msgspec.Meta(max_length=MAX_RECORDS)]
_decoder = msgspec.msgpack.Decoder(_Records)


class ToldRejected(Exception):
    """Bytes are not what a site tells; what it told before stands until it is stale."""


def tell(capacities: Iterable[Capacity], now: float) -> bytes:
    """This site's capacity for one network, by provider name."""
    records = [_record(each, now) for each in sorted(capacities, key=lambda each: each.provider)]
    return msgspec.msgpack.encode(records[:MAX_RECORDS])


def hear(data: bytes, network: str, site: str, age_s: float, now: float) -> tuple[Capacity, ...]:
    """What *site* told of *network*, *age_s* ago. Raises ToldRejected for anything else."""
    try:
        records = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as fault:
        raise ToldRejected(type(fault).__name__) from None
    if len({record.provider for record in records}) != len(records):
        raise ToldRejected("a provider twice")
    return tuple(_capacity(record, network, site, age_s, now) for record in records)


def _record(capacity: Capacity, now: float) -> _Record:
    signals = capacity.signals
    known = capacity.measured and capacity.reading is not None
    return _Record(
        capacity.provider,
        capacity.cluster,
        list(capacity.models),
        capacity.category,
        capacity.phase,
        capacity.drain,
        list(capacity.access),
        capacity.measured,
        capacity.reading,
        _short(signals.queue),
        _short(signals.kv_cache),
        _short(signals.prefix_hit),
        _short(signals.p99_ms),
        signals.cost_usd_per_1k,
        round(max(0.0, capacity.age_s + now - capacity.at), 1) if known else 0.0,
        capacity.fresh_for_s if math.isfinite(capacity.fresh_for_s) else FRESH_FOR_S,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _capacity(record: _Record, network: str, site: str, age_s: float, now: float) -> Capacity:
    labels = [text for pair in record.access for text in pair if text]
    names = (record.provider, record.cluster, *record.models, *labels)
    if not all(map(is_identifier, names)):
        raise ToldRejected("a name beyond its bounds")
    signals = Signals(record.queue, record.kv_cache, record.prefix_hit, record.p99_ms, record.cost_usd_per_1k)
    numbers = (signals.queue, signals.kv_cache, signals.prefix_hit, signals.p99_ms, signals.cost_usd_per_1k)
    if not all(
        number is None or math.isfinite(number) for number in (*numbers, record.age_s, record.fresh_for_s)
    ):
        raise ToldRejected("a number that is none")
    return Capacity(
        network=network,
        site=site,
        provider=record.provider,
        models=tuple(record.models),
        cluster=record.cluster,
        category=record.category,
        phase=record.phase,
        access=tuple(sorted(record.access)),
        drain=record.drain,
        measured=record.measured,
        reading=record.reading,
        signals=signals,
        age_s=record.age_s + max(0.0, age_s),
        at=now,
        fresh_for_s=record.fresh_for_s,
    )
