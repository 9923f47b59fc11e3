"""The file is only ever replaced by a good document; whatever else comes, the last good one stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.overlay import Scope
from grid.contract.reasons import RejectReason
from grid.sync.follow import Following, Outcome, Step, began, deleted, looked, shown
from tests.kit.overlays import GENERATED_AT_S, candidate, document, encoded

SCOPE = Scope("production", "edge-us-east", "edge-us-east")
GOOD = encoded(document())
NEXT = encoded(document([candidate(fresh=False)], revision=43, generated_at="2026-07-25T12:00:01Z"))
NOW = GENERATED_AT_S + 5


def step(text: str | bytes | None, following: Following | None = None) -> Step:
    text = text.decode() if isinstance(text, bytes) else text
    return shown(following or Following(), text, SCOPE, NOW)


def test_a_good_document_is_written() -> None:
    found = step(GOOD)
    assert (found.outcome, found.write) == (Outcome.ACCEPTED, GOOD)
    assert found.following.overlay is not None
    assert (found.following.overlay.revision, found.following.accepted_at) == (42, NOW)


def test_the_same_bytes_are_left_and_confirm_it() -> None:
    found = step(GOOD, Following(GOOD, problem="deleted"))
    assert (found.outcome, found.write) == (Outcome.UNCHANGED, None)
    assert (found.following.refreshed_at, found.following.problem) == (NOW, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(None, RejectReason.MISSING_KEY, id="no such key"),
        pytest.param("", RejectReason.EMPTY, id="empty"),
        pytest.param("{", RejectReason.MALFORMED_JSON, id="cut short"),
        pytest.param("\ud800", RejectReason.MALFORMED_JSON, id="a lone surrogate"),
        pytest.param(encoded(document(network="other")), RejectReason.SCOPE_MISMATCH, id="another network's"),
        pytest.param(
            encoded(document(revision=41, generated_at="2026-07-25T11:00:00Z")),
            RejectReason.REVISION_ROLLBACK,
            id="an old one",
        ),
        pytest.param(
            encoded(document(generated_at="2026-07-25T13:00:00Z", valid_until="2026-07-25T14:00:00Z")),
            RejectReason.CLOCK_SKEW,
            id="one from the future",
        ),
    ],
)
def test_a_bad_document_leaves_the_last_good_one(text: str | bytes | None, reason: RejectReason) -> None:
    before = step(GOOD).following
    found = step(text, before)
    assert (found.outcome, found.write, found.detail) == (Outcome.REJECTED, None, reason)
    assert (found.following.good, found.following.problem) == (GOOD, reason)


def test_after_a_bad_one_a_good_one_is_taken() -> None:
    found = step(NEXT, step("{", step(GOOD).following).following)
    assert (found.write, found.following.problem) == (NEXT, "")


def test_a_deleted_source_leaves_the_file() -> None:
    found = deleted(step(GOOD).following)
    assert (found.write, found.following.good, found.following.problem) == (None, GOOD, "deleted")


@pytest.mark.parametrize(
    ("existing", "good"),
    [
        pytest.param(None, None, id="no file"),
        pytest.param(GOOD, GOOD, id="a good one"),
        pytest.param(b"{", None, id="a broken one"),
        pytest.param(encoded(document(network="other")), None, id="another network's"),
    ],
)
def test_what_an_earlier_process_left_is_the_reference(existing: bytes | None, good: bytes | None) -> None:
    assert began(existing, SCOPE, NOW).good == good


def test_a_restart_takes_no_older_document() -> None:
    found = step(GOOD, began(NEXT, SCOPE, NOW))
    assert found.detail == RejectReason.REVISION_ROLLBACK


@pytest.mark.parametrize(
    ("on_disk", "restored"),
    [
        pytest.param(GOOD, None, id="as it was written"),
        pytest.param(None, GOOD, id="gone"),
        pytest.param(b"", GOOD, id="emptied"),
        pytest.param(NEXT, GOOD, id="another good one"),
    ],
)
def test_a_file_somebody_changed_is_put_back(on_disk: bytes | None, restored: bytes | None) -> None:
    found = looked(step(GOOD).following, on_disk)
    assert (found.write if found else None) == restored


def test_before_anything_was_written_nothing_is_put_back() -> None:
    assert looked(Following(), b"anything") is None


TEXTS = st.sampled_from(
    [GOOD.decode(), NEXT.decode(), "{", "", None, encoded(document([], revision=44)).decode()]
)


@given(st.lists(TEXTS, max_size=12))
def test_whatever_comes_the_file_is_a_document_once_accepted(texts: list[str | None]) -> None:
    following, on_disk = Following(), None
    for text in texts:
        found = step(text, following)
        following = found.following
        on_disk = found.write if found.write is not None else on_disk
        assert on_disk == following.good
        assert on_disk is None or began(on_disk, SCOPE, NOW).good == on_disk
