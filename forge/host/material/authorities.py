"""Certificate authorities: a key that is kept, and the certificate that others trust.

    key         certificate                    make
    whole       whole, as wanted               keeps both
    whole       gone, spoiled, ending, other   certifies the same key again: its leaves stay good
                lifetime
    lost        still there, leaves stand      refuses: FG0771
    lost        gone too, or no leaves         a new authority
    any         of another subject             a new authority

Only the last two change the key. The copy of the certificate beside the key is what tells an accident
(the key alone is gone) from the wish to begin anew (both are).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from forge.errors import OperationFailed
from forge.host.material import disk
from forge.host.material.place import Place, seen
from forge.host.material.records import AuthorityRecord
from forge.plan.lab_resources import AuthorityResource
from forge.plan.material import ending
from forge.plan.values import Key, Observed, Owner

if TYPE_CHECKING:
    from forge.host.material import signing

PUBLIC_NAME = "ca.crt"


class Authorities:
    def __init__(self, place: Place) -> None:
        self._place = place

    def observe(self, owner: Owner, key: Key) -> Observed | None:
        record = self._place.authorities.read(key.name)
        if record is None:
            files = (self._place.authorities.path(key.name), self._key(key.name), self._certificate(key.name))
            there = any(file.exists() for file in files)
            return seen(owner, key, None, "", "it was only half made") if there else None
        return seen(owner, key, record.fingerprint, record.sha256, self._wrong(key.name, record))

    def _wrong(self, name: str, record: AuthorityRecord) -> str:
        key = disk.sha256(self._key(name))
        if key is None:
            return "its private key is gone"
        if key != record.key:
            return "its private key was changed"
        if disk.sha256(self._certificate(name)) != record.pem:
            return "its certificate is gone or was changed"
        if disk.sha256(Path(record.directory, PUBLIC_NAME)) != record.pem:
            return f"{PUBLIC_NAME} is gone or was changed"
        return ending(record.made_at, record.not_after, self._place.now())

    def make(self, wanted: AuthorityResource, fingerprint: str) -> str:
        """Raises OperationFailed FG0771, FG0770 (disk), FG0775 (names no certificate can carry)."""
        try:
            return self._write(wanted, fingerprint, self._settled(wanted))
        except OSError as error:
            raise disk.cannot_write(self._key(wanted.name), error) from error
        except ValueError as error:
            raise unsayable(f"authority {wanted.name}", error) from error

    def _settled(self, wanted: AuthorityResource) -> signing.Authority:
        """The authority as it is to stand: kept, certified again, or new."""
        from forge.host.material import signing

        subject = (wanted.common_name, wanted.organization)
        there = signing.read_certificate(disk.read(self._certificate(wanted.name)))
        record = self._place.authorities.read(wanted.name)
        key = self._usable_key(wanted.name, there, record)
        before = there.subject if there is not None else record.subject if record is not None else subject
        if key is None and before == subject:
            self._refuse_orphans(wanted.name)
        if key is None or before != subject:
            key, there = signing.new_key(), None
        now = self._place.now()
        if there is None or _is_other(there, wanted) or ending(there.made_at, there.not_after, now):
            there = signing.certify(subject, key, now, wanted.lifetime_s)
        return signing.Authority(there, key)

    def _usable_key(
        self, name: str, there: signing.Certificate | None, record: AuthorityRecord | None
    ) -> signing.Key | None:
        """The key on disk, if it is the one that the certificate, or else the record, speaks of."""
        from forge.host.material import signing

        key = signing.read_key(disk.read(self._key(name)))
        known = there.key_id if there is not None else record.key_id if record is not None else None
        if key is None or (known is not None and signing.key_id(key) != known):
            return None
        return key

    def _refuse_orphans(self, name: str) -> None:
        """Leaves that a lost key signed would silently stop being trusted by whoever has the old ca.crt."""
        leaves = [leaf for leaf, r in self._place.leaves.all().items() if r.authority == name]
        certificate = self._certificate(name)
        if not leaves or not certificate.exists():
            return
        raise OperationFailed(
            "FG0771",
            f"authority {name} cannot sign any more",
            why=f"its private key {self._key(name)} is gone or unusable, and it signed {', '.join(leaves)}",
            hint=f"put the key back; or remove {certificate} as well, and `up` makes a new authority "
            "and issues all its certificates anew",
            changed=False,
        )

    def _write(self, wanted: AuthorityResource, fingerprint: str, made: signing.Authority) -> str:
        """The key first: a certificate without its key would be taken for an accident."""
        from forge.host.material import signing

        place, certificate, name = self._place, made.certificate, wanted.name
        key_file, pem = self._key(name), certificate.pem
        disk.make_folder(key_file.parent, 0o700)
        if signing.read_key(disk.read(key_file)) is None or self._differs(key_file, made.key):
            self._certificate(name).unlink(missing_ok=True)
            disk.write(key_file, signing.key_pem(made.key), disk.PRIVATE)
        public = Path(wanted.directory, PUBLIC_NAME)
        disk.make_folder(public.parent)
        for file in (self._certificate(name), public):
            if disk.read(file) != pem:
                disk.write(file, pem, disk.PUBLIC)
        before = place.authorities.read(name)
        place.authorities.write(name, self._record(wanted, fingerprint, made))
        if before is not None and before.directory != wanted.directory:
            _withdraw(Path(before.directory))
        return certificate.sha256

    @staticmethod
    def _differs(file: Path, key: signing.Key) -> bool:
        from forge.host.material import signing

        there = signing.read_key(disk.read(file))
        return there is None or signing.key_id(there) != signing.key_id(key)

    def _record(
        self, wanted: AuthorityResource, fingerprint: str, made: signing.Authority
    ) -> AuthorityRecord:
        certificate = made.certificate
        return AuthorityRecord(
            fingerprint=fingerprint,
            subject=certificate.subject,
            sha256=certificate.sha256,
            key_id=certificate.key_id,
            pem=disk.sha256(self._certificate(wanted.name)) or "",
            key=disk.sha256(self._key(wanted.name)) or "",
            made_at=certificate.made_at,
            not_after=certificate.not_after,
            directory=wanted.directory,
        )

    def open(self, name: str) -> signing.Authority:
        """For signing. Raises OperationFailed FG0773 where it is not there or not whole."""
        from forge.host.material import signing

        certificate = signing.read_certificate(disk.read(self._certificate(name)))
        key = signing.read_key(disk.read(self._key(name)))
        if certificate is None or key is None or signing.key_id(key) != certificate.key_id:
            raise OperationFailed(
                "FG0773",
                f"authority {name} cannot sign",
                why=f"there is no whole key and certificate in {self._key(name).parent}",
                hint="run `praxis-forge up`: it makes the authority first, or says what is wrong with it",
                changed=False,
            )
        return signing.Authority(certificate, key)

    def remove(self, name: str) -> None:
        """Raises OSError."""
        record = self._place.authorities.read(name)
        usual = self._place.state_dir / "runtime" / "certs" / name
        _withdraw(usual if record is None else Path(record.directory))
        for file in (self._key(name), self._certificate(name)):
            disk.remove(file)
        self._place.authorities.remove(name)

    def _key(self, name: str) -> Path:
        return self._place.own / "authority" / f"{name}.key"

    def _certificate(self, name: str) -> Path:
        return self._place.own / "authority" / f"{name}.crt"


def unsayable(what: str, error: ValueError) -> OperationFailed:
    return OperationFailed(
        "FG0775",
        f"{what} cannot be made",
        why=str(error),
        hint="correct its names under spec.certificates",
        changed=False,
    )


def _is_other(there: signing.Certificate, wanted: AuthorityResource) -> bool:
    """Whether it was made for another lifetime. Certificates speak in whole seconds."""
    return abs((there.not_after - there.made_at) - wanted.lifetime_s) > 1


def _withdraw(folder: Path) -> None:
    disk.remove(folder / PUBLIC_NAME)
    disk.remove_empty([folder, folder.parent])
