"""Any bytes are an Overlay, or OverlayRejected with the reason a table here names; never another error."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.overlay import Admission, Credential, Format, Overlay, Scope, Tier
from grid.contract.parse import parse
from grid.contract.reasons import OverlayRejected, RejectReason
from tests.kit.overlays import GENERATED_AT_S, candidate, document, encoded

R = RejectReason
REFERENCE: dict[str, object] = {
    "strategy": "bearer_token",
    "secretRef": {"namespace": "n", "name": "c", "key": "k"},
}


def rejection(data: bytes, **options: Any) -> RejectReason:
    with pytest.raises(OverlayRejected) as refused:
        parse(data, **options)
    return refused.value.reason


def test_a_document_is_read_whole() -> None:
    overlay = parse(encoded(document([candidate(credential=REFERENCE)])))
    (found,) = overlay.candidates
    assert (overlay.format, overlay.grid_id, overlay.network) == (Format.V1ALPHA2, "grid-1", "production")
    assert (overlay.gateway, overlay.site) == ("edge-us-east", "edge-us-east")
    assert (overlay.revision, overlay.label) == (42, "42")
    assert (overlay.generated_at, overlay.max_age_s) == (GENERATED_AT_S, 300.0)
    assert found.identity == ("inference_model", "shared-model", "provider-east", "gateway-provider-east")
    assert (found.admission, found.tier, found.rank) == (Admission.NEW_AND_EXISTING, Tier.SAME_REGION, 0)
    assert (found.fresh, found.score) == (True, 9.1234)
    assert found.credential == Credential("bearer_token", "n", "c", "k")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(document([]), id="no candidates: authoritative empty"),
        pytest.param(document([candidate(f"s{i}", rank=i) for i in range(1024)]), id="as many as may be"),
        pytest.param(document([candidate("s" * 256, cluster="c")]), id="an identifier of 256 bytes"),
        pytest.param(document([candidate(score=None, fresh=None)]), id="no score, no freshness"),
        pytest.param(document([candidate(credential=None)]), id="no credential"),
        pytest.param(document([{**candidate(), "credential": None}]), id="credential null"),
        pytest.param(document(later_version="field"), id="an unknown field"),
        pytest.param(document([candidate(later={"deep": [1.5, {}]})]), id="an unknown field of a candidate"),
        pytest.param(document([candidate("a"), candidate("b", rank=1)]), id="two sites for one model"),
        pytest.param(document([candidate(), candidate(name="other")]), id="rank 0 for two models"),
        pytest.param(document(valid_until="2026-07-25T12:00:00.001Z"), id="long expired"),
    ],
)
def test_a_sound_document_is_accepted(made: dict[str, object]) -> None:
    assert len(parse(encoded(made), now=4e9).candidates) == len(made["candidates"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param([], R.MALFORMED_STRUCTURE, id="a list"),
        pytest.param("x", R.MALFORMED_STRUCTURE, id="a string"),
        pytest.param(document(schema_version="1.0.0"), R.MALFORMED_STRUCTURE, id="two formats at once"),
        pytest.param(document(api_version="v1"), R.UNSUPPORTED_SCHEMA_VERSION, id="an unknown version"),
        pytest.param(document(api_version=2), R.UNSUPPORTED_SCHEMA_VERSION, id="a version that is no string"),
        pytest.param(document(api_version=None), R.MISSING_SCHEMA_VERSION, id="an envelope without version"),
        pytest.param(document(grid_id=None), R.MALFORMED_STRUCTURE, id="no grid id"),
        pytest.param(document(network=""), R.INVALID_IDENTIFIER, id="an empty network"),
        pytest.param(document(network="a\x7f"), R.INVALID_IDENTIFIER, id="a control character"),
        pytest.param(document(network="a\x85"), R.INVALID_IDENTIFIER, id="a C1 control character"),
        pytest.param(document(network="é" * 129), R.INVALID_IDENTIFIER, id="258 bytes in 129 letters"),
        pytest.param(document(network=1), R.MALFORMED_STRUCTURE, id="a network that is no string"),
        pytest.param(document(consumer="edge"), R.MALFORMED_STRUCTURE, id="a consumer that is no object"),
        pytest.param(
            document(consumer={"gateway": "g"}), R.MALFORMED_STRUCTURE, id="a consumer without site"
        ),
        pytest.param(document(revision=None), R.MALFORMED_STRUCTURE, id="no revision"),
        pytest.param(document(revision=0), R.INVALID_REVISION, id="revision nought"),
        pytest.param(document(revision=True), R.INVALID_REVISION, id="revision true"),
        pytest.param(document(revision=1.0), R.INVALID_REVISION, id="revision 1.0"),
        pytest.param(document(revision=2**53), R.INVALID_REVISION, id="a revision no double holds"),
        pytest.param(document(generated_at="now"), R.INVALID_TIMESTAMP, id="no instant"),
        pytest.param(document(generated_at=1), R.MALFORMED_STRUCTURE, id="an instant that is a number"),
        pytest.param(document(valid_until=None), R.MALFORMED_STRUCTURE, id="no end"),
        pytest.param(
            document(valid_until="2026-07-25T12:00:00Z"), R.INVALID_VALIDITY, id="ends as it begins"
        ),
        pytest.param(document(content_digest=None), R.MALFORMED_STRUCTURE, id="no digest"),
        pytest.param(document(content_digest=1), R.MALFORMED_STRUCTURE, id="a digest that is no string"),
        pytest.param(document(content_digest="sha256:00"), R.DIGEST_MISMATCH, id="another digest"),
        pytest.param({**document(), "candidates": {}}, R.MALFORMED_STRUCTURE, id="candidates no list"),
        pytest.param(document(["x"]), R.MALFORMED_STRUCTURE, id="a candidate no object"),
        pytest.param(
            document([candidate(f"s{i}", rank=i) for i in range(1025)]),
            R.TOO_MANY_CANDIDATES,
            id="one too many",
        ),
        pytest.param(
            document([{**candidate(), "kind": 7}]), R.MALFORMED_STRUCTURE, id="a kind that is no string"
        ),
        pytest.param(document([candidate(admission_state=None)]), R.MALFORMED_STRUCTURE, id="no admission"),
        pytest.param(
            document([candidate(admission_state="Excluded")]),
            R.UNKNOWN_ADMISSION_STATE,
            id="unknown admission",
        ),
        pytest.param(document([candidate(selection_tier=None)]), R.MALFORMED_STRUCTURE, id="no tier"),
        pytest.param(
            document([candidate(selection_tier="near")]), R.UNKNOWN_SELECTION_TIER, id="unknown tier"
        ),
        pytest.param(document([candidate(rank=None)]), R.MALFORMED_STRUCTURE, id="no rank"),
        pytest.param(document([candidate(rank=-1)]), R.INVALID_RANK, id="a negative rank"),
        pytest.param(document([candidate(rank="0")]), R.INVALID_RANK, id="a rank that is a string"),
        pytest.param(document([candidate(fresh="yes")]), R.MALFORMED_STRUCTURE, id="freshness no flag"),
        pytest.param(document([candidate(score="9")]), R.MALFORMED_STRUCTURE, id="a score that is a string"),
        pytest.param(document([candidate(score=True)]), R.MALFORMED_STRUCTURE, id="a score that is a flag"),
        pytest.param(
            document([candidate(stable_id="sha256:00")]), R.STABLE_ID_MISMATCH, id="a borrowed stable id"
        ),
        pytest.param(
            document([candidate(), candidate(rank=1)]), R.DUPLICATE_CANDIDATE, id="one candidate twice"
        ),
        pytest.param(
            document([candidate("a"), candidate("b")]), R.DUPLICATE_RANK, id="one rank twice for a model"
        ),
        pytest.param(
            document([candidate(credential="t0k3n")]), R.MALFORMED_STRUCTURE, id="a bare credential"
        ),
        pytest.param(
            document([candidate(credential={**REFERENCE, "token": "x"})]),
            R.INVALID_CREDENTIAL,
            id="a token in a credential",
        ),
        pytest.param(
            document([candidate(credential={"strategy": "s", "secretRef": {"value": "x"}})]),
            R.INVALID_CREDENTIAL,
            id="a value in a secret reference",
        ),
        pytest.param(
            document([candidate(credential={"strategy": "s"})]),
            R.MALFORMED_STRUCTURE,
            id="no secret reference",
        ),
    ],
)
def test_a_bad_document_is_refused(made: object, reason: RejectReason) -> None:
    assert rejection(encoded(made)) is reason


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        pytest.param(Scope(), None, id="nothing expected"),
        pytest.param(Scope("production", "edge-us-east", "edge-us-east"), None, id="all as expected"),
        pytest.param(Scope(network="staging"), R.SCOPE_MISMATCH, id="another network"),
        pytest.param(Scope(gateway="edge-eu-west"), R.SCOPE_MISMATCH, id="another gateway"),
        pytest.param(Scope(site="edge-eu-west"), R.SCOPE_MISMATCH, id="another site"),
    ],
)
def test_scope(expected: Scope, reason: RejectReason | None) -> None:
    if reason is None:
        assert parse(encoded(document()), expected=expected).network == "production"
    else:
        assert rejection(encoded(document()), expected=expected) is reason


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        pytest.param(None, None, id="no clock"),
        pytest.param(GENERATED_AT_S - 30, None, id="as far ahead as may be"),
        pytest.param(GENERATED_AT_S - 30.5, R.CLOCK_SKEW, id="too far ahead"),
        pytest.param(GENERATED_AT_S + 1e6, None, id="long ago"),
    ],
)
def test_clock_skew(now: float | None, reason: RejectReason | None) -> None:
    if reason is None:
        assert parse(encoded(document()), now=now).generated_at == GENERATED_AT_S
    else:
        assert rejection(encoded(document()), now=now) is reason


@pytest.mark.parametrize(
    ("revision", "later_by_s", "same_digest", "reason"),
    [
        pytest.param(43, 1, False, None, id="the next revision"),
        pytest.param(43, -1, False, None, id="a higher revision with an older clock"),
        pytest.param(42, 1, True, None, id="the same, refreshed"),
        pytest.param(42, 0, True, None, id="the same again"),
        pytest.param(42, 1, False, None, id="the same number for other content, but newer"),
        pytest.param(42, 0, False, R.REVISION_CONFLICT, id="the same number and time for other content"),
        pytest.param(42, -1, False, R.REVISION_CONFLICT, id="the same number for other content, older"),
        pytest.param(1, 1, False, None, id="a writer that counts afresh"),
        pytest.param(41, 0, False, None, id="a lower revision of the same second"),
        pytest.param(41, -1, False, R.REVISION_ROLLBACK, id="an old document comes back"),
        pytest.param(41, -1, True, R.REVISION_ROLLBACK, id="an old document with the same content"),
    ],
)
def test_history(revision: int, later_by_s: int, same_digest: bool, reason: RejectReason | None) -> None:
    accepted = parse(encoded(document()))
    previous = dataclasses.replace(accepted, revision=42, generated_at=GENERATED_AT_S - later_by_s)
    content = [candidate()] if same_digest else [candidate(fresh=False)]
    data = encoded(document(content, revision=revision))
    if reason is None:
        assert parse(data, previous=previous).revision == revision
    else:
        assert rejection(data, previous=previous) is reason


def test_history_says_nothing_between_formats() -> None:
    flat = parse(encoded({"local_site": "s", "candidates": [candidate()]}))
    assert parse(encoded(document(revision=1)), previous=flat).revision == 1
    after = parse(encoded({"local_site": "s", "candidates": [candidate()]}), previous=flat)
    assert after.revision is None


def test_a_rejection_says_where_and_never_what() -> None:
    with pytest.raises(OverlayRejected, match=r"^invalid_credential: credential holds more") as refused:
        parse(encoded(document([candidate(credential={**REFERENCE, "s3cret": "s3cret"})])))
    assert "s3cret" not in str(refused.value)


@given(st.binary(max_size=256))
def test_any_bytes_are_an_overlay_or_rejected(data: bytes) -> None:
    _overlay_or_rejected(data)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FORMS: tuple[dict[str, object], ...] = (
    document([candidate(credential=REFERENCE), candidate("west", rank=1)]),
    {
        "local_site": "s",
        "network": "n",
        "candidates": [candidate()],
        "apiVersion": "grid.praxis-proxy.io/v1alpha1",
    },
    {
        "schema_version": "1.0.0",
        "revision": {"algorithm": "sha256", "value": "0" * 64},
        "content_digest": {"algorithm": "sha256", "value": "0" * 64},
        "scope": {"network": "n", "gateway": "g", "namespace": "ns", "local_site": "s"},
        "overlay": {"local_site": "s", "network": "n", "candidates": [candidate()]},
    },
)


@given(st.data())
def test_any_change_of_any_field_is_an_overlay_or_rejected(data: st.DataObject) -> None:
    made = json.loads(json.dumps(data.draw(st.sampled_from(FORMS))))
    owner: Any = made
    while True:
        key = data.draw(st.sampled_from(list(owner) if isinstance(owner, dict) else range(len(owner))))
        inner = owner[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            owner[key] = data.draw(JSON)
            break
        owner = inner
    _overlay_or_rejected(encoded_anyhow(made))


@given(st.sampled_from(FORMS), st.data())
def test_a_cut_or_flipped_document_is_an_overlay_or_rejected(
    form: dict[str, object], data: st.DataObject
) -> None:
    whole = bytearray(encoded(form))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255))
    _overlay_or_rejected(bytes(whole))
    _overlay_or_rejected(bytes(whole[:place]))


def encoded_anyhow(made: object) -> bytes:
    return json.dumps(made).encode("utf-8", "surrogatepass")


def _overlay_or_rejected(data: bytes) -> None:
    try:
        overlay = parse(data, now=2e9, expected=Scope(network="production"))
    except OverlayRejected:
        return
    assert isinstance(overlay, Overlay)
