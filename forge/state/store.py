"""The state file on disk: read, and replaced whole or not at all.

    state.json.tmp   written, fsynced        state.json.1   the generation before, a hard link
    state.json       renamed over            the directory  fsynced

A crash at any point leaves state.json of before or of after. Everything is 0600 in a directory
that is 0700 and that git ignores.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from forge.errors import ForgeError, OperationFailed
from forge.plan.values import Owner
from forge.state.model import State, from_json, to_json

FILE = "state.json"
BACKUP = "state.json.1"
_IGNORE_ALL = "*\n"


class StateStore:
    """The one reader and writer of a state directory's state file.

    directory: the environment's `.forge`; it need not exist until something is written. Writers
    hold the directory's lock (forge.state.lock); readers need none, since replacing is atomic.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / FILE
        self.backup = directory / BACKUP

    def read(self) -> State | None:
        """The state, or None where there is none. Raises OperationFailed FG0201 for a damaged
        file, naming the backup and the command that restores it; nothing is changed."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise self._damaged(str(error)) from error
        try:
            return from_json(json.loads(text), str(self.path))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._damaged(_said(text, error)) from error

    def read_or_new(self, environment: str) -> State:
        """The state, or a first one with a new id, which is not written yet."""
        return self.read() or State(Owner(environment, os.urandom(8).hex()))

    def kept(self) -> tuple[str, ...]:
        """The names in `runtime` now: asked before the first `up`, what was not made by one."""
        folder = self.directory / "runtime"
        return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()

    def write(self, state: State) -> State:
        """Replaces the file; gives the state as written, one generation on.

        Raises OperationFailed FG0203 (disk full, no permission); the file is as it was then.
        """
        written = replace(state, generation=state.generation + 1)
        data = json.dumps(to_json(written), indent=1, ensure_ascii=False).encode() + b"\n"
        temporary = self.directory / f"{FILE}.tmp"
        try:
            self.prepare()
            _write_synced(temporary, data)
            self._keep_previous()
            temporary.replace(self.path)
            _sync_directory(self.directory)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise OperationFailed(
                "FG0203",
                f"cannot save the state file {self.path}",
                why=error.strerror or str(error),
                hint="make room or fix the permissions, then run it again: it goes on where it stopped",
            ) from error
        return written

    def prepare(self) -> None:
        """Makes the directory, private and ignored by git. Raises OSError."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = self.directory / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_IGNORE_ALL, encoding="ascii")

    def forget_ignore(self) -> None:
        """Removes the .gitignore that prepare wrote; one with other lines is somebody else's."""
        ignore = self.directory / ".gitignore"
        with suppress(OSError):
            if ignore.read_bytes() == _IGNORE_ALL.encode():
                ignore.unlink()

    def _keep_previous(self) -> None:
        if not self.path.exists():
            return
        link = self.directory / f"{BACKUP}.tmp"
        link.unlink(missing_ok=True)
        os.link(self.path, link)
        link.replace(self.backup)

    def _damaged(self, why: str) -> ForgeError:
        restore = f"mv {self.backup} {self.path}"
        hint = (
            f"the generation before it is kept; restore it with: {restore}"
            if self.backup.exists()
            else "move the file away to start anew; what was made under it stays labelled"
        )
        return OperationFailed(
            "FG0201", f"the state file {self.path} is damaged", why=why, hint=hint, changed=False
        )


def _said(text: str, error: Exception) -> str:
    """What is wrong with a state file, in words."""
    match error:
        case json.JSONDecodeError():
            return f"it is no JSON: {error}" if text.strip() else "it is empty"
        case KeyError():
            return f"it lacks {error}"
        case RecursionError():
            return "it is nested too deep"
        case _:
            return str(error)


def _write_synced(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
