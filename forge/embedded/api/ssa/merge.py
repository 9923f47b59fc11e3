"""Puts an applied object into the live one, and takes fields out again.

Lists keep an order both sides can live with: items of the live list stay in their sequence, items
that both have follow the applied one.
"""

from __future__ import annotations

from typing import Any

from forge.embedded.api.schema.model import ABSENT, Schema
from forge.embedded.api.ssa.fieldset import FieldSet
from forge.embedded.api.ssa.shapes import Shape, as_list, as_map, child, item_type, shape, step_of, steps_of


def merge(live: Any, applied: Any, schema: Schema) -> Any:
    """*live* with *applied* in it; ABSENT where nothing is left. Neither is changed."""
    if applied is ABSENT:
        return live
    if live is ABSENT:
        live = None
    kind = shape(schema, applied)
    if kind is Shape.MAP and (as_map(live) or as_map(applied)):
        return _maps(as_map(live), as_map(applied), schema)
    if kind is Shape.LIST and (as_list(live) or as_list(applied)):
        return _lists(as_list(live), as_list(applied), schema)
    return applied


def _maps(live: dict[str, Any], applied: dict[str, Any], schema: Schema) -> dict[str, Any]:
    merged = dict(live)
    for key, value in applied.items():
        merged[key] = merge(live.get(key, ABSENT), value, child(schema, key))
    return merged


def _lists(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    left = [(_step(item, schema) or f"i:{index}", item) for index, item in enumerate(live)]
    right = list(steps_of(applied, schema))
    mine = dict(reversed(left))
    theirs = dict(reversed(right))
    shared = [step for step, _ in right if step in mine]
    types, out, done = item_type(schema), [], set()
    at = to = 0
    while at < len(left) or to < len(right):
        if at < len(left):
            step, item = left[at]
            if step not in theirs:
                out.append(item)
                at += 1
                continue
            if step in done or (_other_first(step, right, to, shared)):
                at += 1
                continue
        step, item = right[to]
        out.append(merge(mine.get(step, ABSENT), item, types))
        done.add(step)
        at += at < len(left) and left[at][0] == step
        to += 1
        if shared and shared[0] == step:
            shared.pop(0)
    return out


def _other_first(step: str, right: list[tuple[str, Any]], to: int, shared: list[str]) -> bool:
    """Whether the live item *step* waits, since the applied list has another shared one first."""
    return to < len(right) and right[to][0] != step and bool(shared) and shared[0] != step


def remove(value: Any, gone: FieldSet, schema: Schema) -> Any:
    """*value* without the fields in *gone*; a map or list that loses all it holds is left empty."""
    match shape(schema, value):
        case Shape.MAP if isinstance(value, dict) and value:
            return _remove_keys(value, gone, schema)
        case Shape.LIST if isinstance(value, list) and value:
            return _remove_items(value, gone, schema)
    return value


def _remove_keys(value: dict[str, Any], gone: FieldSet, schema: Schema) -> dict[str, Any]:
    kept = {}
    for key, inner in value.items():
        step = f"f:{key}"
        if gone.has(step):
            continue
        below = gone.below(step)
        kept[key] = remove(inner, below, child(schema, key)) if below else inner
    return kept


def _remove_items(value: list[Any], gone: FieldSet, schema: Schema) -> list[Any]:
    kept = []
    for item in value:
        step = _step(item, schema)
        if gone.has(step):
            continue
        below = gone.below(step)
        kept.append(remove(item, below, item_type(schema)) if below else item)
    return kept


def _step(item: Any, schema: Schema) -> str:
    try:
        return step_of(item, schema)
    except ValueError:
        return ""
