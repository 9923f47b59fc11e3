"""Strategic merge patches give what a real API server answered.

The recording shows parts of the object, with the defaults that the server put in: so what the patch
made must stand in the answer, lists in the same order, and nothing may be left that is gone there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from forge.embedded.api.openapi.builtin import builtin
from forge.embedded.api.patch.rejected import PatchRejected
from forge.embedded.api.patch.strategic import apply_strategic
from forge.embedded.api.schema.model import JSON, Schema
from tests.forge.embedded.recorded import needs_recordings, pairs

RECORDING = "kube-apiserver-1.32-strategic-merge"
STRATEGIC = "application/strategic-merge-patch+json"
# What the server refuses after patching, by rules of the kind.
JUDGED_LATER = {"env-both", "volume-no-retain", "delete-all-containers", "replace-root"}


def differences(mine: Any, theirs: Any, path: str = "") -> list[str]:
    """Where *mine* says something else than *theirs*; what only they have is a default."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        keys = [k for k, v in mine.items() if v not in ({}, [], None)]
        return [d for k in keys for d in differences(mine[k], theirs.get(k), f"{path}.{k}")]
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        return [
            d
            for i, pair in enumerate(zip(mine, theirs, strict=True))
            for d in differences(*pair, f"{path}[{i}]")
        ]
    return [] if mine == theirs else [f"{path}: {mine!r} is not {theirs!r}"]


def part(obj: JSON, path: str) -> Any:
    at: Any = obj
    for key in path.split("."):
        at = at.get(key) if isinstance(at, dict) else None
    return at


def stored(obj: Any, schema: Schema) -> Any:
    """*obj* as Go would keep it: without empty values where the type leaves them out."""
    if isinstance(obj, list):
        return [stored(item, schema.items or Schema()) for item in obj]
    if not isinstance(obj, dict):
        return obj
    kinds = {key: schema.child(key) or Schema() for key in obj}
    return {k: stored(v, kinds[k]) for k, v in obj.items() if not (v in ({}, []) and kinds[k].omit)}


def removed_in(mine: Any, theirs: Any) -> bool:
    """Whether lists of the answer are as long as mine: a patch that deletes must delete."""
    if isinstance(theirs, dict) and isinstance(mine, dict):
        return all(removed_in(mine.get(k), v) for k, v in theirs.items() if k in mine)
    if isinstance(theirs, list) and isinstance(mine, list):
        return len(theirs) == len(mine) and all(map(removed_in, mine, theirs))
    return True


@pytest.mark.shared
@needs_recordings
def test_every_recorded_patch_of_a_deployment_and_a_service_account(
    record_property: Callable[[str, object], None],
) -> None:
    live: dict[str, JSON] = {}
    wrong: dict[str, Any] = {}
    compared = 0
    for pair in pairs(RECORDING):
        request, answer = pair["request"], pair["response"]
        path, body = request["path"], answer["body"]
        if request["method"] == "POST" and answer["status"] == 201:
            live[f"{path}/{body['metadata']['name']}"] = body
            continue
        if request["headers"].get("Content-Type") != STRATEGIC:
            continue
        kind = ("apps", "v1", "Deployment") if "/deployments/" in path else ("", "v1", "ServiceAccount")
        schema = builtin(*kind)
        assert schema is not None
        compared += 1
        before = live.get(path, {"metadata": {}})
        try:
            after = apply_strategic(before, request["body"], schema)
        except PatchRejected as rejected:
            if (rejected.code, rejected.message) != (answer["status"], body.get("message")):
                wrong[pair["id"]] = (rejected.code, rejected.message, body.get("message"))
            continue
        if answer["status"] >= 400:
            if pair["id"] not in JUDGED_LATER:
                wrong[pair["id"]] = body["message"]
            continue
        live[path] = stored(after, schema)
        shown = {p: part(after, p) for p in body if p != "metadata.generation"} if "kept" in pair else after
        theirs = body if "kept" in pair else {k: v for k, v in body.items() if k not in ("metadata", "kind")}
        shown = {k: v for k, v in shown.items() if k in theirs and theirs[k] is not None}
        shown.pop("metadata.managedFields", None)
        found = differences(shown, theirs)
        if found or not removed_in(shown, theirs):
            wrong[pair["id"]] = (found, shown, theirs)
    record_property("recorded strategic merges equal", f"{compared - len(wrong)} of {compared}")
    assert not wrong
    assert compared >= 45
