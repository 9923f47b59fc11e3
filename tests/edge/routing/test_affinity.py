"""Affinity is HMAC as published, its header is one sound id or nothing, and its secret shows nowhere."""

from __future__ import annotations

import copy
import dataclasses
import hmac
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.routing.affinity import (
    BadSession,
    Secret,
    lp,
    read_session,
    rendezvous,
    scores,
    session_key,
    tenant_tag,
)
from tests.kit.routing import SECRET, candidate

GOLDEN = Path(__file__).parents[2] / "golden" / "affinity.json"
VECTORS = json.loads(GOLDEN.read_text(encoding="utf-8"))["vectors"]
PART = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ID = st.binary(min_size=1, max_size=128)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["because"])
def test_keys_and_scores_are_the_published_ones(vector: dict[str, Any]) -> None:
    secret = Secret(bytes.fromhex(vector["secret_hex"]))
    session = bytes.fromhex(vector["session_hex"])
    key = session_key(secret, vector["tenant"], session, vector["kind"], vector["name"])
    assert key.hex() == vector["key_hex"]
    frames = [lp(stable_id.encode()) for stable_id in vector["scores"]]
    assert [found.hex() for found in scores(key, frames)] == list(vector["scores"].values())
    among = [dataclasses.replace(candidate(), stable_id=stable_id) for stable_id in vector["scores"]]
    assert rendezvous(key, among, frames).stable_id == vector["winner"]


def test_the_vectors_do_not_all_have_one_winner() -> None:
    assert len({vector["winner"] for vector in VECTORS}) > 2


@given(st.binary(min_size=1, max_size=200), st.binary(max_size=300))
def test_signing_is_the_library_s_hmac(secret: bytes, message: bytes) -> None:
    assert Secret(secret).sign(message) == hmac.digest(secret, message, "sha256")


@given(st.binary(min_size=32, max_size=32), st.text(st.characters(codec="utf-8"), max_size=64))
def test_scoring_is_the_library_s_hmac(key: bytes, stable_id: str) -> None:
    framed = lp(stable_id.encode())
    assert scores(key, [framed]) == [hmac.digest(key, framed, "sha256")]


@given(st.tuples(PART, ID, PART, PART), st.tuples(PART, ID, PART, PART))
def test_two_keys_are_one_only_when_every_part_is(
    one: tuple[str, bytes, str, str], other: tuple[str, bytes, str, str]
) -> None:
    assert (session_key(SECRET, *one) == session_key(SECRET, *other)) == (one == other)


@given(
    st.permutations([candidate(site) for site in ("a", "b", "c", "d")]), st.binary(min_size=32, max_size=32)
)
def test_the_order_of_candidates_changes_nothing(shuffled: list[Any], key: bytes) -> None:
    frames = [lp(found.stable_id.encode()) for found in shuffled]
    expected = max(shuffled, key=lambda found: hmac.digest(key, lp(found.stable_id.encode()), "sha256"))
    assert rendezvous(key, shuffled, frames) is expected


def test_of_two_equal_scores_the_greater_stable_id_wins() -> None:
    one, other = candidate("a"), candidate("b")
    frames = [b"the same for both"] * 2
    greater = max(one, other, key=lambda found: found.stable_id)
    assert rendezvous(bytes(32), [one, other], frames) is greater
    assert rendezvous(bytes(32), [other, one], frames) is greater


@pytest.mark.parametrize(
    ("value", "repeated", "found"),
    [
        pytest.param(None, False, None, id="absent: no affinity"),
        pytest.param(b"a", False, b"a", id="one byte"),
        pytest.param(b"s" * 128, False, b"s" * 128, id="128 bytes"),
        pytest.param("gespräch-À".encode(), False, "gespräch-À".encode(), id="letters of more than one byte"),
        pytest.param(b"a, b", False, b"a, b", id="a comma that was sent on one line"),
        pytest.param(b"\xff\xfe", False, b"\xff\xfe", id="opaque bytes"),
    ],
)
def test_a_session_header_is_one_opaque_id(value: bytes | None, repeated: bool, found: bytes | None) -> None:
    assert read_session(value, repeated=repeated) == found


@pytest.mark.parametrize(
    ("value", "repeated"),
    [
        pytest.param(b"", False, id="empty"),
        pytest.param(b"s" * 129, False, id="oversized"),
        pytest.param(b"a, a", True, id="repeated"),
        pytest.param(b"a\tb", False, id="malformed: a tab"),
        pytest.param(b"a\x00", False, id="malformed: a null"),
        pytest.param(b"\x7f", False, id="malformed: a delete"),
        pytest.param("a\x85".encode(), False, id="malformed: a control character of two bytes"),
    ],
)
def test_malformed_oversized_or_repeated_session_header_is_refused(value: bytes, repeated: bool) -> None:
    with pytest.raises(BadSession) as refused:
        read_session(value, repeated=repeated)
    assert "a," not in str(refused.value)


def test_the_bound_on_a_session_id_is_configurable() -> None:
    with pytest.raises(BadSession, match="16"):
        read_session(b"s" * 17, repeated=False, max_bytes=16)


def test_an_empty_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        Secret(b"")


def test_a_secret_does_not_change_with_the_buffer_it_came_from() -> None:
    buffer = bytearray(b"material")
    secret = Secret(buffer)
    buffer[:] = bytes(len(buffer))
    assert secret.sign(b"x") == hmac.digest(b"material", b"x", "sha256")


def test_a_secret_s_bytes_are_nowhere_in_it() -> None:
    secret = Secret(b"very-secret-material")
    held = [getattr(secret, slot) for slot in Secret.__slots__]
    assert not any(isinstance(part, bytes | bytearray | str) for part in held)
    assert "very-secret" not in repr(secret) + repr(held)


@pytest.mark.parametrize("leave", [pickle.dumps, copy.deepcopy], ids=["pickled", "copied"])
def test_a_secret_cannot_leave_its_process(leave: Any) -> None:
    with pytest.raises(TypeError):
        leave(Secret(b"material"))


def test_a_tenant_s_tag_is_neither_its_name_nor_a_session_s_key() -> None:
    tag = tenant_tag(SECRET, "tenant-42")
    assert len(tag) == 16
    assert tag == tenant_tag(SECRET, "tenant-42") != tenant_tag(SECRET, "tenant-43")
    assert b"tenant" not in tag
