"""kubectl's protobuf requests become the JSON they stand for; anything else is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.openapi.protobuf import MAGIC, ProtobufRejected, decode
from forge.embedded.api.openapi.wire import BadWire, entries, signed
from tests.forge.embedded.recorded import FOLDER, needs_recordings


def varint(value: int) -> bytes:
    out = b""
    value &= (1 << 64) - 1
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def part(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def request(api_version: str, kind: str, *parts: bytes) -> bytes:
    return MAGIC + part(1, part(1, api_version) + part(2, kind)) + part(2, b"".join(parts))


META = part(1, part(1, "a") + part(7, 0))


def test_zero_values_and_inlined_structs_are_undone() -> None:
    volume = part(1, "v") + part(2, part(2, part(1, "") + part(2, b"")))
    pod = request("v1", "Pod", META, part(2, part(1, volume) + part(11, 0) + part(5, 0)))
    assert decode(pod) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
        "spec": {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": ""}}], "activeDeadlineSeconds": 0},
    }


def test_bytes_maps_times_and_either() -> None:
    secret = request("v1", "Secret", META, part(2, part(1, "k") + part(2, b"\x00\x01")))
    assert decode(secret)["data"] == {"k": "AAE="}
    port = part(3, 80) + part(4, part(1, 1) + part(2, 0) + part(3, "http"))
    service = request("v1", "Service", META, part(2, part(1, port) + part(2, part(1, "app") + part(2, "x"))))
    assert decode(service)["spec"] == {
        "ports": [{"port": 80, "targetPort": "http"}],
        "selector": {"app": "x"},
    }
    times = part(3, part(1, 1_700_000_000) + part(2, 123_456_000)) + part(4, part(1, 1_700_000_000))
    lease = request("coordination.k8s.io/v1", "Lease", META, part(2, times))
    assert decode(lease)["spec"]["acquireTime"] == "2023-11-14T22:13:20.123456Z"


def test_raw_json_lists_in_maps_and_zero_times() -> None:
    entry = (
        part(1, "m") + part(2, "Update") + part(7, part(1, b'{"f:a":{}}')) + part(4, part(1, 1_700_000_000))
    )
    tracked = request("v1", "ConfigMap", part(1, part(1, "a") + part(17, entry) + part(8, b"")))
    assert decode(tracked)["metadata"] == {
        "name": "a",
        "managedFields": [
            {"manager": "m", "operation": "Update", "time": "2023-11-14T22:13:20Z", "fieldsV1": {"f:a": {}}}
        ],
    }
    extra = part(1, "k") + part(2, part(1, "x") + part(1, "y"))
    review = request("authorization.k8s.io/v1", "SubjectAccessReview", part(2, part(5, extra) + part(3, "u")))
    assert decode(review)["spec"] == {"user": "u", "extra": {"k": ["x", "y"]}}
    broken = request("v1", "ConfigMap", part(1, part(17, part(7, part(1, b"{")))))
    with pytest.raises(ProtobufRejected, match="no JSON"):
        decode(broken)


def test_negative_numbers() -> None:
    pod = request("v1", "Pod", META, part(2, part(25, -1)))
    assert decode(pod)["spec"] == {"priority": -1}
    assert signed(0xFFFF_FFFF, 32) == -1


REFUSED = [
    pytest.param(
        b"{}",
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        id="JSON",
    ),
    pytest.param(MAGIC + b"\x0a\x05x", "unexpected EOF", id="a message cut short"),
    pytest.param(MAGIC + b"\x80", "unexpected EOF", id="a number cut short"),
    pytest.param(MAGIC + b"\x07", "proto: illegal tag 0", id="a field without a number"),
    pytest.param(
        request("batch/v1", "Job"),
        'no kind "Job" is registered for version "batch/v1"',
        id="a kind not served",
    ),
]


@pytest.mark.parametrize(("body", "told"), REFUSED)
def test_what_is_refused(body: bytes, told: str) -> None:
    with pytest.raises(ProtobufRejected) as refused:
        decode(body)
    assert str(refused.value) == told


@given(st.binary(max_size=60), st.sampled_from(["Pod", "Service", "Lease", "Deployment", "Node"]))
def test_any_bytes_are_an_object_or_refused(raw: bytes, kind: str) -> None:
    for body in (MAGIC + raw, request("v1", kind, raw), request("v1", kind, part(2, raw))):
        try:
            made = decode(body)
        except ProtobufRejected:
            continue
        assert json.loads(json.dumps(made)) == made


@given(
    st.lists(st.tuples(st.integers(1, 2**20), st.integers(0, 2**64 - 1) | st.binary(max_size=8)), max_size=5)
)
def test_the_wire_format_is_read_as_written(values: list[tuple[int, int | bytes]]) -> None:
    message = b"".join(part(number, value) for number, value in values)
    assert list(entries(message)) == values
    if message:
        with pytest.raises(BadWire):
            list(entries(message + b"\xff"))


def bare(value: Any) -> Any:
    """Without zero values and masks: the recording kept the zeros of the wire."""
    if isinstance(value, dict):
        kept = {k: bare(v) for k, v in value.items()}
        return {k: v for k, v in kept.items() if v not in (None, "", 0, False, {}, []) and "$" not in str(v)}
    return [bare(v) for v in value] if isinstance(value, list) else value


def sent() -> Iterator[tuple[str, bytes, Any]]:
    recorded = json.loads((FOLDER / "kubectl-requests.json").read_text(encoding="utf-8"))
    for command in recorded["commands"]:
        for requests in command["requests"].values():
            for made in requests if isinstance(requests, list) else ():
                if "body_protobuf_base64" in made and "body" in made:
                    yield command["id"], base64.b64decode(made["body_protobuf_base64"]), made["body"]


@pytest.mark.shared
@needs_recordings
def test_recorded_requests_of_both_kubectls(record_property: Callable[[str, object], None]) -> None:
    compared, foreign = 0, set()
    for name, body, want in sent():
        try:
            got = decode(body)
        except ProtobufRejected:
            foreign.add(name)
            continue
        for key in (
            ("uid", "resourceVersion", "creationTimestamp", "managedFields") if name == "reconcile" else ()
        ):
            got["metadata"].pop(key, None)
            want["metadata"].pop(key, None)
        assert bare(got) == bare(want), name
        compared += 1
    record_property("recorded protobuf requests equal", compared)
    assert compared >= 17
    assert foreign == {"create-job", "create-cronjob", "create-ingress", "create-pdb", "autoscale"}
