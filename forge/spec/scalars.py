"""What a plain YAML scalar means: the 1.2 core schema, and nothing of 1.1.

`no`, `on`, `yes`, `2024-01-01` and `1:30` are text. Two narrowings keep every value as it was
written: digits that begin with 0 (`0755`) and whole numbers beyond 64 bits are text too.
Source: YAML 1.2.2, 10.3.2.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18})")
_OCTAL = re.compile(r"0o[0-7]{1,21}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. `.inf` and `.nan` stay text: nothing in the file can use them."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":  # all others are text, and most scalars end here
        return text
    if _DECIMAL.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return int(text, 0)
    if len(text) <= 40 and _FLOAT.fullmatch(text) and not text.lstrip("+-").isdigit():
        return float(text)
    return text
