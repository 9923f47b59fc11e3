"""Older documents keep their meaning: opaque ids, an order for tiers, open unless they say otherwise."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from grid.contract.canonical import canonical
from grid.contract.digest import stable_id
from grid.contract.overlay import Admission, Format, Scope, Tier
from grid.contract.parse import parse
from grid.contract.reasons import OverlayRejected, RejectReason
from tests.kit.overlays import GENERATED_AT, GENERATED_AT_S, encoded

R = RejectReason
SHARED = Path(__file__).parents[4] / "shared" / "data" / "overlay-contract"
EAST = {"kind": "inference_model", "name": "m", "site": "east", "cluster": "gw-east", "stable_id": "east1234"}
WEST = {"kind": "inference_model", "name": "m", "site": "west", "cluster": "gw-west", "stable_id": "west5678"}


def flat(*candidates: object, **changes: object) -> dict[str, Any]:
    return {"network": "n", "local_site": "s", "candidates": list(candidates) or [EAST, WEST], **changes}


def envelope(payload: dict[str, Any] | None = None, **changes: object) -> dict[str, Any]:
    """A 1.0.0 envelope whose digest and revision are right, unless changed."""
    payload = flat() if payload is None else payload
    covered = {name: payload[name] for name in ("candidates", "local_site", "network") if name in payload}
    value = hashlib.sha256(canonical(covered)).hexdigest()
    return {
        "schema_version": "1.0.0",
        "revision": {"kind": "content_addressed", "algorithm": "sha256", "value": value},
        "content_digest": {"algorithm": "sha256", "value": value},
        "scope": {"network": "n", "gateway": "g", "namespace": "ns", "local_site": "s"},
        "provenance": {},
        "overlay": payload,
        **changes,
    }


def test_a_flat_document_is_an_ordered_list() -> None:
    overlay = parse(encoded(flat(EAST, WEST, generated_at=GENERATED_AT)))
    assert (overlay.format, overlay.network, overlay.gateway, overlay.site) == (Format.FLAT, "n", "", "s")
    assert (overlay.revision, overlay.label, overlay.max_age_s) == (None, overlay.digest, None)
    assert overlay.generated_at == GENERATED_AT_S
    assert [(c.site, c.rank, c.stable_id) for c in overlay.candidates] == [
        ("east", 0, "east1234"),
        ("west", 1, "west5678"),
    ]
    assert {(c.admission, c.tier, c.fresh) for c in overlay.candidates} == {
        (Admission.NEW_AND_EXISTING, None, True)
    }


def test_an_older_candidate_may_say_more() -> None:
    said = {
        **EAST,
        "admission_state": "existing_only",
        "selection_tier": "same_zone",
        "fresh": False,
        "rank": 7,
    }
    (found,) = parse(encoded(flat(said))).candidates
    assert (found.admission, found.tier, found.fresh) == (Admission.EXISTING_ONLY, Tier.SAME_ZONE, False)
    assert found.rank == 0, "the place in the list decides"


def test_an_older_candidate_without_an_id_gets_ours() -> None:
    nameless = {name: value for name, value in EAST.items() if name != "stable_id"}
    nulls = {**nameless, "stable_id": None, "admission_state": None, "selection_tier": None, "score": None}
    (found,) = parse(encoded(flat(nulls))).candidates
    assert found.stable_id == stable_id("inference_model", "m", "east", "gw-east")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param(flat(apiVersion="grid.praxis-proxy.io/v1alpha1"), None, id="with its version"),
        pytest.param(flat(revision="sha256:00", generatedAt=GENERATED_AT), None, id="as first proposed"),
        pytest.param({"local_site": "s", "candidates": [EAST]}, None, id="without a network"),
        pytest.param(flat(apiVersion="v2"), R.UNSUPPORTED_SCHEMA_VERSION, id="another version"),
        pytest.param(flat(revision=""), R.INVALID_IDENTIFIER, id="an empty revision"),
        pytest.param(flat(revision={}), R.MISSING_SCHEMA_VERSION, id="an envelope's revision"),
        pytest.param(flat(scope={}), R.MISSING_SCHEMA_VERSION, id="an envelope's scope"),
        pytest.param(flat(generated_at="x"), R.INVALID_TIMESTAMP, id="no instant"),
        pytest.param(flat(candidates=[]), R.NO_CANDIDATES, id="empty"),
        pytest.param({"candidates": [EAST]}, R.MALFORMED_STRUCTURE, id="without a site"),
        pytest.param(flat({**EAST, "stable_id": ""}), R.INVALID_IDENTIFIER, id="an empty stable id"),
        pytest.param(
            flat(EAST, {**WEST, "stable_id": "east1234"}), R.DUPLICATE_STABLE_ID, id="one stable id for two"
        ),
        pytest.param(flat(EAST, EAST), R.DUPLICATE_CANDIDATE, id="one candidate twice"),
        pytest.param({}, R.MALFORMED_STRUCTURE, id="nothing at all"),
    ],
)
def test_flat(made: dict[str, object], reason: RejectReason | None) -> None:
    _expect(made, reason)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param(envelope(), None, id="sound"),
        pytest.param(envelope(schema_version="1.4.2", more="x"), None, id="a later minor version"),
        pytest.param(
            envelope(flat({**EAST, "score": 1.0, "later": 1e-7})), None, id="floats under the digest"
        ),
        pytest.param(
            envelope(schema_version="2.0.0"), R.UNSUPPORTED_SCHEMA_VERSION, id="a later major version"
        ),
        pytest.param(envelope(schema_version=1), R.MALFORMED_STRUCTURE, id="a version that is no string"),
        pytest.param(envelope(scope=None), R.MALFORMED_STRUCTURE, id="scope null"),
        pytest.param(envelope(overlay=[]), R.MALFORMED_STRUCTURE, id="an overlay that is no object"),
        pytest.param(envelope(flat(candidates=[])), R.NO_CANDIDATES, id="empty"),
        pytest.param(
            envelope(scope={"network": "n", "gateway": "g", "namespace": "ns", "local_site": "x"}),
            R.SCOPE_MISMATCH,
            id="its scope is not its overlay's",
        ),
        pytest.param(
            envelope(content_digest={"algorithm": "sha256", "value": "0" * 64}),
            R.DIGEST_MISMATCH,
            id="a wrong digest",
        ),
        pytest.param(
            envelope(content_digest={"algorithm": "md5", "value": "0"}),
            R.MALFORMED_STRUCTURE,
            id="another algorithm",
        ),
        pytest.param(
            envelope(revision={"algorithm": "sha256", "value": "0" * 64}),
            R.REVISION_DIGEST_MISMATCH,
            id="a revision that is not its digest",
        ),
    ],
)
def test_envelope(made: dict[str, object], reason: RejectReason | None) -> None:
    _expect(made, reason)


def test_an_envelope_is_held_to_what_its_reader_expects() -> None:
    assert parse(encoded(envelope()), expected=Scope("n", "g", "s")).namespace == "ns"
    _expect(envelope(), R.SCOPE_MISMATCH, Scope(gateway="other"))


def test_a_flat_document_cannot_contradict_a_gateway_it_does_not_name() -> None:
    assert parse(encoded(flat()), expected=Scope("n", "any", "s")).gateway == ""
    _expect(flat(), R.SCOPE_MISMATCH, Scope(site="other"))


def _verdicts() -> dict[str, dict[str, str]]:
    manifest = SHARED / "manifest.json"
    if not manifest.exists():
        return {}
    found: dict[str, dict[str, str]] = json.loads(manifest.read_text(encoding="utf-8"))["fixtures"]
    return found


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data/overlay-contract is not here")
@pytest.mark.parametrize(("name", "verdict"), _verdicts().items())
def test_the_published_fixtures_get_their_manifests_verdicts(name: str, verdict: dict[str, str]) -> None:
    data = (SHARED / name).read_bytes()
    if verdict["expected"] == "reject":
        with pytest.raises(OverlayRejected) as refused:
            parse(data)
        assert refused.value.reason == verdict["reason"]
        return
    overlay = parse(data)
    assert overlay.format is (Format.FLAT if verdict["expected"] == "accept_legacy" else Format.ENVELOPE)
    assert overlay.digest == f"sha256:{verdict.get('revision', overlay.digest.removeprefix('sha256:'))}"


def _expect(made: object, reason: RejectReason | None, expected: Scope | None = None) -> None:
    if reason is None:
        assert parse(encoded(made)).candidates
        return
    with pytest.raises(OverlayRejected) as refused:
        parse(encoded(made), expected=expected or Scope())
    assert refused.value.reason is reason
