"""Field names as CEL spells them, and values as CEL sees them.

What is no CEL identifier is escaped (`a-b` is `a__dash__b`, `in` is `__in__`); what cannot be escaped
cannot be named. A rule sees declared fields only, and of metadata the name alone.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from forge.embedded.api.schema.model import JSON, Schema

RESERVED: Final = frozenset(
    (
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
        "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
    )
)  # fmt: skip
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def escape(name: str) -> str:
    """*name* as an expression spells it; "" where it cannot be spelled."""
    if name in RESERVED:
        return f"__{name}__"
    spelled = name.replace("__", "__underscores__")
    for char, word in ((".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")):
        spelled = spelled.replace(char, word)
    return spelled if IDENTIFIER.fullmatch(spelled) else ""


def declared(schema: Schema, spelled: str) -> Schema | None:
    """The field that an expression spells so, None where the schema declares none."""
    direct = schema.properties.get(spelled)
    if direct is not None and escape(spelled) == spelled:
        return direct
    return next((below for name, below in schema.properties.items() if escape(name) == spelled), None)


def visible(value: Any, schema: Schema, *, root: bool = False) -> Any:
    """*value* as a rule sees it: declared fields only, names escaped."""
    if schema.int_or_string or value is None:
        return value
    if isinstance(value, list):
        return [visible(item, schema.items) for item in value] if schema.items else value
    if isinstance(value, dict):
        return _map(value, schema, root=root)
    if isinstance(value, str) and schema.type == "string" and schema.raw.get("format") == "byte":
        try:
            return base64.b64decode(value)
        except binascii.Error:
            return b""
    return _double(value) if schema.type == "number" and isinstance(value, int) else value


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _map(value: JSON, schema: Schema, *, root: bool) -> JSON:
    if schema.additional is not None:
        return {key: visible(inner, schema.additional) for key, inner in value.items()}
    seen = {}
    for key, inner in value.items():
        below = schema.properties.get(key)
        name = escape(key)
        if below is None or not name:
            continue
        if key == "metadata" and (root or schema.embedded):
            seen[name] = _named(inner)
        else:
            seen[name] = visible(inner, below)
    return seen


def _named(metadata: Any) -> JSON:
    """All that a rule may know of metadata."""
    given = metadata if isinstance(metadata, dict) else {}
    return {key: given[key] for key in ("name", "generateName") if key in given}
