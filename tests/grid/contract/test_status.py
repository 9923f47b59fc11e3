"""A gateway's status is its schema and nothing more: any bytes are one, or StatusRejected."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.reasons import RejectReason
from grid.contract.status import (
    MAX_STATUS_BYTES,
    Coverage,
    Covered,
    GatewayStatus,
    Loaded,
    NotReady,
    Rejection,
    StatusRejected,
    read_status,
    write_status,
)

LOADED = Loaded(
    revision=42,
    label="42",
    digest="sha256:00",
    generated_at=1.0,
    valid_until=2.5,
    accepted_at=1.25,
    candidates=3,
)
STATUS = GatewayStatus(
    network="production",
    gateway="edge-us-east",
    site="edge-us-east",
    ready=False,
    not_ready=(NotReady.DRAINING,),
    draining=True,
    accepted=LOADED,
    serving=None,
    age_s=3.5,
    rejections=1,
    last_rejection=Rejection(reason=RejectReason.DIGEST_MISMATCH, at=2.0),
    coverage=Coverage(routes=2, open=1, missing=0),
    covered=(Covered(kind="inference_model", name="shared-model", candidates=2, open=1),),
    bindings=7,
)
OBJECT = json.loads(write_status(STATUS))


def test_a_status_reads_back_as_it_was_written() -> None:
    assert read_status(write_status(STATUS)) == STATUS


def test_the_largest_overlay_s_status_is_within_the_bound() -> None:
    name = '"' * 256
    most = Covered(kind="inference_model", name=name, candidates=1024, open=1024)
    status = msgspec.structs.replace(STATUS, covered=(most,) * 1024)
    assert read_status(write_status(status)) == status


def test_a_status_says_its_version() -> None:
    assert OBJECT["api_version"] == "grid.praxis.fast/status/v1alpha1"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="no fields"),
        pytest.param(b"\xff", id="not UTF-8"),
        pytest.param(b"[" * 5000, id="nested without end"),
        pytest.param(b" " * (MAX_STATUS_BYTES + 1), id="too long"),
        pytest.param(json.dumps({**OBJECT, "more": 1}).encode(), id="a field too many"),
        pytest.param(json.dumps({**OBJECT, "api_version": "v2"}).encode(), id="another version"),
        pytest.param(json.dumps({**OBJECT, "not_ready": ["tired"]}).encode(), id="an unknown reason"),
        pytest.param(json.dumps({**OBJECT, "age_s": "3"}).encode(), id="a string for a number"),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(StatusRejected):
        read_status(data)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_status_or_refused(data: bytes) -> None:
    with pytest.raises(StatusRejected):
        read_status(data)
