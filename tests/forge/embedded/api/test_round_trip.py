"""Whatever is stored comes back as it is: read in every form and written again, it makes no new version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forge.embedded.api.cluster import SYSTEM
from forge.embedded.api.exchange import Ask, Reply
from forge.embedded.api.paths import parse
from tests.forge.embedded.api.test_anything import spoilt
from tests.forge.embedded.recorded import needs_recordings, pairs
from tests.kit.embedded_machine import Machine

TOPICS = (
    "config", "service", "workload", "rbac", "misc", "strategic-merge", "cr-validation", "cr-update-patch",
    "cr-server-side-apply", "cr-crd-lifecycle", "cr-delete", "cr-list",
)  # fmt: skip
VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 2**63, "", "a", "A_b", "é\x00", [], {}, [None], [{}], {"": 1}, {"a": None},
    {"$patch": "delete"}, [{"name": "a"}, {"name": "a"}], "9999-99-99T99:99:99Z", "1Gi",
]  # fmt: skip


@cache
def _requests() -> list[dict[str, Any]]:
    """Every recorded write with a document, on paths that need no symbol of an earlier answer."""
    recorded = [p["request"] for t in TOPICS for p in pairs(f"kube-apiserver-1.32-{t}")]
    return [r for r in recorded if isinstance(r.get("body"), (dict, list)) and "$" not in str(r["path"])]


def _sent(machine: Machine, request: dict[str, Any], body: Any) -> Reply:
    headers = {"Content-Type": "application/json", "User-Agent": "t/1"} | (request.get("headers") or {})
    query = {k: str(v) for k, v in dict(request.get("query") or {}).items()}
    raw = json.dumps(body).encode()
    path = str(request["path"])
    target = parse(request["method"], path)
    reply = machine.service.answer(Ask(request["method"], target, query, headers, SYSTEM, raw))
    assert isinstance(reply, Reply)
    return reply


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """What the recordings make, as far as it can be made without what they delete."""
    machine = Machine(tmp_path_factory.mktemp("round") / "store", retained=100_000)
    requests = _requests()
    for name in sorted(
        {
            str(r["path"]).split("/namespaces/")[1].split("/")[0]
            for r in requests
            if "/namespaces/" in str(r["path"])
        }
    ):
        machine.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    machine.settle()
    for request in requests:
        if request["method"] == "POST":
            _sent(machine, request, request["body"])
            if "definitions" in str(request["path"]):
                machine.settle()
    machine.settle()
    yield machine
    machine.journal.close()


@pytest.mark.shared
@needs_recordings
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(0, 100_000),
    place=st.lists(st.integers(0, 6), min_size=1, max_size=7),
    value=st.sampled_from(VALUES),
)
def test_a_recorded_write_with_one_wrong_member_has_an_answer(
    furnished: Machine, number: int, place: list[int], value: Any
) -> None:
    requests = _requests()
    request = requests[number % len(requests)]
    before = furnished.cluster.store.version
    reply = _sent(furnished, request, spoilt(request["body"], place, value))
    assert reply.code < 400 or furnished.cluster.store.version == before


@pytest.mark.shared
@needs_recordings
def test_every_stored_object_comes_back_as_it_is(furnished: Machine) -> None:
    resources = {r.storage: r for r in furnished.cluster.registry if r.storage_group is None}
    seen = 0
    for storage in furnished.cluster.store.resources():
        resource = resources[storage]
        for record in furnished.cluster.store.records(storage):
            place = f"namespaces/{record.key.namespace}/" if record.key.namespace else ""
            root = f"/apis/{resource.group}" if resource.group else "/api"
            path = f"{root}/{resource.version}/{place}{resource.plural}/{record.key.name}"
            document = furnished.call("GET", path)[1]
            as_yaml = furnished.service.answer(
                Ask("GET", parse("GET", path), {}, {"Accept": "application/yaml"}, SYSTEM)
            )
            assert isinstance(as_yaml, Reply)
            assert yaml.safe_load(as_yaml.body) == document
            code, again = furnished.call("PUT", path, document)
            assert (code, again) == (200, document), path
            seen += 1
    assert seen > 100
