"""What `decide` wants done: values that `act` carries out without a choice of its own.

Each is what should be, not what changed: carried out twice it is the same as once, and one that was lost is
decided again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """A resource's whole status. kind, name: which; all of them are cluster-scoped."""

    kind: str
    name: str
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteOverlay:
    """A gateway's ConfigMap. owner: (name, uid) of the network it goes with.

    restored: it was right, and somebody else changed or deleted it.
    """

    namespace: str
    name: str
    network: str
    gateway: str
    owner: tuple[str, str]
    revision: int
    digest: str
    text: str
    restored: bool = False


@dataclass(frozen=True, slots=True)
class RemoveOverlay:
    """A ConfigMap of a gateway nobody refers to any more."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Emit:
    """An Event about a resource. warning: whether its type is Warning."""

    kind: str
    name: str
    uid: str
    reason: str
    note: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class WriteSite:
    """The parts of a GridSite's spec that are ours; what others wrote beside them stays."""

    name: str
    spec: Mapping[str, Any]
    labels: Mapping[str, str]


Action = WriteStatus | WriteOverlay | RemoveOverlay | Emit | WriteSite
