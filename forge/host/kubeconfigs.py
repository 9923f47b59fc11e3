"""The user's own kubeconfig file: changed only when asked, by kubectl's rules, and never left half written.

kubectl and kind lock `config` by making `config.lock`, and know no owner of it: a lock that a killed
program left stays. Forge waits for it, and then says so; it never takes one away.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from forge.errors import OperationFailed
from forge.host.clusters import kubeconfig
from forge.plan.kubeconfigs import Document, is_empty

LOCK_S = 10.0
"""How long to wait for somebody else's lock: kubectl holds it for milliseconds."""


def users_file(environ: Mapping[str, str], home: Path) -> Path:
    """Where kubectl would write: of KUBECONFIG the first file that exists, else its last; without it
    ~/.kube/config."""
    named = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not named:
        return home / ".kube" / "config"
    return next((path for path in named if path.exists()), named[-1])


def change(file: Path, into: Callable[[Document], Document], *, wait_s: float = LOCK_S) -> None:
    """Replaces the file's document by what `into` makes of it, under its lock. A file that has nothing
    any more is taken away; a new one is readable for its owner alone.

    Raises OperationFailed FG0778 (locked), FG0786 (unreadable, unwritable); the file is as it was then,
    also where `into` raises.
    """
    path = Path(os.path.realpath(file))  # a link stays one
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path, wait_s):
            before = read(path)
            after = into(before)
            if is_empty(after) and not is_empty(before):
                path.unlink(missing_ok=True)
            elif after != before:
                _write(path, _text(after))
    except OSError as error:
        raise _unusable(file, error.strerror or str(error)) from error


def read(path: Path) -> Document:
    """The document of a kubeconfig; empty where there is no file. Raises OperationFailed FG0786."""
    try:
        text = path.read_text(encoding="utf-8")
        return kubeconfig.parse(text) if text.strip() else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error


def export(path: Path, document: Document) -> None:
    """Writes a file of its own, 0600. Raises OperationFailed FG0786."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, _text(document), mode=0o600)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error


def text(document: Document) -> str:
    """As people read it."""
    return _text(document).decode()


def _text(document: Document) -> bytes:
    import yaml

    plain: Any = json.loads(json.dumps(document))
    return bytes(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, encoding="utf-8"))


def _write(path: Path, data: bytes, mode: int | None = None) -> None:
    if mode is None:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            os.fchmod(descriptor, mode)
            opened.write(data)
            opened.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def _locked(path: Path, wait_s: float) -> Iterator[None]:
    lock = path.with_name(f"{path.name}.lock")
    until, wait = time.monotonic() + wait_s, 0.01
    while not _made(lock):
        if time.monotonic() >= until:
            raise _is_locked(path, lock)
        time.sleep(wait)
        wait = min(wait * 2, 0.2)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()


def _made(lock: Path) -> bool:
    try:
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _is_locked(path: Path, lock: Path) -> OperationFailed:
    age = ""
    with suppress(OSError):
        age = f", made {max(0.0, time.time() - lock.stat().st_mtime):.0f} s ago"
    return OperationFailed(
        "FG0778",
        f"{path} is locked",
        why=f"{lock} exists{age}",
        hint="if no kubectl, kind or helm runs now, a killed one left it: remove it and run this again",
        changed=False,
    )


def _unusable(path: Path, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0786",
        f"cannot use the kubeconfig {path}",
        why=why,
        hint="put it right, or name another with KUBECONFIG",
        changed=False,
    )
