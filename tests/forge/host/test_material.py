"""Certificates and secrets on disk keep the port's contract, and what a disk adds to it."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forge.errors import ForgeError, OperationFailed
from forge.host.material import disk, records
from forge.plan.values import Phase
from tests.kit.disk_material import DiskDesk
from tests.kit.material_contract import CA, DAY, TOKEN, WEB, F, G, MaterialContract


@pytest.fixture
def desk(tmp_path: Path) -> DiskDesk:
    return DiskDesk(tmp_path)


@pytest.fixture
def made(desk: DiskDesk) -> DiskDesk:
    """With an authority, a leaf and a secret."""
    desk.open().make_authority(desk.authority(), F)
    desk.open().make_leaf(desk.leaf(), F)
    desk.open().make_secret(desk.secret(), F)
    return desk


class TestDiskMaterial(MaterialContract):
    pass


def test_what_lies_where_and_who_may_read_it(made: DiskDesk) -> None:
    modes = {
        str(path.relative_to(made.folder)): oct(path.stat().st_mode & 0o777)
        for path in made.folder.rglob("*")
        if path.is_file() and "..forge-" not in str(path) and "..data" not in path.parts
    }
    assert modes == {
        ".forge/runtime/certs/ca/ca.crt": "0o644",
        ".forge/secrets/_forge/authority/ca.crt": "0o644",
        ".forge/secrets/_forge/authority/ca.json": "0o600",
        ".forge/secrets/_forge/authority/ca.key": "0o600",
        ".forge/secrets/_forge/certificate/web.json": "0o600",
        ".forge/secrets/_forge/secret/token.json": "0o600",
        ".forge/secrets/token/value": "0o600",
        "tls/web/ca.crt": "0o644",
        "tls/web/tls.crt": "0o644",
        "tls/web/tls.key": "0o600",
    }
    for folder in (".forge/secrets", ".forge/secrets/_forge", ".forge/secrets/_forge/authority"):
        assert (made.folder / folder).stat().st_mode & 0o777 == 0o700


def test_a_strict_umask_or_a_loose_one_changes_nothing(desk: DiskDesk) -> None:
    for umask, name in ((0o077, "web"), (0o000, "api")):
        before = os.umask(umask)
        try:
            desk.open().make_authority(desk.authority(), F)
            desk.open().make_leaf(desk.leaf(name), F)
        finally:
            os.umask(before)
        folder = Path(desk.leaf(name).directory)
        assert (folder / "tls.key").stat().st_mode & 0o777 == 0o600
        assert (folder / "tls.crt").stat().st_mode & 0o777 == 0o644
        assert folder.resolve().stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("encoding", "length"), [("raw", 24), ("hex", 48), ("base64", 32)], ids=["raw", "hex", "base64"]
)
def test_a_secret_has_as_many_random_bytes_as_asked(desk: DiskDesk, encoding: str, length: int) -> None:
    desk.open().make_secret(desk.secret(bytes=24, encoding=encoding), F)
    value = desk.open().read_secret("token")
    assert len(value) == length
    assert value == desk.value().read_bytes()


def contexts(desk: DiskDesk, client_leaf: str = "api") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server with leaf web that asks for a certificate, and a client with another leaf, both trusting
    the lab's authority alone."""
    found = []
    for purpose, leaf in ((ssl.Purpose.CLIENT_AUTH, "web"), (ssl.Purpose.SERVER_AUTH, client_leaf)):
        folder = Path(desk.leaf(leaf).directory)
        context = ssl.create_default_context(purpose, cafile=str(folder / "ca.crt"))
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        found.append(context)
    return found[0], found[1]


def shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    """A whole handshake in memory. Raises ssl.SSLError where one side refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    waiting = list(ends)
    for _ in range(20):
        for end in tuple(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                continue
        if not waiting:
            return
    raise AssertionError("the handshake does not end")


def with_names(desk: DiskDesk, **fields: object) -> None:
    """The real clock, an authority, leaf web with these fields and leaf api as the client's."""
    desk.now = __import__("time").time()
    desk.open().make_authority(desk.authority(), F)
    desk.open().make_leaf(replace(desk.leaf(), **fields), F)  # type: ignore[arg-type]
    desk.open().make_leaf(desk.leaf("api"), F)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        pytest.param({"dns": ("web.test", "www.test")}, "www.test", id="a second DNS name"),
        pytest.param({"dns": ("*.web.test",)}, "a.web.test", id="a wildcard"),
        pytest.param({"ip": ("127.0.0.9",)}, "127.0.0.9", id="an IPv4 address"),
        pytest.param({"ip": ("::1",)}, "::1", id="an IPv6 address"),
        pytest.param({"uri": ("spiffe://lab/web",)}, "web.test", id="a URI beside it"),
        pytest.param({"common_name": "any other name"}, "web.test", id="whatever the common name"),
    ],
)
def test_both_sides_take_each_others_certificates(
    desk: DiskDesk, fields: dict[str, object], name: str
) -> None:
    with_names(desk, **fields)
    shake(*contexts(desk), name)


@pytest.mark.parametrize(
    ("fields", "client", "name", "why"),
    [
        pytest.param({}, "api", "other.test", "Hostname mismatch", id="another name"),
        pytest.param({"usages": ("client",)}, "api", "web.test", "purpose", id="a client's as a server's"),
        pytest.param({}, "web", "web.test", "", id="a server's own as a client's is fine"),
    ],
)
def test_what_a_certificate_is_not_for_is_refused(
    desk: DiskDesk, fields: dict[str, object], client: str, name: str, why: str
) -> None:
    with_names(desk, **fields)
    if not why:
        shake(*contexts(desk, client), name)
        return
    with pytest.raises(ssl.SSLError, match=why):
        shake(*contexts(desk, client), name)


def test_leaves_of_another_authority_are_refused(desk: DiskDesk) -> None:
    with_names(desk)
    desk.open().make_authority(desk.authority("other"), F)
    desk.open().make_leaf(desk.leaf("api", "other"), G)
    with pytest.raises(ssl.SSLError):
        shake(*contexts(desk), "web.test")


def test_leaves_stay_good_when_their_authority_is_certified_again(desk: DiskDesk) -> None:
    with_names(desk)
    old_server, old_client = contexts(desk)
    desk.open().make_authority(replace(desk.authority(), lifetime_s=7300 * DAY), G)
    for name in ("web", "api"):
        desk.open().make_leaf(desk.leaf(name), F)
    server, client = contexts(desk)
    shake(server, client, "web.test")
    shake(old_server, client, "web.test")
    shake(server, old_client, "web.test")


def test_a_leaf_ends_no_later_than_its_authority(desk: DiskDesk) -> None:
    desk.open().make_authority(replace(desk.authority(), lifetime_s=30 * DAY), F)
    desk.open().make_leaf(desk.leaf(), F)
    desk.later(19 * DAY)
    assert desk.open().observe(desk.owner, [WEB])[WEB].phase is Phase.PRESENT
    desk.later(2 * DAY)
    seen = desk.open().observe(desk.owner, [CA, WEB])
    assert {key: thing.detail for key, thing in seen.items()} == {
        CA: "it ends in 9 days",
        WEB: "it ends in 9 days",
    }


def test_openssl_takes_what_was_made(desk: DiskDesk) -> None:
    with_names(desk)
    folder = Path(desk.leaf().directory)
    done = subprocess.run(
        [
            "openssl",
            "verify",
            "-x509_strict",
            "-purpose",
            "sslserver",
            "-verify_hostname",
            "web.test",
            "-CAfile",
            str(folder / "ca.crt"),
            str(folder / "tls.crt"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == f"{folder / 'tls.crt'}: OK", done.stderr


MISHAPS = ("san", "usage", "lose leaf", "lose file", "spoil", "lose ca", "renew", "remove", "follow", "again")


@given(st.lists(st.sampled_from(MISHAPS), max_size=6))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_that_befalls_a_leaf_changes_its_authority(
    tmp_path_factory: pytest.TempPathFactory, mishaps: list[str]
) -> None:
    desk = DiskDesk(tmp_path_factory.mktemp("lab"))
    material = desk.open()
    authority = material.make_authority(desk.authority(), F)
    key = desk.key_file().read_bytes()
    names, fingerprint, hashes = ["web.test"], F, [material.make_leaf(desk.leaf(), F)]
    for mishap in mishaps:
        folder = Path(desk.leaf().directory)
        match mishap:
            case "san":
                names.append(f"n{len(names)}.test")
                fingerprint = f"{len(names):032x}"
            case "usage":
                fingerprint = f"{len(hashes):031x}u"
            case "lose leaf":
                desk.lose(WEB) if folder.exists() else None
            case "lose file":
                (folder / "tls.key").unlink(missing_ok=True)
            case "spoil":
                desk.spoil(WEB) if folder.exists() else None
            case "lose ca":
                desk.lose(CA)
            case "renew":
                desk.later(61 * DAY)
            case "remove":
                desk.open().remove(WEB)
            case "follow":
                (folder / "ca.crt").unlink(missing_ok=True)
            case _:
                pass
        assert desk.open().make_authority(desk.authority(), F) == authority
        hashes.append(desk.open().make_leaf(replace(desk.leaf(), dns=tuple(names)), fingerprint))
        seen = desk.open().observe(desk.owner, [CA, WEB])
        assert [thing.phase for thing in seen.values()] == [Phase.PRESENT] * 2, seen
        certificate, private, _ = desk.open().read_leaf("web")
        fits(certificate, private)
    assert desk.key_file().read_bytes() == key
    kept = [a == b for a, b in pairwise(hashes)]
    stays = [mishap in ("lose ca", "follow", "again") for mishap in mishaps]
    assert kept == stays


def fits(certificate: bytes, key: bytes) -> None:
    """Fails where the key does not belong to the certificate."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    public = load_pem_private_key(key, None).public_key()
    assert load_pem_x509_certificate(certificate).public_key() == public


def test_whoever_watches_the_folder_never_meets_a_key_that_does_not_fit(made: DiskDesk) -> None:
    """Reads without a pause while the leaf is issued again and again, as one that resolves ..data."""
    folder, ended, seen = Path(made.leaf().directory), threading.Event(), set()
    wrong: list[BaseException] = []

    def watch() -> None:
        while not ended.is_set():
            try:
                now = disk.content(folder)
                pair = (now / "tls.crt").read_bytes(), (now / "tls.key").read_bytes()
            except FileNotFoundError:
                continue  # turned in between: a watcher is told of that, and looks again
            if pair not in seen:
                seen.add(pair)
                try:
                    fits(*pair)
                except BaseException as error:  # noqa: BLE001 - shown below
                    wrong.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    for number in range(40):
        made.open().make_leaf(made.leaf(), f"{number:032x}")
    ended.set()
    thread.join(60)
    assert wrong == []
    assert len(seen) > 1


def test_old_versions_and_their_keys_are_gone(made: DiskDesk) -> None:
    for number in range(3):
        made.open().make_leaf(made.leaf(), f"{number:032x}")
    names = {path.name[:8] for path in Path(made.leaf().directory).iterdir()}
    assert names == {"..data", "..forge-", "ca.crt", "tls.crt", "tls.key"}
    assert len(list(Path(made.leaf().directory).glob("..forge-*"))) == 1


def test_no_private_byte_is_anywhere_but_in_its_file(
    made: DiskDesk, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor in what is said when it fails."""
    keys = [made.key_file().read_text(), Path(made.leaf().directory, "tls.key").read_text()]
    bodies = [line for key in keys for line in key.splitlines() if not line.startswith("-")]
    bodies.append(made.value().read_text())
    made.key_file().write_text(keys[0][:-40])
    said = []
    for number in range(2):
        with pytest.raises(ForgeError) as raised:
            made.open().make_leaf(made.leaf(), G) if number else made.open().make_authority(
                made.authority(), F
            )
        said.append(repr(raised.value) + raised.value.why + raised.value.hint)
    said += [repr(made.open().observe(made.owner, [CA, WEB, TOKEN])), repr(made.open().fingerprints())]
    said += list(capfd.readouterr())
    private = {made.key_file(), made.value(), Path(made.leaf().directory, "tls.key")}
    private |= {path.resolve() for path in private}
    said += [
        path.read_text(errors="replace")
        for path in made.folder.rglob("*")
        if path.is_file() and path.resolve() not in private
    ]
    for body in bodies:
        assert not any(body in text for text in said)


def test_nothing_is_left_of_what_was_removed(desk: DiskDesk) -> None:
    desk.state_dir.mkdir()
    desk.open().make_authority(desk.authority(), F)
    for name in ("web", "api"):
        desk.open().make_leaf(desk.leaf(name), F)
    desk.open().make_secret(desk.secret(), F)
    for key in (TOKEN, CA, WEB, replace(WEB, name="api")):
        desk.open().remove(key)
    assert desk.files() - {".forge/runtime"} == {".forge"}


def test_what_a_user_put_beside_it_stays(made: DiskDesk) -> None:
    mine = [made.folder / "tls" / "web" / "mine.pem", made.state_dir / "secrets" / "other" / "value"]
    for file in mine:
        file.parent.mkdir(exist_ok=True)
        file.write_text("mine")
    for key in (TOKEN, WEB, CA):
        made.open().remove(key)
    assert [file.read_text() for file in mine] == ["mine", "mine"]


def test_a_leaf_that_moves_leaves_its_old_folder(made: DiskDesk) -> None:
    moved = replace(made.leaf(), directory=str(made.folder / "elsewhere" / "web"))
    before = made.open().fingerprints()[0]["web"]
    made.open().make_leaf(moved, G)
    assert not (made.folder / "tls").exists()
    assert made.open().fingerprints()[1] == {"web": before}
    assert made.open().read_leaf("web")[0] == Path(moved.directory, "tls.crt").read_bytes()


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", b"{}", b'{"version": 99}'], ids=repr)
def test_an_index_that_cannot_be_read_changes_no_key(made: DiskDesk, rubbish: bytes) -> None:
    key = made.key_file().read_bytes()
    authority = made.open().observe(made.owner, [CA])[CA].id
    for file in (made.state_dir / "secrets" / "_forge").rglob("*.json"):
        file.write_bytes(rubbish)
    seen = made.open().observe(made.owner, [CA])
    assert seen[CA].phase is Phase.BROKEN
    assert made.open().make_authority(made.authority(), F) == authority
    assert made.key_file().read_bytes() == key
    assert made.open().observe(made.owner, [CA])[CA].phase is Phase.PRESENT


def test_an_authority_whose_certificate_alone_is_gone_certifies_its_key_again(made: DiskDesk) -> None:
    key = made.key_file().read_bytes()
    made.key_file().with_suffix(".crt").unlink()
    assert made.open().observe(made.owner, [CA])[CA].phase is Phase.BROKEN
    made.open().make_authority(made.authority(), F)
    made.open().make_leaf(made.leaf(), F)
    assert made.key_file().read_bytes() == key
    assert {o.phase for o in made.open().observe(made.owner, [CA, WEB]).values()} == {Phase.PRESENT}


def test_removing_key_and_certificate_begins_anew(made: DiskDesk) -> None:
    """What FG0771 tells to do."""
    before = made.open().observe(made.owner, [CA])[CA].id
    made.lose_key("ca")
    with pytest.raises(OperationFailed) as raised:
        made.open().make_authority(made.authority(), F)
    assert str(made.key_file().with_suffix(".crt")) in raised.value.hint
    made.key_file().with_suffix(".crt").unlink()
    assert made.open().make_authority(made.authority(), F) != before
    assert made.open().observe(made.owner, [WEB])[WEB].phase is Phase.BROKEN
    made.open().make_leaf(made.leaf(), F)
    assert made.open().observe(made.owner, [WEB])[WEB].phase is Phase.PRESENT


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_lost(made: DiskDesk) -> None:
    before = made.open().read_leaf("web")
    (made.folder / "blocked").write_text("a file where a folder should be")
    moved = replace(made.leaf(), directory=str(made.folder / "blocked" / "web"))
    with pytest.raises(OperationFailed) as raised:
        made.open().make_leaf(moved, G)
    assert raised.value.code == "FG0770"
    assert str(made.folder / "blocked" / "web") in raised.value.what
    assert Path(made.leaf().directory, "tls.key").read_bytes() == before[1]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        pytest.param(
            lambda d: d.open().make_authority(replace(d.authority(), common_name="x" * 65), G),
            "64",
            id="long",
        ),
        pytest.param(
            lambda d: d.open().make_leaf(replace(d.leaf(), dns=("b\u00fccher.test",)), G), "idna", id="IDN"
        ),
    ],
)
def test_names_that_no_certificate_carries_are_told(
    made: DiskDesk, call: Callable[[DiskDesk], str], name: str
) -> None:
    with pytest.raises(OperationFailed) as raised:
        call(made)
    assert raised.value.code == "FG0775"
    assert name in raised.value.why.lower()
    assert made.open().observe(made.owner, [WEB])[WEB].phase is Phase.PRESENT


class Crash(BaseException):
    """The command was killed here."""


def _killed(monkeypatch: pytest.MonkeyPatch, point: int) -> Callable[[], int]:
    """Everything after the point-th change of the disk does not happen. Gives how many there were."""
    count = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count > point:
                raise Crash
            return function(*arguments, **options)

        return call

    for name in ("replace", "unlink", "symlink_to", "mkdir", "rmdir"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    monkeypatch.setattr(disk, "_write_new", counted(disk._write_new))
    return lambda: count


@pytest.mark.parametrize("what", ["first", "renamed", "issued again", "moved", "secret again"])
def test_killed_at_any_point_the_next_run_converges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """And remove leaves nothing behind, whatever was half done."""

    def run(desk: DiskDesk) -> None:
        authority = desk.authority()
        if what == "renamed":
            authority = replace(authority, common_name="renamed")
        mark = {"first": F}.get(what, G)
        desk.open().make_authority(authority, mark if what == "renamed" else F)
        leaf = desk.leaf()
        if what == "moved":
            leaf = replace(leaf, directory=str(desk.folder / "elsewhere" / "web"))
        desk.open().make_leaf(leaf, mark if what in ("issued again", "moved") else F)
        desk.open().make_secret(desk.secret(), mark if what == "secret again" else F)

    def before(desk: DiskDesk) -> str | None:
        desk.state_dir.mkdir(parents=True)
        if what == "first":
            return None
        desk.open().make_authority(desk.authority(), F)
        served = desk.open().make_leaf(desk.leaf(), F)
        desk.open().make_secret(desk.secret(), F)
        return served

    monkeypatch.setattr(os, "fsync", lambda _: None)
    point, killed = 0, True
    while killed:
        for verb in ("up", "down"):
            desk = DiskDesk(tmp_path / f"{point}-{verb}")
            served = before(desk)
            with monkeypatch.context() as patched:
                _killed(patched, point)
                try:
                    run(desk)
                    killed = False
                except Crash:
                    killed = True
            if verb == "up":
                run(desk)
                seen = desk.open().observe(desk.owner, [CA, WEB, TOKEN])
                assert {k: (o.phase, o.detail) for k, o in seen.items()} == dict.fromkeys(
                    (CA, WEB, TOKEN), (Phase.PRESENT, "")
                ), point
                current, previous, _ = desk.open().fingerprints()
                assert served is None or served in (current["web"], previous.get("web")), point
            for key in (WEB, CA, TOKEN):
                desk.open().remove(key)
            left = {f for f in desk.files() if not f.startswith(".forge/runtime")}
            assert left <= {".forge", ".forge/secrets"}, (point, verb)
        point += 1
    assert point > 5


def test_a_run_with_nothing_to_do_loads_no_cryptography(made: DiskDesk) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from forge.host.material.store import open_material\n"
        "from forge.plan.values import Key, Owner\n"
        f"material = open_material(Path({str(made.state_dir)!r}))\n"
        "keys = [Key('authority', 'ca'), Key('certificate', 'web'), Key('secret', 'token')]\n"
        "assert len(material.observe(Owner('a', 'b'), keys)) == 3\n"
        "assert material.fingerprints()[0]\n"
        "assert 'cryptography' not in sys.modules, 'cryptography was loaded'\n"
        "assert 'pydantic' not in sys.modules, 'pydantic was loaded'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_records_hold_nothing_of_a_value(made: DiskDesk) -> None:
    for shelf in (made.state_dir / "secrets" / "_forge").rglob("*.json"):
        assert made.value().read_text() not in shelf.read_text()
    assert records.VERSION == 1
