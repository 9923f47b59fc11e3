"""The annotation in which client-side `kubectl apply` keeps what it applied last.

When kubectl goes over to server-side apply, the server takes what the annotation names as kubectl's
own, and keeps the annotation up to date so that going back is possible.
"""

from __future__ import annotations

import json
from typing import Final

from forge.embedded.api.schema.model import JSON, Schema
from forge.embedded.api.ssa.fieldset import Path
from forge.embedded.api.ssa.typed import complaints, fields

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


def named(live: JSON, schema: Schema) -> set[Path]:
    """The fields the annotation of *live* names; none where it cannot be read."""
    try:
        last = json.loads(_annotations(live).get(ANNOTATION) or "")
    except (ValueError, TypeError, RecursionError):
        return set()
    if not isinstance(last, dict) or complaints(last, schema):
        return set()
    return set(fields(last, schema))


def refreshed(obj: JSON, applied: JSON) -> JSON:
    """*obj* with the annotation saying *applied*, if it has the annotation; itself otherwise."""
    annotations = _annotations(obj)
    if ANNOTATION not in annotations:
        return obj
    metadata = {**obj["metadata"], "annotations": {**annotations, ANNOTATION: _text(applied)}}
    return {**obj, "metadata": metadata}


def _annotations(obj: JSON) -> JSON:
    metadata = obj.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _text(applied: JSON) -> str:
    """*applied* as kubectl writes it, without the annotation itself."""
    metadata = dict(applied.get("metadata") or {})
    if "annotations" in metadata:
        metadata["annotations"] = {k: v for k, v in _annotations(applied).items() if k != ANNOTATION}
    kept = {**applied, "metadata": metadata}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
