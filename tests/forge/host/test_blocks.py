"""A block belongs to one environment of the machine, and to nobody once that environment's folder is gone."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from forge.errors import NotOurs, OperationFailed
from forge.host import blocks
from forge.host.blocks import Claim


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return tmp_path / "registry"


def claim(tmp_path: Path, lab: str = "lab", second: int = 77, **fields: str) -> Claim:
    it = Claim(
        id=f"id-{lab}",
        name=f"praxis-forge-{lab}",
        subnet=f"127.{second}.0.0/16",
        key="network/lab",
        environment=lab,
        environment_id=f"eid-{lab}",
        fingerprint="f",
        state_dir=str(tmp_path / lab),
    )
    return replace(it, **fields)


def test_a_claim_is_there_until_it_is_released(registry: Path, tmp_path: Path) -> None:
    mine = claim(tmp_path)
    blocks.take(registry, mine)
    assert blocks.claims(registry) == [mine]
    blocks.release(registry, mine.id)
    blocks.release(registry, mine.id)
    assert blocks.claims(registry) == []
    assert list(registry.glob("*.json")) == []
    assert list((tmp_path / "lab").rglob("*")) == [tmp_path / "lab" / "runtime"]


def test_a_machine_without_a_registry_has_no_claims(registry: Path) -> None:
    assert blocks.claims(registry) == []
    blocks.release(registry, "any")
    assert not registry.exists()


def test_another_environments_name_is_refused_whoever_is_first(registry: Path, tmp_path: Path) -> None:
    theirs = claim(tmp_path, "theirs", name="shared")
    blocks.take(registry, theirs)
    with pytest.raises(NotOurs, match="FG0508"):
        blocks.take(registry, claim(tmp_path, "mine", 78, name="shared"))
    assert blocks.claims(registry) == [theirs]


@pytest.mark.parametrize("subnet", ["127.77.0.0/16", "127.77.4.0/24", "127.76.0.0/15"])
def test_an_overlapping_block_is_refused(registry: Path, tmp_path: Path, subnet: str) -> None:
    blocks.take(registry, claim(tmp_path, "theirs"))
    with pytest.raises(OperationFailed, match="FG0509") as failure:
        blocks.take(registry, claim(tmp_path, "mine", subnet=subnet))
    assert f"environment theirs ({tmp_path}/theirs)" in failure.value.why


def test_taking_it_again_replaces_the_own_claim(registry: Path, tmp_path: Path) -> None:
    first = claim(tmp_path)
    second = claim(tmp_path, second=78, id="new")
    blocks.take(registry, first)
    blocks.take(registry, second)
    assert blocks.claims(registry) == [second]
    assert not first.half.exists()


def test_a_deleted_folder_holds_nothing(registry: Path, tmp_path: Path) -> None:
    blocks.take(registry, claim(tmp_path, "old"))
    shutil.rmtree(tmp_path / "old")
    assert blocks.claims(registry) == []
    fresh = claim(tmp_path, "new", name="praxis-forge-old")
    blocks.take(registry, fresh)
    assert blocks.claims(registry) == [fresh]


def test_a_folder_made_anew_inherits_nothing(registry: Path, tmp_path: Path) -> None:
    blocks.take(registry, claim(tmp_path, "lab"))
    shutil.rmtree(tmp_path / "lab")
    again = claim(tmp_path, "lab", id="second-life", environment_id="another")
    blocks.take(registry, again)
    assert blocks.claims(registry) == [again]


def test_what_cannot_be_read_is_no_claim(registry: Path, tmp_path: Path) -> None:
    registry.mkdir()
    (registry / "torn.json").write_text('{"id": "x"')
    (registry / "old.json").write_text('{"id": "x"}')
    assert blocks.claims(registry) == []


def test_of_many_at_once_one_gets_the_block(registry: Path, tmp_path: Path) -> None:
    won: list[str] = []

    def take(name: str) -> None:
        try:
            blocks.take(registry, claim(tmp_path, name))
        except OperationFailed:
            return
        won.append(name)

    threads = [threading.Thread(target=take, args=(f"lab{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(won) == 1
    assert [c.environment for c in blocks.claims(registry)] == won


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        pytest.param({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/praxis-forge/networks", id="as told"),
        pytest.param({"HOME": "/h"}, "/h/.local/state/praxis-forge/networks", id="by default"),
        pytest.param(
            {"XDG_STATE_HOME": "rel", "HOME": "/h"},
            "/h/.local/state/praxis-forge/networks",
            id="a relative folder is to be ignored",
        ),
    ],
)
def test_the_registry_is_the_users(environ: dict[str, str], folder: str) -> None:
    assert blocks.registry(environ) == Path(folder)
