"""What the operator needs of the mesh: what other sites say, and a way to tell them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from grid.crd.network import GridNetwork
from grid.reconcile.gossip import OwnPlace
from grid.reconcile.world import Capacity, Member, MeshStanding


class Mesh(Protocol):
    """A running mesh of all hosted networks."""

    def keep(
        self, group: asyncio.TaskGroup, networks: tuple[GridNetwork, ...], unread: frozenset[str]
    ) -> None:
        """Be a member of these networks; take leave of those that are gone. Returns at once.

        unread: names of networks that exist and cannot be read: they stay as they are.
        """
        ...

    def rest(self) -> None:
        """Another replica leads: be a member of none, without a goodbye."""
        ...

    def standings(self) -> Mapping[str, MeshStanding]:
        """How membership stands, by network; absent where that is not known yet, or none is wanted."""
        ...

    def certificates(self) -> Mapping[tuple[str, str], bytes]:
        """What sites announced as theirs, PEM without any key, by (network, site)."""
        ...

    def described(self) -> list[dict[str, object]]:
        """Its state for people, as JSON."""
        ...

    def capacities(self) -> tuple[Capacity, ...]:
        """What other sites offer now; the same objects as long as nothing is new."""
        ...

    def members(self) -> Mapping[tuple[str, str], Member]:
        """By (network, site)."""
        ...

    def heard(self) -> bool:
        """Whether a first exchange with the grid has been made, or there is nobody to make it with."""
        ...

    def publish(self, capacities: tuple[Capacity, ...], own: OwnPlace) -> None:
        """What this site offers and is, whole. Cheap to call with what was published before."""
        ...


class Alone:
    """No mesh: this cluster is the grid."""

    def keep(
        self, group: asyncio.TaskGroup, networks: tuple[GridNetwork, ...], unread: frozenset[str]
    ) -> None:
        """Nobody to be a member with."""

    def rest(self) -> None:
        """Nothing runs."""

    def standings(self) -> Mapping[str, MeshStanding]:
        return {}

    def certificates(self) -> Mapping[tuple[str, str], bytes]:
        return {}

    def described(self) -> list[dict[str, object]]:
        return []

    def capacities(self) -> tuple[Capacity, ...]:
        return ()

    def members(self) -> Mapping[tuple[str, str], Member]:
        return {}

    def heard(self) -> bool:
        return True

    def publish(self, capacities: tuple[Capacity, ...], own: OwnPlace) -> None:
        """Nobody to tell."""
