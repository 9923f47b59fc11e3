"""Which lab a command without `--config` means."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.app.lab import Options, find


@pytest.mark.parametrize(
    ("files", "of"),
    [
        pytest.param(("forge.yaml",), "forge.yaml", id="this folder's file"),
        pytest.param(("../forge.yaml",), "../forge.yaml", id="else the nearest above"),
        pytest.param(
            ("../forge.yaml", ".forge/state.json"),
            "forge.yaml",
            id="a lab whose file is gone is still itself",
        ),
        pytest.param((), "forge.yaml", id="nothing anywhere: this folder's"),
    ],
)
def test_the_nearest_lab(tmp_path: Path, files: tuple[str, ...], of: str) -> None:
    here = tmp_path / "project" / "lab"
    here.mkdir(parents=True)
    for name in files:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).touch()
    assert find(Options(), here).config == (here / of).resolve()
