"""Our own certificate is ours only if name, issuer, key, time and pin all say so; and nothing of a key is ever told."""

from __future__ import annotations

import hashlib
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from grid.crd.site import GridSite, read_site
from grid.reconcile.identity import Identity
from grid.reconcile.world import Trust
from tests.kit.certs import Authority, Leaf
from tests.kit.operators import identity
from tests.kit.resources import site

NOW = 1_784_980_800.0
LONG_AGO, NEVER = 1_500_000_000.0, 4_000_000_000.0


class Mine:
    """A sound identity of the site `mine`, and a stranger's."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.leaf = self.authority.leaf("mine")
        self.folder = identity(folder / "mine", self.authority, self.leaf)
        (folder / "other").mkdir()
        self.stranger = Authority(folder / "other", "other-ca")

    def replace(self, name: str, data: bytes) -> None:
        (self.folder / name).write_bytes(data)

    def key(self) -> bytes:
        return (self.folder / "tls.key").read_bytes()

    def certificate(self) -> bytes:
        return (self.folder / "tls.crt").read_bytes()


@pytest.fixture
def mine(tmp_path: Path) -> Mine:
    return Mine(tmp_path)


def pinned(*leaves: Leaf, name: str = "mine") -> GridSite:
    pins = [hashlib.sha256(leaf.der).hexdigest() for leaf in leaves]
    return read_site(site(name, trust={"canonicalFingerprints": pins} if pins else None))


def swap(mine: Mine, leaf: Leaf) -> None:
    """*leaf* with its key in place of ours."""
    mine.replace("tls.crt", leaf.certificate.read_bytes())
    mine.replace("tls.key", leaf.key.read_bytes())


def test_what_fits_together_is_us(mine: Mine) -> None:
    next_one = mine.authority.leaf("mine", file="next")
    assert Identity(mine.folder).check(pinned(next_one, mine.leaf), NOW).found is Trust.VERIFIED


BROKEN: list[tuple[str, Callable[[Mine], object], Trust, str]] = [
    (
        "no certificate",
        lambda m: (m.folder / "tls.crt").unlink(),
        Trust.TRUST_MATERIAL_MISSING,
        "tls.crt cannot",
    ),
    ("no key", lambda m: (m.folder / "tls.key").unlink(), Trust.TRUST_MATERIAL_MISSING, "tls.key cannot"),
    ("no CA", lambda m: (m.folder / "ca.crt").unlink(), Trust.TRUST_MATERIAL_MISSING, "ca.crt cannot"),
    ("no Secret", lambda m: shutil.rmtree(m.folder), Trust.TRUST_MATERIAL_MISSING, "cannot be read"),
    (
        "a private key where the certificate belongs",
        lambda m: m.replace("tls.crt", m.key()),
        Trust.TRUST_MATERIAL_INVALID,
        "tls.crt holds a private key",
    ),
    (
        "a private key behind the certificate",
        lambda m: m.replace("tls.crt", m.certificate() + m.key()),
        Trust.TRUST_MATERIAL_INVALID,
        "tls.crt holds a private key",
    ),
    (
        "a private key beside the CA",
        lambda m: m.replace("ca.crt", m.authority.path.read_bytes() + m.key()),
        Trust.TRUST_MATERIAL_INVALID,
        "ca.crt holds a private key",
    ),
    (
        "no certificate in the file",
        lambda m: m.replace("tls.crt", b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"),
        Trust.TRUST_MATERIAL_INVALID,
        "no certificate that can be read",
    ),
    ("an empty file", lambda m: m.replace("tls.crt", b""), Trust.TRUST_MATERIAL_INVALID, "no certificate"),
    (
        "a CA that is none",
        lambda m: m.replace("ca.crt", b"\x00\xff"),
        Trust.TRUST_MATERIAL_INVALID,
        "ca.crt holds no",
    ),
    (
        "a key that is none",
        lambda m: m.replace("tls.key", b"\xff"),
        Trust.TRUST_MATERIAL_INVALID,
        "no private key",
    ),
    (
        "a flood",
        lambda m: m.replace("ca.crt", b"x" * 300_000),
        Trust.TRUST_MATERIAL_INVALID,
        "ca.crt is too large",
    ),
    (
        "another's key",
        lambda m: m.replace("tls.key", m.stranger.leaf("mine").key.read_bytes()),
        Trust.TRUST_MATERIAL_INVALID,
        "tls.key is not the key",
    ),
    (
        "another CA's leaf",
        lambda m: swap(m, m.stranger.leaf("mine")),
        Trust.UNTRUSTED_ISSUER,
        "not issued by ca.crt",
    ),
    (
        "a leaf of another site",
        lambda m: swap(m, m.authority.leaf("theirs")),
        Trust.IDENTITY_MISMATCH,
        "common name",
    ),
    (
        "a leaf that is not pinned",
        lambda m: swap(m, m.authority.leaf("mine", file="renewed")),
        Trust.PIN_MISMATCH,
        "none of the certificates",
    ),
    (
        "a leaf whose time is over",
        lambda m: swap(m, m.authority.leaf("mine", file="old", expired=True)),
        Trust.CERTIFICATE_EXPIRED,
        "expired",
    ),
]


@pytest.mark.parametrize(
    ("broken", "found", "detail"), [pytest.param(*row, id=name) for name, *row in BROKEN]
)
def test_what_is_wrong_has_its_reason_and_says_nothing_of_the_key(
    mine: Mine, broken: Callable[[Mine], object], found: Trust, detail: str
) -> None:
    secret = mine.key().splitlines()[1]
    broken(mine)
    said = Identity(mine.folder).check(pinned(mine.leaf), NOW)
    assert said.found is found
    assert detail in said.detail
    assert secret.decode() not in repr(said)


def test_a_certificate_has_its_time(mine: Mine) -> None:
    ours = Identity(mine.folder)
    found = [ours.check(pinned(mine.leaf), now).found for now in (LONG_AGO, NOW, NEVER)]
    assert found == [Trust.CERTIFICATE_NOT_YET_VALID, Trust.VERIFIED, Trust.CERTIFICATE_EXPIRED]


@pytest.mark.parametrize(
    ("trust", "found"),
    [
        pytest.param(None, Trust.TRUST_MATERIAL_MISSING, id="no pins"),
        pytest.param({"certFingerprint": "aa:bb"}, Trust.TRUST_MATERIAL_INVALID, id="the older way to pin"),
    ],
)
def test_without_pins_nothing_is_proved(mine: Mine, trust: dict[str, str] | None, found: Trust) -> None:
    own = read_site(site("mine", trust=trust))
    assert Identity(mine.folder).check(own, NOW).found is found


def test_a_renewed_secret_is_read_again(mine: Mine) -> None:
    ours, renewed = Identity(mine.folder), mine.authority.leaf("mine", file="renewed")
    both = pinned(mine.leaf, renewed)
    first = ours.context(check_name=True)
    assert ours.context(check_name=True) is first, "kept as long as the files are"
    swap(mine, renewed)
    assert ours.check(both, NOW).found is Trust.VERIFIED
    assert ours.check(pinned(mine.leaf), NOW).found is Trust.PIN_MISMATCH
    assert ours.context(check_name=True) is not first


def test_nothing_is_made_where_something_is_missing(mine: Mine) -> None:
    for name in ("tls.crt", "tls.key"):
        (mine.folder / name).unlink()
    ours = Identity(mine.folder)
    ours.check(pinned(mine.leaf), NOW)
    with pytest.raises(OSError, match="No such file"):
        ours.context(check_name=True)
    assert [path.name for path in mine.folder.iterdir()] == ["ca.crt"]


def test_a_context_that_only_verifies_needs_no_certificate_of_ours(mine: Mine) -> None:
    (mine.folder / "tls.crt").unlink()
    made = Identity(mine.folder).context(check_name=True, show=False)
    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_REQUIRED, True)
