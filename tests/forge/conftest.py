"""What every test of Forge has: no note of its environments in the files of whoever runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge.state import registry


@pytest.fixture(autouse=True)
def own_registry(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that set XDG_STATE_HOME have their own anyway; the others would write into the user's."""
    everybodys = registry._folder

    def folder() -> Path:
        return everybodys() if os.environ.get("XDG_STATE_HOME") else tmp_path_factory.getbasetemp() / "noted"

    monkeypatch.setattr(registry, "_folder", folder)
