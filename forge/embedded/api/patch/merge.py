"""JSON merge patch (RFC 7386).

One difference from the text, as in the library the real server uses: nulls are also taken out of
objects inside lists, where the list is new or replaces what was no object.
"""

from __future__ import annotations

from typing import Any

from forge.embedded.api.patch.rejected import json_kind, too_deep, undecodable
from forge.embedded.api.schema.model import JSON


def apply_merge(doc: JSON, patch: Any) -> JSON:
    """*doc* with *patch* merged in. Raises PatchRejected where the patch is no object."""
    if not isinstance(patch, dict):
        raise undecodable(
            f"json: cannot unmarshal {json_kind(patch)} into Go value of type map[string]interface {{}}"
        )
    try:
        return _merge(doc, patch)
    except RecursionError:
        raise too_deep() from None


def _merge(doc: JSON, patch: JSON) -> JSON:
    merged = dict(doc)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif not isinstance(merged.get(key), dict):
            merged[key] = _without_nulls(value)
        else:
            merged[key] = _merge(merged[key], value) if isinstance(value, dict) else value
    return merged


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value
