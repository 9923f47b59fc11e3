"""JSON patch (RFC 6902), with the leniences and limits of the library the real server uses.

`replace` makes a member that is missing, an index may count from the end, an absent member tests
equal to null. Every operation that does not fit is the same refusal.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from forge.embedded.api.patch.rejected import PatchRejected, inapplicable, json_kind, too_deep, undecodable
from forge.embedded.api.schema.model import ABSENT, JSON

MOST_OPERATIONS: Final = 10_000  # the server's own limit
MOST_COPIED: Final = 3 * 1024 * 1024  # what all copies may add; the server takes its request limit
OP: Final = "handlers.jsonPatchOp"
Container = dict[str, Any] | list[Any]


def apply_json(doc: JSON, ops: Any) -> JSON:
    """*doc* after all operations, in order; unchanged itself. Raises PatchRejected at the first misfit."""
    _decode(ops)
    if len(ops) > MOST_OPERATIONS:
        raise PatchRejected(
            f"Request entity too large: The allowed maximum operations in a JSON patch is"
            f" {MOST_OPERATIONS}, got {len(ops)}",
            413,
            "RequestEntityTooLarge",
        )
    try:
        return _all(copy.deepcopy(doc), ops)
    except RecursionError:
        raise too_deep() from None


def _all(patched: JSON, ops: list[JSON]) -> JSON:
    copied = 0
    for op in ops:
        act = OPERATIONS.get(op.get("op", ""))
        if act is None or not isinstance(op.get("path"), str):
            raise inapplicable()
        copied += act(patched, op)
        if copied > MOST_COPIED:
            raise inapplicable()
    return patched


def _decode(ops: Any) -> None:
    if not isinstance(ops, list):
        raise undecodable(f"json: cannot unmarshal {json_kind(ops)} into Go value of type []{OP}")
    for op in ops:
        if op is None:
            continue
        if not isinstance(op, dict):
            raise undecodable(f"json: cannot unmarshal {json_kind(op)} into Go value of type {OP}")
        for key in ("op", "path", "from"):
            if not isinstance(op.get(key, ""), str):
                kind = json_kind(op[key])
                raise undecodable(
                    f"json: cannot unmarshal {kind} into Go struct field jsonPatchOp.{key} of type string"
                )
    if None in ops:
        raise inapplicable()


def unknown_fields(ops: Any) -> list[str]:
    """`json patch unknown field "[0].foo"` for each member that no operation has, in order."""
    found = []
    for index, op in enumerate(ops if isinstance(ops, list) else ()):
        extra = set(op) - {"op", "path", "from", "value"} if isinstance(op, dict) else set()
        found += [f'json patch unknown field "[{index}].{name}"' for name in sorted(extra)]
    return found


def _find(doc: Any, path: str) -> tuple[Container, str]:
    """(the container that holds the last step of *path*, that step). Raises PatchRejected without one."""
    if not path.startswith("/"):
        raise inapplicable()
    *steps, last = (s.replace("~1", "/").replace("~0", "~") for s in path[1:].split("/"))
    at = doc
    for step in steps:
        at = _get(at, step)
    if not isinstance(at, (dict, list)):
        raise inapplicable()
    return at, last


def _get(at: Any, step: str) -> Any:
    if isinstance(at, dict):
        return at.get(step, ABSENT)
    if isinstance(at, list):
        return at[_index(step, len(at))]
    raise inapplicable()


def _index(step: str, length: int) -> int:
    """An index of an existing item; from the end where negative."""
    try:
        index = int(step)
    except ValueError:
        raise inapplicable() from None
    if not -length <= index < length or not step.lstrip("-").isdigit():
        raise inapplicable()
    return index % length


def _insert(at: Container, step: str, value: Any) -> None:
    if isinstance(at, dict):
        at[step] = value
        return
    if step == "-":
        at.append(value)
        return
    index = _index(step, len(at) + 1)
    at.insert(index, value)


def _given(op: JSON) -> Any:
    return copy.deepcopy(op.get("value"))


def _add(doc: Any, op: JSON) -> int:
    at, step = _find(doc, op["path"])
    _insert(at, step, _given(op))
    return 0


def _remove(doc: Any, op: JSON) -> int:
    at, step = _find(doc, op["path"])
    _take(at, step)
    return 0


def _take(at: Container, step: str) -> Any:
    if isinstance(at, dict):
        if step not in at:
            raise inapplicable()
        return at.pop(step)
    return at.pop(_index(step, len(at)))


def _replace(doc: Any, op: JSON) -> int:
    at, step = _find(doc, op["path"])
    if isinstance(at, dict):
        at[step] = _given(op)
    else:
        at[_index(step, len(at))] = _given(op)
    return 0


def _move(doc: Any, op: JSON) -> int:
    at, step = _find(doc, op.get("from", ""))
    value = _take(at, step)
    to, last = _find(doc, op["path"])
    _insert(to, last, value)
    return 0


def _copy(doc: Any, op: JSON) -> int:
    at, step = _find(doc, op.get("from", ""))
    value = _get(at, step)
    if value is ABSENT:
        raise inapplicable()
    to, last = _find(doc, op["path"])
    _insert(to, last, copy.deepcopy(value))
    return len(repr(value))


def _test(doc: Any, op: JSON) -> int:
    at, step = _find(doc, op["path"])
    found = _get(at, step)
    if not _equal(None if found is ABSENT else found, op.get("value")):
        raise inapplicable()
    return 0


def _equal(left: Any, right: Any) -> bool:
    """JSON equality: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(v, right[k]) for k, v in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)


OPERATIONS: Final[dict[str, Callable[[Any, JSON], int]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
