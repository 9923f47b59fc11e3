"""What is kept of one cluster, in <state_dir>/clusters/<name>/: the folder goes with the cluster.

about.json    what was begun or made: driver, names, owner, fingerprint, id
kubeconfig    Forge's own access to it (0600), once it is made
images.json   embedded: what stands for which image
data/         embedded: the daemon's own
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from forge.plan.lab_resources import Driver
from forge.plan.values import Owner

_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class About:
    """made: whether its creation ended. id: uid of its kube-system namespace, empty before that.
    context: of the user's kubeconfig, for EXISTING. port: of an embedded API."""

    driver: Driver
    full_name: str
    environment: str
    environment_id: str
    fingerprint: str
    made: bool = False
    id: str = ""
    context: str = ""
    network_server: str = ""
    port: int = 0

    @property
    def owner(self) -> Owner:
        return Owner(self.environment, self.environment_id)


class Folder:
    """path: of one cluster. Nothing is there before `begin`."""

    def __init__(self, state_dir: Path, name: str) -> None:
        self.path = state_dir / "clusters" / name

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    def about(self) -> About | None:
        """None where nothing is known, or what is there cannot be read."""
        try:
            raw = json.loads((self.path / "about.json").read_text(encoding="utf-8"))
            return About(**{**raw, "driver": Driver(raw["driver"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, about: About) -> None:
        self.write_file("about.json", json.dumps(asdict(about), indent=1).encode())

    def write_file(self, name: str, data: bytes) -> Path:
        """Replaces a file of the folder by rename, readable for its owner alone."""
        self._make()
        fresh, file = self.path / f"{name}.{os.getpid()}.new", self.path / name
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
        fresh.replace(file)
        return file

    def _make(self) -> None:
        """Again where another cluster's removal took the folder of all away in between."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def remove(self) -> None:
        """All of it, and the folder of all clusters with the last one."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()


def known(state_dir: Path) -> Iterator[str]:
    """Names of the clusters that have a folder."""
    with contextlib.suppress(OSError):
        yield from sorted(p.name for p in (state_dir / "clusters").iterdir() if p.is_dir())
