"""The state file is replaced whole or not at all, is private, and a damaged one loses nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from forge.errors import ForgeError
from forge.plan.values import Owner
from forge.state.model import State
from forge.state.store import StateStore

STATE = State(Owner("lab", "1"))


@pytest.fixture
def store(tmp_path: Path) -> StateStore:
    return StateStore(tmp_path / ".forge")


def test_nothing_written_is_no_state(store: StateStore) -> None:
    assert store.read() is None


def test_what_is_written_is_read_one_generation_on(store: StateStore) -> None:
    assert store.write(STATE) == replace(STATE, generation=1)
    assert store.read() == replace(STATE, generation=1)


def test_the_generation_before_is_kept(store: StateStore) -> None:
    second = store.write(store.write(STATE))
    assert store.read() == second
    assert StateStore(store.directory).backup.read_bytes() != store.path.read_bytes()
    store.backup.replace(store.path)
    assert store.read() == replace(STATE, generation=1)


def test_files_are_private_and_ignored_by_git(store: StateStore) -> None:
    store.write(STATE)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert (store.directory / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"apiVersion": "forge', id="cut off"),
        pytest.param(b"\x00\xff\xfe", id="not text"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b'{"apiVersion": "forge.praxis.dev/state/v1alpha1", "version": 1}', id="fields missing"),
        pytest.param(b"[" * 100_000, id="nested without end"),
    ],
)
def test_a_damaged_file_names_the_backup_and_the_way_back(store: StateStore, damage: bytes) -> None:
    store.write(store.write(STATE))
    store.path.write_bytes(damage)
    with pytest.raises(ForgeError) as raised:
        store.read()
    assert raised.value.code == "FG0201"
    assert f"mv {store.backup} {store.path}" in raised.value.hint
    assert store.path.read_bytes() == damage
    subprocess.run(raised.value.hint.partition("with: ")[2].split(), check=True)
    assert store.read() == replace(STATE, generation=1)


def test_a_damaged_file_without_a_backup_says_so(store: StateStore) -> None:
    store.write(STATE)
    store.path.write_text("{")
    with pytest.raises(ForgeError, match="damaged") as raised:
        store.read()
    assert "move the file away" in raised.value.hint


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from dataclasses import replace
from forge.errors import ForgeError
from forge.state.store import StateStore
store = StateStore(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
try:
    store.write(store.read())
except ForgeError as error:
    print(error.code, error.why)
"""


def test_a_full_disk_leaves_the_file_as_it_was(store: StateStore) -> None:
    """The kernel refuses the write half way, as a full disk does."""
    written = store.write(STATE)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(store.directory)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("FG0203 File too large")
    assert store.read() == written
    assert sorted(p.name for p in store.directory.iterdir()) == [".gitignore", "state.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_said(store: StateStore) -> None:
    store.write(STATE)
    store.directory.chmod(0o500)
    with pytest.raises(ForgeError) as raised:
        store.write(STATE)
    assert raised.value.code == "FG0203"
