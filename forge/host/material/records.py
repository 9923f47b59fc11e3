"""The index: one small file a thing, that says what was made, so that nothing need be parsed to know it.

It holds hashes, instants and folders, never a key or a value. Wherever a file was written there is a
record of it, so that `remove` finds it; where the two do not agree (the command was killed in between),
the thing looks damaged, and the next run puts it right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from forge.host.material import disk

VERSION = 1


@dataclass(frozen=True, slots=True)
class AuthorityRecord:
    """subject: common name and organization. sha256: of the certificate's DER. key_id: SHA-256 of its
    public key. pem, key: SHA-256 of the files. made_at, not_after: Unix seconds. directory: of ca.crt."""

    fingerprint: str
    subject: tuple[str, str | None]
    sha256: str
    key_id: str
    pem: str
    key: str
    made_at: float
    not_after: float
    directory: str

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> AuthorityRecord:
        name, organization = value["subject"]
        return cls(**{**value, "subject": (str(name), organization)})


@dataclass(frozen=True, slots=True)
class LeafRecord:
    """authority: its name. key_id: of the authority's key that signed it. files: name -> SHA-256 of the
    file. previous: DER hash of the certificate before it. folders: those made for it, or for others
    above it. done: False from before the files were written until they were. left: folders it was in
    before and is still to be taken out of. The rest as in AuthorityRecord."""

    fingerprint: str
    authority: str
    key_id: str
    sha256: str
    previous: str | None
    files: Mapping[str, str]
    made_at: float
    not_after: float
    directory: str
    folders: tuple[str, ...]
    done: bool
    left: tuple[str, ...]

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> LeafRecord:
        return cls(
            **{
                **value,
                "files": dict(value["files"]),
                "folders": tuple(value["folders"]),
                "left": tuple(value["left"]),
            }
        )


@dataclass(frozen=True, slots=True)
class SecretRecord:
    """made: by Forge; False where a user put the value there. sha256: of the value. path: its file."""

    fingerprint: str
    sha256: str
    made: bool
    path: str

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> SecretRecord:
        return cls(**value)


Record = AuthorityRecord | LeafRecord | SecretRecord
R = TypeVar("R", bound=AuthorityRecord | LeafRecord | SecretRecord)


class Shelf(Generic[R]):
    """The records of one kind, a file each."""

    def __init__(self, folder: Path, parse: Callable[[Mapping[str, Any]], R]) -> None:
        self._folder = folder
        self._parse = parse

    def path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def read(self, name: str) -> R | None:
        """None where there is none that can be read."""
        try:
            document = json.loads(self.path(name).read_text(encoding="utf-8"))
            if document.pop("version") != VERSION:
                return None
            record: R = self._parse(document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return record

    def all(self) -> dict[str, R]:
        """name -> record, of those that can be read."""
        names = sorted(path.stem for path in self._folder.glob("*.json"))
        return {name: record for name in names if (record := self.read(name)) is not None}

    def write(self, name: str, record: R) -> None:
        """Raises OSError. Nothing is written where it says that already."""
        if self.read(name) == record:
            return
        disk.make_folder(self._folder, 0o700)
        data = json.dumps({"version": VERSION, **asdict(record)}, indent=1).encode()
        disk.write(self.path(name), data + b"\n", disk.PRIVATE)

    def remove(self, name: str) -> None:
        disk.remove(self.path(name))
