"""What is remembered is read back; any other text is nothing remembered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.mesh.memory import read_memory, write_memory
from grid.swim.messages import Lane
from grid.swim.node import NOTHING, Memory

FULL = Memory(7, {Lane.STATE: 41, Lane.CERT: 2}, ("10.0.0.1:7946", "[::1]:7946"))
TEXT = (
    '{"version":1,"incarnation":7,"revisions":{"state":41,"cert":2},"peers":["10.0.0.1:7946","[::1]:7946"]}'
)


def test_the_text() -> None:
    assert write_memory(FULL) == TEXT
    assert read_memory(TEXT) == FULL
    assert read_memory(write_memory(NOTHING)) == NOTHING


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        pytest.param("", NOTHING, id="nothing"),
        pytest.param(TEXT.replace('"version":1', '"version":2'), NOTHING, id="another version"),
        pytest.param(TEXT.replace("7,", "-7,", 1), NOTHING, id="an incarnation below nought"),
        pytest.param(
            TEXT.replace("state", "later"), Memory(7, {Lane.CERT: 2}, FULL.peers), id="an unknown lane"
        ),
        pytest.param(
            TEXT.replace("[::1]:7946", "nowhere"), Memory(7, FULL.revisions, FULL.peers[:1]), id="a bad peer"
        ),
        pytest.param(TEXT.replace("{", '{"later":1,', 1), FULL, id="an unknown field"),
    ],
)
def test_what_is_made_of_a_text(text: str, memory: Memory) -> None:
    assert read_memory(text) == memory


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read_memory(text), Memory)
