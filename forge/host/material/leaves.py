"""Certificates that authorities sign: issued, judged, renewed and taken away again."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from forge.errors import NotOurs, OperationFailed
from forge.host.material import disk
from forge.host.material.authorities import Authorities, unsayable
from forge.host.material.place import Place, seen
from forge.host.material.records import LeafRecord
from forge.plan.lab_resources import LeafResource
from forge.plan.material import ending
from forge.plan.values import Key, Observed, Owner

if TYPE_CHECKING:
    from forge.host.material import signing

CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"
NAMES: Final = (CERTIFICATE, KEY, CA)


class Leaves:
    def __init__(self, place: Place, authorities: Authorities) -> None:
        self._place = place
        self._authorities = authorities

    def observe(self, owner: Owner, key: Key) -> Observed | None:
        shelf = self._place.leaves
        record = shelf.read(key.name)
        if record is None:
            there = shelf.path(key.name).exists()
            return seen(owner, key, None, "", "what was noted of it cannot be read") if there else None
        found = _hashes(Path(record.directory))
        return seen(owner, key, record.fingerprint, record.sha256, self._wrong(record, found))

    def _wrong(self, record: LeafRecord, found: dict[str, str | None]) -> str:
        wrong = [name for name in NAMES if found[name] != record.files.get(name)]
        if wrong and not record.done:
            return "it was only half made"
        if wrong:
            return f"{', '.join(wrong)} gone or changed"
        if record.left:
            return "it was only half moved"
        authority = self._place.authorities.read(record.authority)
        if authority is None:
            return f"authority {record.authority} is gone"
        if authority.key_id != record.key_id:
            return f"authority {record.authority} has another key than when it signed it"
        if authority.pem != record.files[CA]:
            return f"the certificate of authority {record.authority} was renewed"
        return ending(record.made_at, record.not_after, self._place.now())

    def make(self, wanted: LeafResource, fingerprint: str) -> str:
        """Raises OperationFailed FG0773, FG0770 (disk), FG0775 (names), NotOurs FG0772."""
        folder = Path(wanted.directory)
        try:
            authority = self._authorities.open(wanted.authority)
            record = self._place.leaves.read(wanted.name)
            self._refuse_foreign(wanted, folder, record)
            if record is not None and self._may_stay(record, wanted, fingerprint, authority):
                return self._follow(wanted.name, record, authority)
            return self._issue(wanted, fingerprint, authority, record)
        except OSError as error:
            raise disk.cannot_write(folder, error) from error
        except ValueError as error:
            raise unsayable(f"certificate {wanted.name}", error) from error

    def _refuse_foreign(self, wanted: LeafResource, folder: Path, record: LeafRecord | None) -> None:
        if self._place.is_inside(folder) or (record is not None and record.directory == wanted.directory):
            return
        there = [name for name in NAMES if (folder / name).exists() or (folder / name).is_symlink()]
        if there:
            raise NotOurs(
                "FG0772",
                f"certificate {wanted.name} cannot be written",
                why=f"{folder} holds {', '.join(there)}, which this environment did not put there",
                hint="name another `directory`, or move those files away",
                changed=False,
            )

    def _may_stay(
        self, record: LeafRecord, wanted: LeafResource, fingerprint: str, authority: signing.Authority
    ) -> bool:
        """Whether key and certificate are whole, as wanted, of this authority's key, and good for long."""
        found = _hashes(Path(wanted.directory))
        return (
            record.fingerprint == fingerprint
            and record.directory == wanted.directory
            and record.key_id == authority.key_id
            and all(found[name] == record.files.get(name) for name in (CERTIFICATE, KEY))
            and not ending(record.made_at, record.not_after, self._place.now())
        )

    def _follow(self, name: str, record: LeafRecord, authority: signing.Authority) -> str:
        """Writes the authority's certificate beside it, where that changed."""
        folder, ca = Path(record.directory), authority.certificate.pem
        if _hash(ca) != _hashes(folder)[CA]:
            pair = [(folder / part).read_bytes() for part in (CERTIFICATE, KEY)]
            self._publish(folder, pair[0], pair[1], ca)
        self._settle(name, replace(record, files={**record.files, CA: _hash(ca)}))
        return record.sha256

    def _issue(
        self,
        wanted: LeafResource,
        fingerprint: str,
        authority: signing.Authority,
        before: LeafRecord | None,
    ) -> str:
        from forge.host.material import signing

        key = signing.new_key()
        made = signing.issue(wanted, key, authority, self._place.now())
        files = {CERTIFICATE: made.pem, KEY: signing.key_pem(key), CA: authority.certificate.pem}
        with self._place.making:
            record = LeafRecord(
                fingerprint=fingerprint,
                authority=wanted.authority,
                key_id=authority.key_id,
                sha256=made.sha256,
                previous=_served(before),
                files={name: _hash(data) for name, data in files.items()},
                made_at=made.made_at,
                not_after=made.not_after,
                directory=wanted.directory,
                folders=self._folders(Path(wanted.directory), before),
                done=False,
                left=_left(before, wanted),
            )
            self._place.leaves.write(wanted.name, record)
            disk.make_folder(Path(wanted.directory))
        self._publish(Path(wanted.directory), *files.values())
        self._settle(wanted.name, record)
        return made.sha256

    def _settle(self, name: str, record: LeafRecord) -> None:
        """Its files stand: takes it out of where it was before, and notes that all is done."""
        if record.left:
            with self._place.making:
                for folder in record.left:
                    disk.withdraw(Path(folder), NAMES)
                disk.remove_empty(set(record.folders) - set(_way(record.directory)))
        self._place.leaves.write(name, replace(record, done=True, left=()))

    def _folders(self, folder: Path, before: LeafRecord | None) -> tuple[str, ...]:
        """Folders on its way that Forge makes, now, or made for another leaf."""
        made = set(map(str, disk.missing_folders(folder)))
        known = {f for record in self._place.leaves.all().values() for f in record.folders}
        known &= set(_way(str(folder)))
        own = set(before.folders) if before is not None else set()
        return tuple(sorted(made | known | own))

    def _publish(self, folder: Path, certificate: bytes, key: bytes, ca: bytes) -> None:
        files = {CERTIFICATE: (certificate, disk.PUBLIC), KEY: (key, disk.PRIVATE), CA: (ca, disk.PUBLIC)}
        disk.publish(folder, files)

    def read(self, name: str) -> tuple[bytes, bytes, bytes] | None:
        """tls.crt, tls.key, ca.crt, which fit; None where they are not whole."""
        record = self._place.leaves.read(name)
        if record is None:
            return None
        try:
            folder = disk.content(Path(record.directory))
            certificate, key, ca = ((folder / part).read_bytes() for part in NAMES)
        except OSError:
            return None
        found = dict(zip(NAMES, map(_hash, (certificate, key, ca)), strict=True))
        return (certificate, key, ca) if found == dict(record.files) else None

    def remove(self, name: str) -> None:
        """Raises OSError."""
        record = self._place.leaves.read(name)
        with self._place.making:
            if record is not None:
                self._withdraw(record)
            self._place.leaves.remove(name)

    def _withdraw(self, record: LeafRecord) -> None:
        for folder in (record.directory, *record.left):
            disk.withdraw(Path(folder), NAMES)
        disk.remove_empty(record.folders)


def _left(before: LeafRecord | None, wanted: LeafResource) -> tuple[str, ...]:
    """Folders that hold the certificate and shall not any more."""
    if before is None:
        return ()
    return tuple({*before.left, before.directory} - {wanted.directory})


def _way(folder: str) -> tuple[str, ...]:
    """The folder and those above it."""
    return (folder, *map(str, Path(folder).parents))


def _served(before: LeafRecord | None) -> str | None:
    """The last certificate that anybody can use. One that was noted and not written whole is none."""
    if before is None:
        return None
    written = before.done or _hashes(Path(before.directory)) == before.files
    return before.sha256 if written else before.previous


def missing(name: str) -> OperationFailed:
    return OperationFailed(
        "FG0774",
        f"{name} cannot be read",
        why="it is not there, or a file of it was changed",
        hint="run `praxis-forge up`, which makes it anew",
        changed=False,
    )


def _hashes(folder: Path) -> dict[str, str | None]:
    return {name: disk.sha256(folder / name) for name in NAMES}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
