"""The order of a strategically merged list.

Two sequences are woven: what the patch names, in the patch's order, and what only the live object
has, in its own. A live item goes before the first named one that followed it in the live list.
"""

from __future__ import annotations

from typing import Any

from forge.embedded.api.patch.rejected import broken
from forge.embedded.api.schema.causes import in_go_plain


def arrange(merged: list[Any], order: list[Any], live: list[Any], key: str) -> list[Any]:
    """*merged* in the order that *order* (the patch's) and *live* give. key: "" for scalars."""
    places, before = _places(order, key), _places(live, key)
    named = [item for item in merged if _name(item, key) in places]
    others = [item for item in merged if _name(item, key) not in places]
    named.sort(key=lambda item: places[_name(item, key)])
    others.sort(key=lambda item: before.get(_name(item, key), len(live)))
    return _weave(others, named, before, key)


def _weave(others: list[Any], named: list[Any], before: dict[Any, int], key: str) -> list[Any]:
    woven = []
    while others and named:
        left, right = before.get(_name(others[0], key)), before.get(_name(named[0], key))
        first = left is not None and right is not None and left < right
        woven.append((others if first else named).pop(0))
    return woven + others + named


def _places(items: list[Any], key: str) -> dict[Any, int]:
    places: dict[Any, int] = {}
    for index, item in enumerate(items):
        places.setdefault(_name(item, key), index)
    return places


def _name(item: Any, key: str) -> Any:
    """What tells items apart: their merge key's value, or themselves."""
    named = item.get(key) if key and isinstance(item, dict) else item
    return named if isinstance(named, (str, int, float, bool, type(None))) else in_go_plain(named)


def order_fits(patch: list[Any], order: list[Any], key: str) -> None:
    """Raises PatchRejected unless *patch*'s items stand in *order*, in the same sequence."""
    kept = [item for item in patch if not (isinstance(item, dict) and "$patch" in item)]
    if not kept or not order:
        return
    waiting = [_name(item, key) for item in kept]
    for item in order:
        if waiting and waiting[0] == _name(item, key):
            waiting.pop(0)
    if waiting:
        raise broken(
            f"The order in patch list:\n{in_go_plain(patch)}\n doesn't match $setElementOrder list:\n"
            f"{in_go_plain(order)}\n"
        )
