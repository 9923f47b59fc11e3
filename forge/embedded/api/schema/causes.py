"""The causes of an Invalid answer, in the real server's words.

One function a kind of violation. The message repeats the value where the server repeats it, printed
the way Go prints it: quoted strings, plain numbers, Go syntax for lists and maps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from forge.embedded.api.schema.model import Cause


def invalid(field: str, value: Any, detail: str) -> Cause:
    """Invalid value."""
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def wrong_type(field: str, value: Any, detail: str) -> Cause:
    """Invalid value, with the reason that says its type is wrong."""
    return Cause(field, "FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {detail}")


def required(field: str, detail: str = "") -> Cause:
    """Required value."""
    return Cause(field, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def forbidden(field: str, detail: str) -> Cause:
    """Forbidden."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def duplicate(field: str, value: Any) -> Cause:
    """Duplicate value."""
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def unsupported(field: str, value: Any, allowed: Iterable[str]) -> Cause:
    """Unsupported value; *allowed* in the order to be shown."""
    listed = ", ".join(_quoted(a) for a in allowed)
    return Cause(
        field, "FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {listed}"
    )


def too_long(field: str, most: int) -> Cause:
    """Too long, in bytes."""
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {most} bytes")


def too_many(field: str, actual: int, most: int) -> Cause:
    """Too many items or properties."""
    return Cause(field, "FieldValueTooMany", f"Too many: {actual}: must have at most {most} items")


def shown(value: Any) -> str:
    """*value* as a message prints it: strings quoted, numbers plain, the rest in Go syntax."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return '"null"'
    return in_go(value)


def in_go(value: Any) -> str:
    """*value* in Go syntax, as %#v prints decoded JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, dict):
        inner = ", ".join(f"{_quoted(k)}:{in_go(v)}" for k, v in sorted(value.items()))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, (list, tuple)):
        return f"[]interface {{}}{{{', '.join(in_go(v) for v in value)}}}"
    return number(value)


def number(value: float) -> str:
    """A number as Go's %v prints it: no trailing .0, exponents from 1e21."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def in_go_plain(value: Any) -> str:
    """*value* as %v prints decoded JSON: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{in_go_plain(v)}" for k, v in sorted(value.items())) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(in_go_plain, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else number(value)
