"""What may name something in an overlay, and how a revision is called."""

from __future__ import annotations

import pytest

from grid.contract.overlay import Format, Overlay, is_identifier


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        pytest.param("Qwen/Qwen3-8B", True, id="a model's name"),
        pytest.param("a b", True, id="a space"),
        pytest.param("é" * 128, True, id="256 bytes"),
        pytest.param("é" * 129, False, id="258 bytes"),
        pytest.param("", False, id="nothing"),
        pytest.param("a\nb", False, id="a line feed"),
        pytest.param("a\x9f", False, id="a C1 control character"),
        pytest.param("\ud800", False, id="a lone surrogate"),
    ],
)
def test_identifiers(text: str, sound: bool) -> None:
    assert is_identifier(text) is sound


def test_a_revision_is_called_by_its_count_or_else_by_its_digest() -> None:
    overlay = Overlay(Format.FLAT, "n", "", "s", "sha256:00", ())
    assert overlay.label == "sha256:00"
    assert Overlay(Format.V1ALPHA2, "n", "g", "s", "sha256:00", (), revision=3).label == "3"
