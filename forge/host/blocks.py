"""Networks of the embedded runtime: blocks of loopback addresses, claimed by name for the whole machine.

    <registry>/<name>.json                     who has which block
    <state dir>/runtime/.networks/<id>         the other half, in the environment's own folder

A claim counts while both halves are there. So deleting an environment's folder gives its block back
without anybody's doing, and one made anew in its place inherits nothing. The registry is the user's
($XDG_STATE_HOME/praxis-forge/networks): two users of one machine do not see each other's claims.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path

from forge.errors import NotOurs, OperationFailed


@dataclass(frozen=True, slots=True)
class Claim:
    """name: of the network, unique on the machine. subnet: CIDR. key: as a resource's text form.
    state_dir: absolute, of the environment that holds it."""

    id: str
    name: str
    subnet: str
    key: str
    environment: str
    environment_id: str
    fingerprint: str
    state_dir: str

    @property
    def half(self) -> Path:
        return Path(self.state_dir) / "runtime" / ".networks" / self.id

    @property
    def holder(self) -> str:
        return f"environment {self.environment} ({self.state_dir})"


def registry(environ: Mapping[str, str]) -> Path:
    """The folder of claims of the user whose environment this is."""
    state = environ.get("XDG_STATE_HOME", "")
    home = Path(state) if state.startswith("/") else Path(environ.get("HOME", "/")) / ".local" / "state"
    return home / "praxis-forge" / "networks"


def claims(folder: Path) -> list[Claim]:
    """All claims that count, by name. A missing folder has none; an unreadable file is none."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for file in sorted(folder.glob("*.json")):
            claim = _read(file)
            if claim is not None and claim.half.exists():
                found.append(claim)
    return found


def take(folder: Path, wanted: Claim) -> None:
    """Claims the block. Raises NotOurs when another environment has the name, OperationFailed when one
    has a part of the block; nothing was changed then."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder):
        for other in claims(folder):
            if other.name == wanted.name and other.environment_id != wanted.environment_id:
                raise _foreign(other)
            if other.name != wanted.name and IPv4Network(other.subnet).overlaps(IPv4Network(wanted.subnet)):
                raise _overlaps(wanted, other)
        wanted.half.parent.mkdir(parents=True, exist_ok=True)
        wanted.half.touch()
        file = _file(folder, wanted.name)
        before = _read(file)
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(wanted)), encoding="utf-8")
        fresh.replace(file)
        if before is not None and before.half != wanted.half:
            _forget(before)


def release(folder: Path, identity: str) -> None:
    """Gives a block back by the claim's id; one that is gone is a success."""
    if not folder.is_dir():
        return
    with _locked(folder):
        for file in folder.glob("*.json"):
            claim = _read(file)
            if claim is not None and claim.id == identity:
                _forget(claim)
                file.unlink()


def _forget(claim: Claim) -> None:
    claim.half.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        claim.half.parent.rmdir()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{urllib.parse.quote(name, safe='')}.json"


def _read(file: Path) -> Claim | None:
    try:
        return Claim(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _foreign(other: Claim) -> NotOurs:
    return NotOurs(
        "FG0508",
        f"cannot make network {other.name!r}",
        why=f"it belongs to {other.holder}",
        hint="rename this environment, or take the other one down",
        changed=False,
    )


def _overlaps(wanted: Claim, other: Claim) -> OperationFailed:
    return OperationFailed(
        "FG0509",
        f"cannot make network {wanted.name!r}",
        why=f"its block {wanted.subnet} overlaps {other.subnet} of {other.holder}",
        hint="leave out spec.network.subnet and Forge finds a free one",
        changed=False,
    )
