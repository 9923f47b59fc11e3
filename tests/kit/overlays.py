"""Overlay documents for tests: a valid one by default, with what a test is about changed.

They are built as JSON values and sealed with their digest at the end, so a test that breaks one field breaks
nothing else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from grid.contract.digest import content_digest, stable_id

Json = dict[str, object]

GENERATED_AT = "2026-07-25T12:00:00Z"
GENERATED_AT_S = 1_784_980_800.0
VALID_UNTIL = "2026-07-25T12:05:00Z"


def candidate(
    site: str = "provider-east",
    *,
    name: str = "shared-model",
    kind: str = "inference_model",
    cluster: str | None = None,
    **changes: object,
) -> Json:
    """A v1alpha2 candidate; a change to None leaves the field out."""
    cluster = f"gateway-{site}" if cluster is None else cluster
    found: Json = {
        "kind": kind,
        "name": name,
        "site": site,
        "cluster": cluster,
        "stable_id": stable_id(kind, name, site, cluster),
        "admission_state": "new_and_existing",
        "selection_tier": "same_region",
        "rank": 0,
        "fresh": True,
        "score": 9.1234,
    }
    found.update(changes)
    return {field: value for field, value in found.items() if value is not None}


def document(candidates: Iterable[object] | None = None, **changes: object) -> Json:
    """A v1alpha2 document for edge-us-east; a change to None leaves the field out. Its digest is right."""
    found: Json = {
        "api_version": "grid.praxis.fast/v1alpha2",
        "grid_id": "grid-1",
        "network": "production",
        "consumer": {"gateway": "edge-us-east", "site": "edge-us-east"},
        "revision": 42,
        "generated_at": GENERATED_AT,
        "valid_until": VALID_UNTIL,
        "candidates": [candidate()] if candidates is None else list(candidates),
    }
    found.update({field: value for field, value in changes.items() if field != "content_digest"})
    found = {field: value for field, value in found.items() if value is not None}
    digest = changes.get("content_digest", content_digest(found))
    return found if digest is None else {**found, "content_digest": digest}


def encoded(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def instant(unix_s: float) -> str:
    """As documents write it."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def current(
    candidates: Iterable[object], revision: int = 1, *, valid_s: float = 86_400, **more: object
) -> bytes:
    """A document written now."""
    now = time.time()
    times = {"generated_at": instant(now), "valid_until": instant(now + valid_s)}
    return encoded(document(candidates, revision=revision, **{**times, **more}))


def put(path: Path, content: bytes) -> None:
    """Replaces the file as a careful writer does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(".new")
    new.write_bytes(content)
    new.replace(path)
