"""How deep documents may be nested: a bound, kept at every door, so that nothing behind it can overflow.

The real server's is 10,000 levels. Here what walks a document recurses, some frames a level; the bound
and the interpreter's own are set so that a document that was let in can be patched, owned, shown as
YAML and a table, too.
"""

from __future__ import annotations

import sys
from typing import Any

LEVELS = 1_000
# PyYAML takes four frames a level, its emitter included; the rest is the request's own way in.
_FRAMES = 8_000
SAID = "exceeded max depth"


def make_room() -> None:
    """Lets this interpreter recurse as far as the bound needs; frames of Python take no C stack."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))


def is_exceeded(value: Any) -> bool:
    """Whether maps and lists stand in each other more than LEVELS deep."""
    level, depth = [value], 0
    while level := [inner for outer in level for inner in _inside(outer)]:
        depth += 1
        if depth > LEVELS:
            return True
    return False


def may_be_exceeded(text: str) -> bool:
    """False only where *text* has too few brackets for it; costs a fraction of a look."""
    return text.count("{") + text.count("[") > LEVELS


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
