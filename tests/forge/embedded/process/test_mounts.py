"""Words follow mounts where a target stands as a path, and nowhere else; a root holds what was asked for."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.process import mounts
from forge.embedded.process.spec import Bind
from forge.errors import OperationFailed

TARGETS = ("/etc/app", "/etc/app/certs", "/data", "/etc/we.ird+")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("/etc/app", "R/etc/app", id="the target itself"),
        pytest.param("/etc/app/app.yaml", "R/etc/app/app.yaml", id="a file below it"),
        pytest.param("/etc/app/certs/tls.crt", "R/etc/app/certs/tls.crt", id="a file below an inner target"),
        pytest.param("--config=/etc/app/app.yaml", "--config=R/etc/app/app.yaml", id="a flag with its value"),
        pytest.param("CONF=/etc/app", "CONF=R/etc/app", id="a variable's setting"),
        pytest.param("/data/bin:/usr/bin:/data", "R/data/bin:/usr/bin:R/data", id="a list of folders"),
        pytest.param(
            "cat /etc/app/a '/data/b' >/data/c", "cat R/etc/app/a 'R/data/b' >R/data/c", id="a script"
        ),
        pytest.param("@/data/body.json", "@R/data/body.json", id="a file to be read"),
        pytest.param('{"dir":"/data"}', '{"dir":"R/data"}', id="JSON"),
        pytest.param("/etc/we.ird+/x", "R/etc/we.ird+/x", id="a target with characters of patterns"),
        pytest.param("/etc/weXird+/x", "/etc/weXird+/x", id="a dot is a dot"),
        pytest.param("/etc/apples", "/etc/apples", id="another name that begins alike"),
        pytest.param("/etc/app.yaml", "/etc/app.yaml", id="a file that begins alike"),
        pytest.param("/opt/etc/app/x", "/opt/etc/app/x", id="inside another path"),
        pytest.param("http://host/data/x", "http://host/data/x", id="in a URL's path"),
        pytest.param("/etc", "/etc", id="a folder around a target"),
        pytest.param("data", "data", id="a word without a path"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_word_follows_the_mounts(word: str, expected: str) -> None:
    assert mounts.rewriter("R", TARGETS)(word) == expected


def test_without_mounts_words_stay() -> None:
    assert mounts.rewriter("R", ())("/etc/app") == "/etc/app"


@given(st.text(alphabet="/etcapdR=: .", max_size=40))
def test_nothing_but_roots_is_added(word: str) -> None:
    assert mounts.rewriter("\0", TARGETS)(word).replace("\0", "") == word


def test_a_mount_is_the_folder_itself(tmp_path: Path) -> None:
    source = folder(tmp_path / "conf", a="1")
    root = tmp_path / "web" / "root"
    mounts.materialise(str(root), [Bind(str(source), "/etc/app")])
    (source / "b").write_text("later")
    assert (root / "etc/app/a").read_text() == "1"
    assert (root / "etc/app/b").read_text() == "later"


def test_a_file_is_mounted_too(tmp_path: Path) -> None:
    source = folder(tmp_path / "conf", a="1") / "a"
    root = tmp_path / "web" / "root"
    mounts.materialise(str(root), [Bind(str(source), "/etc/app/app.yaml")])
    assert (root / "etc/app/app.yaml").read_text() == "1"


def test_a_target_inside_another_one_covers_an_entry_of_it(tmp_path: Path) -> None:
    outer = folder(tmp_path / "conf", a="1", certs="hidden")
    inner = folder(tmp_path / "certs", key="k")
    deep = folder(tmp_path / "deep", d="4")
    (outer / "sub").mkdir()
    (outer / "sub" / "kept").write_text("s")
    root = tmp_path / "web" / "root"
    binds = [
        Bind(str(inner), "/etc/app/certs"),
        Bind(str(deep), "/etc/app/sub/deep"),
        Bind(str(outer), "/etc/app"),
    ]
    mounts.materialise(str(root), binds)
    assert (root / "etc/app/a").read_text() == "1"
    assert (root / "etc/app/certs/key").read_text() == "k"
    assert (root / "etc/app/sub/deep/d").read_text() == "4"
    assert (root / "etc/app/sub/kept").read_text() == "s"
    assert sorted(p.name for p in outer.iterdir()) == ["a", "certs", "sub"]
    assert (outer / "certs").read_text() == "hidden"


def test_making_them_again_replaces_mounts_and_keeps_the_rest(tmp_path: Path) -> None:
    outer, inner = folder(tmp_path / "conf", a="1"), folder(tmp_path / "certs", key="k")
    root = tmp_path / "web" / "root"
    nested = [Bind(str(outer), "/etc/app"), Bind(str(inner), "/etc/app/certs")]
    mounts.materialise(str(root), nested)
    (root / "own").write_text("kept")
    (outer / "b").write_text("2")
    mounts.materialise(str(root), nested)
    assert (root / "etc/app/b").read_text() == "2"
    mounts.materialise(str(root), [Bind(str(inner), "/etc/app")])
    assert (root / "etc/app/key").read_text() == "k"
    assert (root / "own").read_text() == "kept"
    assert (inner / "key").exists()


def test_clearing_follows_no_symlink(tmp_path: Path) -> None:
    source = folder(tmp_path / "conf", a="1")
    root = tmp_path / "web" / "root"
    mounts.materialise(str(root), [Bind(str(source), "/etc/app")])
    mounts.clear(str(root))
    mounts.clear(str(root))
    assert not root.exists()
    assert (source / "a").exists()


def test_a_missing_source_is_made_for_owner_and_group(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    source = shared / "data"
    mounts.materialise(str(tmp_path / "root"), [Bind(str(source), "/data", create=True)])
    assert stat.S_IMODE(source.stat().st_mode) == 0o2770
    assert source.stat().st_gid == shared.stat().st_gid


@pytest.mark.parametrize(
    ("targets", "why"),
    [
        pytest.param(["/data"], "does not exist", id="a source that is missing"),
        pytest.param(["/"], "covers the root", id="a target that is the root"),
        pytest.param(["/x/../.."], "covers the root", id="a target that would leave the root"),
        pytest.param(["/data", "/data/"], "share a target", id="one target twice"),
    ],
)
def test_what_cannot_be_mounted_is_refused(tmp_path: Path, targets: list[str], why: str) -> None:
    root = tmp_path / "web" / "root"
    with pytest.raises(OperationFailed) as failure:
        mounts.materialise(str(root), [Bind(str(tmp_path / "missing"), target) for target in targets])
    assert failure.value.code == "FG0507"
    assert why in failure.value.why
    assert "'web'" in failure.value.what


def folder(place: Path, **files: str) -> Path:
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name).write_text(text)
    return place
