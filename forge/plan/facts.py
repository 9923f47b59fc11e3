"""What is known of a lab beside its file: values that only its making brings about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Facts:
    """What templates may say beside their own cluster and stack, as far as it is known now.

    captures: cluster -> key -> value. pools: cluster -> its load-balancer addresses, `first-last`.
    fingerprints: leaf -> hex SHA-256 of its certificate; previous: those before the last renewal.
    addresses: service -> its address on the lab network. secrets: name -> hex SHA-256 of its value.
    """

    captures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    pools: Mapping[str, str] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    previous: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
