"""A bad, empty, missing, old or foreign document keeps the last good one, and is counted by its reason."""

from __future__ import annotations

import gc
import hashlib

import pytest

from edge.routing.accept import Accepted, Outcome
from grid.contract.canonical import canonical
from grid.contract.overlay import Scope
from grid.contract.reasons import RejectReason
from tests.kit.overlays import GENERATED_AT_S, candidate, document, encoded
from tests.kit.routing import Everywhere

NOW = GENERATED_AT_S + 1
SCOPE = Scope("production", "edge-us-east", "edge-us-east")
A = encoded(document([candidate("provider-a")], revision=2))
B = encoded(document([candidate("provider-b")], revision=3))
OLD = encoded(document([candidate("provider-c")], revision=1, generated_at="2026-07-25T11:00:00Z", valid_until="2026-07-25T11:05:00Z"))  # fmt: skip
AGAIN = encoded(document([candidate("provider-a")], revision=2, generated_at="2026-07-25T12:01:00Z", valid_until="2026-07-25T12:06:00Z"))  # fmt: skip
FUTURE = encoded(document([candidate("provider-f")], revision=9, generated_at="2026-07-25T13:00:00Z", valid_until="2026-07-25T13:05:00Z"))  # fmt: skip


def envelope(namespace: str) -> dict[str, object]:
    """A sound 1.0.0 envelope of one candidate."""
    inner = {"network": "n", "local_site": "s", "candidates": [candidate("provider-a")]}
    value = hashlib.sha256(canonical(inner)).hexdigest()
    return {
        "schema_version": "1.0.0",
        "revision": {"kind": "content_addressed", "algorithm": "sha256", "value": value},
        "content_digest": {"algorithm": "sha256", "value": value},
        "scope": {"network": "n", "gateway": "g", "namespace": namespace, "local_site": "s"},
        "provenance": {},
        "overlay": inner,
    }


def sites(accepted: Accepted) -> list[str]:
    return [] if accepted.overlay is None else [found.site for found in accepted.overlay.candidates]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, RejectReason.MISSING_KEY, id="missing"),
        pytest.param(b"", RejectReason.EMPTY, id="empty"),
        pytest.param(b"{", RejectReason.MALFORMED_JSON, id="malformed"),
        pytest.param(b'{"version":"invalid","load_balancer":null}', RejectReason.MALFORMED_STRUCTURE, id="something else"),
        pytest.param(A.replace(b"provider-a", b"provider-x"), RejectReason.STABLE_ID_MISMATCH, id="tampered with"),
        pytest.param(OLD, RejectReason.REVISION_ROLLBACK, id="rolled back"),
        pytest.param(encoded(document(network="other")), RejectReason.SCOPE_MISMATCH, id="wrong scope"),
        pytest.param(FUTURE, RejectReason.CLOCK_SKEW, id="from the future"),
        pytest.param(b" " * (2 * 1024 * 1024 + 1), RejectReason.OVERSIZED, id="oversized"),
    ],
)  # fmt: skip
def test_invalid_replacement_retains_last_known_good(content: bytes | None, reason: RejectReason) -> None:
    accepted = Accepted(SCOPE)
    view = accepted.view(Everywhere())
    accepted.offer(A, NOW)
    before = view.snapshot
    assert accepted.offer(content, NOW + 5) is Outcome.REJECTED
    assert view.snapshot is before
    assert before is not None
    assert (sites(accepted), accepted.accepted_at) == (["provider-a"], NOW)
    assert dict(accepted.rejections) == {reason: 1}
    assert accepted.last_rejection is not None
    assert (accepted.last_rejection.reason, accepted.last_rejection.at) == (reason, NOW + 5)
    assert accepted.offer(B, NOW + 6) is Outcome.ACCEPTED


def test_an_update_from_a_to_b_changes_every_view_and_no_snapshot_already_taken() -> None:
    accepted = Accepted(SCOPE)
    early = accepted.view(Everywhere())
    accepted.offer(A, NOW)
    taken, late = early.snapshot, accepted.view({"gateway-provider-b"})
    accepted.offer(B, NOW + 1)
    assert taken is not None
    assert early.snapshot is not None
    assert late.snapshot is not None
    assert [found.site for found in taken.overlay.candidates] == ["provider-a"]
    assert [found.site for found in early.snapshot.overlay.candidates] == ["provider-b"]
    assert (early.snapshot.unconfigured, late.snapshot.unconfigured) == (0, 0)
    assert early.snapshot.accepted_at == NOW + 1


def test_views_of_two_configurations_index_the_same_overlay_each_for_itself() -> None:
    accepted = Accepted(SCOPE)
    has, lacks = accepted.view({"gateway-provider-a"}), accepted.view(frozenset())
    accepted.offer(A, NOW)
    assert has.snapshot is not None
    assert lacks.snapshot is not None
    assert (has.snapshot.unconfigured, lacks.snapshot.unconfigured) == (0, 1)


def test_the_same_bytes_are_not_looked_at_again() -> None:
    accepted = Accepted(SCOPE)
    assert accepted.offer(A, NOW) is Outcome.ACCEPTED
    assert accepted.offer(A, NOW + 9) is Outcome.UNCHANGED
    assert accepted.accepted_at == NOW
    assert [accepted.offer(b"{", NOW), accepted.offer(b"{", NOW)] == [Outcome.REJECTED, Outcome.UNCHANGED]
    assert accepted.rejections.total() == 1


@pytest.mark.parametrize("between", [None, b"{"], ids=["missing", "bad"])
def test_the_accepted_bytes_put_back_make_nothing_younger(between: bytes | None) -> None:
    accepted = Accepted(SCOPE)
    accepted.offer(A, NOW)
    accepted.offer(between, NOW + 1)
    assert accepted.offer(between, NOW + 2) is Outcome.UNCHANGED
    assert accepted.offer(A, NOW + 3) is Outcome.UNCHANGED
    assert (accepted.accepted_at, accepted.rejections.total()) == (NOW, 1)
    assert accepted.offer(between, NOW + 4) is Outcome.REJECTED


def test_before_the_first_overlay_there_is_nothing_to_route_by() -> None:
    accepted = Accepted(SCOPE)
    view = accepted.view(Everywhere())
    accepted.offer(b"{", NOW)
    assert (view.snapshot, accepted.overlay) == (None, None)


def test_the_same_routes_stated_anew_refresh_the_age() -> None:
    accepted = Accepted(SCOPE)
    view = accepted.view(Everywhere())
    accepted.offer(A, NOW)
    assert accepted.offer(AGAIN, NOW + 70) is Outcome.REFRESHED
    assert view.snapshot is not None
    assert view.snapshot.accepted_at == NOW + 70


def test_a_document_from_the_future_is_looked_at_again_later() -> None:
    accepted = Accepted(SCOPE)
    assert accepted.offer(FUTURE, NOW) is Outcome.REJECTED
    assert accepted.offer(FUTURE, NOW + 3600) is Outcome.ACCEPTED


@pytest.mark.parametrize(
    ("namespace", "outcome"),
    [
        pytest.param("grid-system", Outcome.ACCEPTED, id="as expected"),
        pytest.param("", Outcome.ACCEPTED, id="nothing expected"),
        pytest.param("other", Outcome.REJECTED, id="another namespace's"),
    ],
)
def test_an_envelope_says_its_namespace(namespace: str, outcome: Outcome) -> None:
    accepted = Accepted(namespace=namespace)
    assert accepted.offer(encoded(envelope("grid-system")), NOW) is outcome
    assert Accepted(namespace=namespace).offer(A, NOW) is Outcome.ACCEPTED


def test_a_file_that_is_absent_and_then_there_is_accepted() -> None:
    accepted = Accepted(SCOPE)
    assert accepted.offer(None, NOW) is Outcome.REJECTED
    assert accepted.offer(A, NOW) is Outcome.ACCEPTED
    assert sites(accepted) == ["provider-a"]


def test_a_view_nobody_holds_is_forgotten() -> None:
    accepted = Accepted(SCOPE)
    view = accepted.view(Everywhere())
    del view
    gc.collect()
    assert len(accepted._views) == 0
