"""Strategic merge patch of built-in kinds: lists merge by the key their type declares.

    $patch: replace | delete | merge   in a map, or in an item of a merged list
    $retainKeys                        keeps only these keys of a map
    $setElementOrder/LIST              the order the list shall have
    $deleteFromPrimitiveList/LIST      values to take out of a list of scalars

The live object and the patch each keep their own order; items the patch does not name stand where
the live order puts them, and new ones come first.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from forge.embedded.api.patch.order import arrange, order_fits
from forge.embedded.api.patch.rejected import broken, json_kind, too_deep, undecodable
from forge.embedded.api.patch.restore import check_types
from forge.embedded.api.schema.causes import in_go_plain
from forge.embedded.api.schema.model import JSON, Schema

DIRECTIVE: Final = "$patch"
RETAIN: Final = "$retainKeys"
ORDER: Final = "$setElementOrder/"
DELETE: Final = "$deleteFromPrimitiveList/"
UNTYPED: Final = Schema()


def apply_strategic(doc: JSON, patch: Any, schema: Schema) -> JSON:
    """*doc* with *patch* merged in; neither is changed.

    Raises PatchRejected where the patch is no object, contradicts itself, or leaves something that
    is not of its type.
    """
    if not isinstance(patch, dict):
        raise undecodable(
            f"json: cannot unmarshal {json_kind(patch)} into Go value of type map[string]interface {{}}"
        )
    try:
        merged = _merge_map(copy.deepcopy(doc), copy.deepcopy(patch), schema)
        check_types(merged, schema, patch)
    except RecursionError:
        raise too_deep() from None
    return merged


def _merge_map(live: JSON, patch: JSON, schema: Schema) -> JSON:
    if DIRECTIVE in patch:
        return _directed(patch)
    _retain(live, patch)
    _ordered(live, patch, schema)
    for key, value in patch.items():
        _merge_key(live, key, value, schema)
    return live


def _directed(patch: JSON) -> JSON:
    directive = patch.pop(DIRECTIVE)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise broken(
        f"unknown patch type: {in_go_plain(directive)} in map: {in_go_plain({DIRECTIVE: directive, **patch})}"
    )


def _retain(live: JSON, patch: JSON) -> None:
    if RETAIN not in patch:
        return
    kept = patch.pop(RETAIN)
    named = [k for k, v in patch.items() if v is not None and not k.startswith((ORDER, DELETE))]
    if not isinstance(kept, list) or any(k not in kept for k in named):
        raise broken("invalid patch format of $retainKeys: the list does not hold every key of the patch")
    for key in [k for k in live if k not in kept]:
        del live[key]


def _ordered(live: JSON, patch: JSON, schema: Schema) -> None:
    """Merges the lists that come with an order, and takes both out of the patch."""
    for marker in [k for k in patch if k.startswith(ORDER)]:
        order = patch.pop(marker)
        key = marker.removeprefix(ORDER)
        if not isinstance(order, list):
            raise broken("invalid patch format of $setElementOrder list: no list")
        before, change = live.get(key), patch.pop(key, None)
        below = schema.child(key) or UNTYPED
        if not isinstance(before, (list, type(None))) or not isinstance(change, (list, type(None))):
            raise broken(f"invalid patch format: {key} is no list")
        order_fits(change or [], order, below.merge_key)
        if before is None and change is None:
            continue
        if before is None:
            merged = _undirected(change)
        else:
            merged = before if change is None else _merge_list(copy.copy(before), change, below)
        live[key] = arrange(merged, order, before or [], below.merge_key)


def _merge_key(live: JSON, key: str, value: Any, schema: Schema) -> None:
    deleting = key.startswith(DELETE)
    if deleting:
        key = key.removeprefix(DELETE)
        if not isinstance(value, list):
            raise broken("invalid patch format of $deleteFromPrimitiveList: no list")
        if isinstance(live.get(key), list):
            live[key] = [v for v in live[key] if v not in value]
        return
    if value is None:
        live.pop(key, None)
        return
    before = live.get(key)
    below = schema.child(key) or UNTYPED
    if isinstance(before, dict) and isinstance(value, dict):
        live[key] = _merge_map(before, value, below)
    elif isinstance(before, list) and isinstance(value, list):
        live[key] = _merge_list(before, value, below)
    else:
        live[key] = _undirected(_without_nulls(value))


def _merge_list(live: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if not schema.merge:
        return patch
    if not live and not patch:
        return live
    if any(isinstance(item, dict) for item in (*live, *patch)):
        return _merge_maps(live, patch, schema)
    merged = list(dict.fromkeys((*live, *patch))) if _scalar((*live, *patch)) else patch
    return arrange(merged, patch, live, "")


def _scalar(items: tuple[Any, ...]) -> bool:
    return all(isinstance(i, (str, int, float, bool)) for i in items)


def _merge_maps(live: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    key = schema.merge_key
    if not key:
        raise broken(f"cannot merge lists without merge key for {schema.go}")
    if not all(isinstance(item, dict) for item in (*live, *patch)):
        raise broken("the elements of a list are not all of one type")
    live, plain = _special(live, patch, key)
    merged = list(live)
    for item in plain:
        if key not in item:
            raise broken(f"map: {in_go_plain(item)} does not contain declared merge key: {key}")
        at = next((i for i, m in enumerate(merged) if m.get(key) == item[key]), None)
        if at is None:
            merged.append(_undirected(_without_nulls(item)))
        else:
            merged[at] = _merge_map(dict(merged[at]), item, schema.items or UNTYPED)
    return arrange(merged, plain, live, key)


def _special(live: list[JSON], patch: list[JSON], key: str) -> tuple[list[JSON], list[JSON]]:
    """(the live items without the deleted ones, the patch's items that are no directives)."""
    plain, replace = [], False
    for item in patch:
        directive = item.get(DIRECTIVE)
        if DIRECTIVE not in item:
            plain.append(item)
        elif directive == "replace":
            replace = True
        elif directive == "delete":
            if key not in item:
                raise broken(f"map: {in_go_plain(item)} does not contain declared merge key: {key}")
            live = [m for m in live if m.get(key) != item[key]]
        elif directive == "merge":
            raise broken("merging lists cannot yet be specified in the patch")
        else:
            raise broken(f"unknown patch type: {in_go_plain(directive)} in map: {in_go_plain(item)}")
    return (plain, []) if replace else (live, plain)


def _undirected(value: Any) -> Any:
    """*value* as it stands where nothing was before: without any directive.

    A map that says anything but `$patch: replace` is nothing, a list item that says so is gone.
    """
    if isinstance(value, dict):
        if value.get(DIRECTIVE, "replace") != "replace":
            return {}
        return {
            k: _undirected(v)
            for k, v in value.items()
            if k not in (DIRECTIVE, RETAIN) and not k.startswith((ORDER, DELETE))
        }
    if isinstance(value, list):
        return [_undirected(v) for v in value if not (isinstance(v, dict) and DIRECTIVE in v)]
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return value
