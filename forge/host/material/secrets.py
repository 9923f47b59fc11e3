"""Generated secrets: random bytes, made once. A value that a user put there is taken as it is."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

from forge.host.material import disk
from forge.host.material.place import Place, seen
from forge.host.material.records import SecretRecord
from forge.plan.lab_resources import SecretResource
from forge.plan.values import Key, Observed, Owner


class Secrets:
    def __init__(self, place: Place) -> None:
        self._place = place

    def observe(self, owner: Owner, key: Key) -> Observed | None:
        record = self._place.values.read(key.name)
        if record is None:
            return None
        found = disk.sha256(Path(record.path))
        wrong = (
            ""
            if found == record.sha256
            else "its value is gone"
            if found is None
            else "its value was changed"
        )
        return seen(owner, key, record.fingerprint, record.sha256, wrong)

    def make(self, wanted: SecretResource, fingerprint: str) -> str:
        """Raises OperationFailed FG0770."""
        path = Path(wanted.path)
        try:
            value, made = self._value(wanted, fingerprint)
            digest = hashlib.sha256(value).hexdigest()
            record = SecretRecord(fingerprint, digest, made, wanted.path)
            if made and disk.read(path) != value:
                self._put(path, value, wanted.name, record)
            self._place.values.write(wanted.name, record)
        except OSError as error:
            raise disk.cannot_write(path, error) from error
        return digest

    def _put(self, path: Path, value: bytes, name: str, record: SecretRecord) -> None:
        """Gone, noted, there: at no moment is a value of Forge's own taken for a user's."""
        path.unlink(missing_ok=True)
        self._place.values.write(name, record)
        disk.make_folder(path.parent, 0o700)
        disk.write(path, value, disk.PRIVATE)

    def _value(self, wanted: SecretResource, fingerprint: str) -> tuple[bytes, bool]:
        """The value to stand there, and whether Forge made it."""
        there, record = disk.read(Path(wanted.path)), self._place.values.read(wanted.name)
        if not there:
            return _random(wanted), True
        made = record is not None and record.made and hashlib.sha256(there).hexdigest() == record.sha256
        if made and record is not None and record.fingerprint != fingerprint:
            return _random(wanted), True
        return there, made

    def read(self, name: str) -> bytes | None:
        record = self._place.values.read(name)
        return None if record is None else disk.read(Path(record.path))

    def remove(self, name: str) -> None:
        """Raises OSError."""
        record = self._place.values.read(name)
        if record is not None:
            path = Path(record.path)
            if record.made and disk.sha256(path) in (record.sha256, None):
                disk.remove(path)
                disk.remove_empty([path.parent])
        self._place.values.remove(name)


def _random(wanted: SecretResource) -> bytes:
    value = os.urandom(wanted.bytes)
    match wanted.encoding:
        case "raw":
            return value
        case "hex":
            return value.hex().encode()
        case "base64":
            return base64.b64encode(value)
        case other:
            raise ValueError(f"no encoding {other!r}")
