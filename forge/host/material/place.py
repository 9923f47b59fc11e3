"""Where everything of one environment lies, and what its index says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from forge.host.material.records import AuthorityRecord, LeafRecord, SecretRecord, Shelf
from forge.plan.values import Key, Observed, Owner, Phase

SECRETS = "secrets"
OWN = "_forge"
"""A name that no secret of a file can have: theirs are DNS labels."""


@dataclass(frozen=True, slots=True)
class Place:
    """state_dir: absolute. now: Unix seconds. making: held while folders are made and remembered."""

    state_dir: Path
    now: Callable[[], float]
    making: threading.Lock = field(default_factory=threading.Lock)

    @property
    def secrets(self) -> Path:
        return self.state_dir / SECRETS

    @property
    def own(self) -> Path:
        return self.secrets / OWN

    @property
    def authorities(self) -> Shelf[AuthorityRecord]:
        return Shelf(self.own / "authority", AuthorityRecord.parse)

    @property
    def leaves(self) -> Shelf[LeafRecord]:
        return Shelf(self.own / "certificate", LeafRecord.parse)

    @property
    def values(self) -> Shelf[SecretRecord]:
        return Shelf(self.own / "secret", SecretRecord.parse)

    def is_inside(self, folder: Path) -> bool:
        """Whether it is below the state directory, where everything is Forge's own."""
        return folder.is_relative_to(self.state_dir)


def seen(owner: Owner, key: Key, fingerprint: str | None, identity: str, detail: str) -> Observed:
    """detail: what is wrong with it; empty for a whole one."""
    return Observed(
        key, owner, fingerprint, Phase.BROKEN if detail else Phase.PRESENT, identity, detail=detail
    )
