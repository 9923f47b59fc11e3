"""Replays recorded answers of real API servers through the pure functions alone.

A pair's stored object is what the recording itself showed last, so one difference does not make the
next. Left out: what is no business of these functions (versions, uids, names in the path, printing).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from forge.embedded.api.patch.json import apply_json
from forge.embedded.api.patch.merge import apply_merge
from forge.embedded.api.patch.rejected import PatchRejected
from forge.embedded.api.schema.default import default
from forge.embedded.api.schema.model import JSON, Schema
from forge.embedded.api.schema.prune import prune
from forge.embedded.api.schema.structural import SchemaInvalid, parse
from forge.embedded.api.schema.validate import validate
from forge.embedded.api.ssa.apply import Applied, ApplyRejected, Write, apply, track_update
from forge.embedded.api.ssa.reset import reset_fields

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "kubernetes-oracle"
NOW = "2024-01-01T00:00:00Z"
needs_recordings = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the recordings beside the project are absent"
)
SYSTEM = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace", "name",
          "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")  # fmt: skip
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(slots=True)
class Outcome:
    """One pair. equal: whether what was compared is equal. got, want: what was compared."""

    id: str
    equal: bool
    got: Any = None
    want: Any = None


@dataclass(slots=True)
class World:
    """Definitions by `group/plural`, and stored objects by path."""

    schemas: dict[str, dict[str, Schema]] = field(default_factory=dict)
    with_status: set[str] = field(default_factory=set)
    objects: dict[str, JSON] = field(default_factory=dict)
    second: int = 0

    @property
    def now(self) -> str:
        """The time of this pair: one second after the one before."""
        return f"2024-01-01T01:{self.second // 60:02}:{self.second % 60:02}Z"


def pairs(name: str) -> list[JSON]:
    """The pairs of a recording, times made real."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    text = re.sub(r"\$MFTIME(\d)", r"2024-01-01T00:00:0\1Z", text.replace("$TIME", NOW))
    found: list[JSON] = json.loads(text)["pairs"]
    return found


def replay(name: str) -> list[Outcome]:
    """What became of every pair of recording *name* that these functions have a say in."""
    world = World()
    outcomes = []
    for pair in pairs(name):
        world.second += 1
        outcome = _pair(pair, world)
        if outcome is not None:
            outcomes.append(outcome)
        _remember(pair, world)
    return outcomes


def share(outcomes: list[Outcome]) -> str:
    """`95 of 96`, for the report."""
    return f"{sum(o.equal for o in outcomes)} of {len(outcomes)}"


def different(outcomes: list[Outcome]) -> list[str]:
    """The ids that differ."""
    return [o.id for o in outcomes if not o.equal]


def _pair(pair: JSON, world: World) -> Outcome | None:
    request, answer = pair["request"], pair["response"]
    path = request["path"]
    if path.endswith("/customresourcedefinitions") and request["method"] == "POST":
        return _definition(pair, request["body"], answer)
    place = _place(path, world)
    if place is None or "kept" in pair or "dropped" in pair or not isinstance(answer.get("body"), dict):
        return None
    schema, key, subresource, resource = place
    body = request.get("body")
    if isinstance(body, str):
        if "$REPEAT" in body:
            return None
        body = _read(body)
    act = {"POST": _create, "PUT": _put, "PATCH": _patch}.get(request["method"])
    if act is None or subresource == "scale" or _elsewhere(answer):
        return None
    live = world.objects.get(key)
    write = _write(request, schema, subresource, resource in world.with_status, world.now)
    got = act(request, live, body, write, resource in world.with_status)
    if got is None:
        return None
    want = _wanted(answer)
    return Outcome(pair["id"], got == want, got, want)


def _elsewhere(answer: JSON) -> bool:
    """Answers that are decided before or after these functions."""
    body = answer["body"]
    message = body.get("message", "") if body.get("kind") == "Status" else ""
    if answer["status"] in (404, 405, 403, 401, 406, 413, 415):
        return True
    if answer["status"] == 409 and not message.startswith("Apply failed"):
        return True
    words = ("metadata.", "does not match", "cannot be handled", "must be specified", "Options", "strict decoding",
             "resourceVersion", "error decoding", "invalid object type", "must be nil", "name must be", "dryRun",
             "fieldValidation", "must be Gadget", "must be demo.test", "the API version", "the kind")  # fmt: skip
    return any(word in message for word in words)


def _place(path: str, world: World) -> tuple[Schema, str, str, str] | None:
    found = re.fullmatch(
        r"/apis/([^/]+)/([^/]+)/(?:namespaces/([^/]+)/)?([^/]+)(?:/([^/]+))?(?:/([^/]+))?", path
    )
    if not found:
        return None
    group, version, namespace, plural, name, subresource = found.groups()
    schema = world.schemas.get(f"{group}/{plural}", {}).get(version)
    if schema is None:
        return None
    return schema, f"{group}/{plural}/{namespace}/{name}", subresource or "", f"{group}/{plural}"


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _write(request: JSON, schema: Schema, subresource: str, has_status: bool, now: str) -> Write:
    query = request.get("query") or {}
    query = dict(query) if isinstance(query, list) else query
    agent = request.get("headers", {}).get("User-Agent", "").partition("/")[0]
    manager = query.get("fieldManager") or agent
    parts = request["path"].split("/")
    reset = reset_fields(subresource, has_status=has_status)
    return Write(manager, schema, f"{parts[2]}/{parts[3]}", now, subresource, reset)


def _create(request: JSON, live: JSON | None, body: Any, write: Write, has_status: bool) -> Any:
    if not isinstance(body, dict) or not isinstance(body.get("metadata", {}), dict):
        return None
    obj, _ = prune(body, write.schema)
    if has_status:
        obj = {k: v for k, v in obj.items() if k != "status"}
    return _stored(None, default(obj, write.schema), write)


def _put(request: JSON, live: JSON | None, body: Any, write: Write, has_status: bool) -> Any:
    if live is None or not isinstance(body, dict):
        return None
    obj, _ = prune(body, write.schema)
    obj["metadata"] = {
        **_system(live),
        **{k: v for k, v in obj.get("metadata", {}).items() if k not in SYSTEM[:4]},
    }
    return _stored(live, default(_kept(live, obj, write, has_status), write.schema), write)


def _patch(request: JSON, live: JSON | None, body: Any, write: Write, has_status: bool) -> Any:
    kind = request["headers"]["Content-Type"].partition(";")[0]
    query = dict(request.get("query") or {})
    try:
        if kind == APPLY:
            return _apply(live, body, write, has_status, query.get("force") == "true")
        if live is None or kind not in (MERGE, JSON_PATCH):
            return None
        patched = apply_merge(live, body) if kind == MERGE else apply_json(live, body)
    except PatchRejected as rejected:
        return (rejected.code, rejected.message, rejected.details or None)
    except ApplyRejected as wrong:
        return (wrong.code, wrong.message, None)
    obj, _ = prune(patched, write.schema)
    for name in SYSTEM[:4]:
        if name in live["metadata"]:
            obj["metadata"][name] = live["metadata"][name]
    return _stored(live, default(_kept(live, obj, write, has_status), write.schema), write)


def _apply(live: JSON | None, body: Any, write: Write, has_status: bool, force: bool) -> Any:
    if not isinstance(body, dict):
        return None
    found = apply(live, body, write, force=force)
    if not isinstance(found, Applied):
        causes = sorted((c.field, c.message) for c in found.causes)
        return (409, found.message, causes)
    obj = _kept(live or {}, found.object, write, has_status)
    obj = default(obj, write.schema, drop_nulls=False)
    if wrong := validate(obj, write.schema, live):
        return (422, sorted((c.reason, c.field, c.message) for c in wrong))
    return _shown(obj, obj["metadata"].get("managedFields"))


def _kept(live: JSON, obj: JSON, write: Write, has_status: bool) -> JSON:
    """What a subresource does not take is as it was."""
    if not has_status:
        return obj
    frozen = (
        [k for k in {*live, *obj} if k not in ("status", "metadata")] if write.subresource else ["status"]
    )
    kept = {k: v for k, v in obj.items() if k not in frozen}
    kept |= {k: live[k] for k in frozen if k in live}
    return kept


def _stored(live: JSON | None, obj: JSON, write: Write) -> Any:
    if wrong := validate(obj, write.schema, live):
        return (422, sorted((c.reason, c.field, c.message) for c in wrong))
    entries = track_update(live, obj, write)
    if live is not None and write.subresource == "status":
        # Metadata is booked as sent, then put back: what the recorded release does.
        obj = {**obj, "metadata": live["metadata"]}
    return _shown(obj, entries)


def _shown(obj: JSON, entries: Any) -> Any:
    shown = {k: v for k, v in obj.items() if k != "metadata"}
    shown["metadata"] = {
        k: v for k, v in obj.get("metadata", {}).items() if k not in SYSTEM and v not in ({}, [])
    }
    return (200, shown, _managed(entries))


def _managed(entries: Any) -> list[str]:
    return sorted(
        json.dumps({k: v for k, v in e.items() if k != "time"}, sort_keys=True)
        + ("timed" if e.get("time") else "")
        for e in entries or ()
    )


def _wanted(answer: JSON) -> Any:
    body, code = answer["body"], answer["status"]
    if code < 300:
        return _shown(body, body["metadata"].get("managedFields"))
    details = body.get("details") or {}
    causes = details.get("causes")
    if code == 409:
        return (code, body["message"], sorted((c["field"], c["message"]) for c in causes or ()))
    if code == 422 and causes:
        return (code, sorted((c["reason"], c["field"], c["message"]) for c in causes))
    return (code, body["message"], None)


def _system(live: JSON) -> JSON:
    return {k: v for k, v in live["metadata"].items() if k in SYSTEM[:4]}


def _definition(pair: JSON, body: Any, answer: JSON) -> Outcome | None:
    if not isinstance(body, dict) or not isinstance(body.get("spec", {}).get("versions"), list):
        return None
    want = [
        (c["reason"], c["field"], c["message"])
        for c in (answer["body"].get("details") or {}).get("causes") or ()
        if "openAPIV3Schema" in c["field"] and "are required" not in c["message"]
    ]
    got = []
    for version in body["spec"]["versions"]:
        try:
            parse(version.get("schema", {}).get("openAPIV3Schema", {"type": "object"}))
        except SchemaInvalid as wrong:
            got += [(c.reason, c.field, c.message) for c in wrong.causes]
    return Outcome(pair["id"], got == want, got, want)


def _remember(pair: JSON, world: World) -> None:
    request, answer = pair["request"], pair["response"]
    body = answer.get("body")
    if not isinstance(body, dict) or answer["status"] >= 300:
        return
    query = dict(request.get("query") or {})
    if body.get("kind") == "CustomResourceDefinition" and "kept" not in pair:
        _define(body, world)
    elif (
        request["path"].endswith("/customresourcedefinitions/widgets.demo.test")
        and request["method"] == "PATCH"
    ):
        spec = world.schemas["demo.test/widgets"]["v1"].raw
        changed = copy.deepcopy(dict(spec))
        changed["properties"]["spec"]["properties"]["size"]["minimum"] = 5
        world.schemas["demo.test/widgets"]["v1"] = parse(changed)
    place = _place(request["path"], world)
    if "dryRun" in query or request["path"].endswith("/scale"):
        return
    if "kept" in pair and place is not None:
        _recompute(pair, place, world)
    if "kept" in pair or "metadata" not in body:
        return
    name = body["metadata"].get("name")
    if place is None or name is None:
        return
    key = place[1].rpartition("/")[0] + f"/{name}"
    if request["method"] == "DELETE" and "deletionTimestamp" not in body["metadata"]:
        world.objects.pop(key, None)
    elif body.get("kind") != "Status":
        world.objects[key] = body


def _recompute(pair: JSON, place: tuple[Schema, str, str, str], world: World) -> None:
    """The recording shows a part only: the object as these functions make it."""
    schema, key, subresource, resource = place
    request, live = pair["request"], world.objects.get(key)
    kind = request.get("headers", {}).get("Content-Type", "")
    if live is None or request["method"] != "PATCH" or kind != MERGE:
        return
    write = _write(request, schema, subresource, resource in world.with_status, world.now)
    obj, _ = prune(apply_merge(live, request["body"]), schema)
    obj = default(_kept(live, obj, write, resource in world.with_status), schema)
    obj["metadata"]["managedFields"] = track_update(live, obj, write)
    world.objects[key] = obj


def _define(definition: JSON, world: World) -> None:
    spec = definition["spec"]
    resource = f"{spec['group']}/{spec['names']['plural']}"
    world.schemas[resource] = {v["name"]: parse(v["schema"]["openAPIV3Schema"]) for v in spec["versions"]}
    if any("status" in (v.get("subresources") or {}) for v in spec["versions"]):
        world.with_status.add(resource)


def names() -> Iterator[str]:
    """Every recording of custom resources."""
    if FOLDER.is_dir():
        yield from sorted(p.stem for p in FOLDER.glob("kube-apiserver-1.32-cr-*.json"))
