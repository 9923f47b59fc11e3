"""Manifests by address or path, taken only when their bytes are the ones that were meant.

One by address is downloaded once and kept in the user's cache under its hash, so that the next lab needs no
network, and whatever lies in the cache is checked again before it is used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from forge.errors import OperationFailed
from forge.plan.lab_resources import PinnedFile
from forge.plan.ports import Progress

_MOST_BYTES = 16 * 1024 * 1024
"""MetalLB's manifest has 80 KB; a file this large is no manifest."""

_TIMEOUT_S = 30.0


def read(file: PinnedFile, environ: Mapping[str, str], progress: Progress) -> bytes:
    """Its bytes. Raises OperationFailed FG0714 where they cannot be had, FG0715 where they are others."""
    if file.path is not None:
        return _checked(_local(Path(file.path)), file, file.path)
    kept = cache(environ) / f"{(file.sha256 or '').lower()}.yaml"
    try:
        data = kept.read_bytes()
        if _digest(data) == (file.sha256 or "").lower():
            return data
    except OSError:
        pass
    data = _checked(_download(str(file.url), progress), file, str(file.url))
    _keep(kept, data)
    return data


def cache(environ: Mapping[str, str]) -> Path:
    """The folder of what was downloaded, of the user whose environment this is."""
    named = environ.get("XDG_CACHE_HOME", "")
    base = Path(named) if named.startswith("/") else Path(environ.get("HOME", "/")) / ".cache"
    return base / "praxis-forge" / "manifests"


def _keep(kept: Path, data: bytes) -> None:
    """A cache that cannot be written costs another download, nothing else."""
    try:
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}.new")
        fresh.write_bytes(data)
        fresh.replace(kept)
    except OSError:
        return


def _local(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _cannot_get(str(path), error.strerror or str(error), "correct the path") from error


def _download(url: str, progress: Progress) -> bytes:
    import httpx

    progress(f"downloading {url}")
    try:
        with httpx.stream("GET", url, follow_redirects=True, timeout=_TIMEOUT_S) as answer:
            answer.raise_for_status()
            data = b""
            for piece in answer.iter_bytes():
                data += piece
                if len(data) > _MOST_BYTES:
                    raise _cannot_get(
                        url, f"it is larger than {_MOST_BYTES // 2**20} MiB", "check the address"
                    )
            return data
    except httpx.HTTPError as error:
        hint = "check the network, or download it elsewhere and name it with manifest.path"
        failed = _cannot_get(url, str(error) or type(error).__name__, hint)
        failed.may_pass = isinstance(error, httpx.TransportError)
        raise failed from error


def _checked(data: bytes, file: PinnedFile, where: str) -> bytes:
    found = _digest(data)
    if file.sha256 is not None and found != file.sha256.lower():
        raise OperationFailed(
            "FG0715",
            f"{where} is not the file that was meant",
            why=f"its SHA-256 is {found}, and the file says {file.sha256.lower()}",
            hint="if the change is known and right, write the new sha256 into forge.yaml",
            changed=False,
        )
    return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _cannot_get(where: str, why: str, hint: str) -> OperationFailed:
    return OperationFailed("FG0714", f"cannot get {where}", why=why, hint=hint, changed=False)
