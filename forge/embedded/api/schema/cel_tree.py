"""What a compiled CEL expression says, read out of its serialised form.

Only what the checks need: names, field accesses with their places, calls, and comprehensions with the
variable they bind. Messages: cel.expr.CheckedExpr and Expr of the CEL specification.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from forge.embedded.api.openapi.wire import fields

ANY_VALUE: Final = 2
EXPR: Final = 4
SOURCE: Final = 5
POSITIONS: Final = 4
LITERALS: Final = {2: "bool", 3: "int", 4: "uint", 5: "double", 6: "string", 7: "bytes"}


@dataclass(frozen=True, slots=True)
class Node:
    """One expression. kind: ident, select, call, list, struct, comprehension, literal.

    name: of the variable, field, function or loop variable; the type of a literal.
    parts: operands, arguments; of a comprehension the range first.
    tests: a select that only asks whether the field is there. at: offset in the source, -1 unknown.
    """

    kind: str
    name: str = ""
    parts: tuple[Node, ...] = ()
    tests: bool = False
    at: int = -1

    def walk(self) -> Iterator[Node]:
        """This node and everything below it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def mentions(self, name: str) -> bool:
        """Whether the variable *name* stands anywhere in it."""
        return any(node.kind == "ident" and node.name == name for node in self.walk())


def read(serialized: bytes) -> Node:
    """The tree of `Expression.serialize()`."""
    checked = fields(_bytes(fields(serialized).get(ANY_VALUE)))
    source = fields(_bytes(checked.get(SOURCE)))
    places = {}
    for entry in source.get(POSITIONS, ()):
        pair = fields(entry if isinstance(entry, bytes) else b"")
        places[_int(pair.get(1))] = _int(pair.get(2))
    return _node(_bytes(checked.get(EXPR)), places)


def _node(message: bytes, places: dict[int, int]) -> Node:
    found = fields(message)
    at = places.get(_int(found.get(2)), -1)
    if 4 in found:
        return Node("ident", _text(fields(_bytes(found[4])).get(1)), at=at)
    if 5 in found:
        inner = fields(_bytes(found[5]))
        operand = _node(_bytes(inner.get(1)), places)
        return Node("select", _text(inner.get(2)), (operand,), bool(_int(inner.get(3))), at)
    if 6 in found:
        inner = fields(_bytes(found[6]))
        parts = [*inner.get(1, ()), *inner.get(3, ())]
        return Node("call", _text(inner.get(2)), _nodes(parts, places), at=at)
    if 7 in found:
        return Node("list", "", _nodes(fields(_bytes(found[7])).get(1, []), places), at=at)
    if 8 in found:
        made = [fields(e if isinstance(e, bytes) else b"") for e in fields(_bytes(found[8])).get(2, ())]
        parts = [part for entry in made for key in (3, 4) for part in entry.get(key, ())]
        return Node("struct", "", _nodes(parts, places), at=at)
    if 9 in found:
        inner = fields(_bytes(found[9]))
        parts = [part for key in (2, 4, 5, 6, 7) for part in inner.get(key, ())]
        return Node("comprehension", _text(inner.get(1)), _nodes(parts, places), at=at)
    kind = next(iter(fields(_bytes(found.get(3)))), 0)
    return Node("literal", LITERALS.get(kind, ""), at=at)


def _nodes(parts: list[int | bytes], places: dict[int, int]) -> tuple[Node, ...]:
    return tuple(_node(part, places) for part in parts if isinstance(part, bytes))


def _bytes(values: list[int | bytes] | None) -> bytes:
    last = (values or [b""])[-1]
    return last if isinstance(last, bytes) else b""


def _int(values: list[int | bytes] | None) -> int:
    last = (values or [0])[-1]
    return last if isinstance(last, int) else 0


def _text(values: list[int | bytes] | None) -> str:
    return _bytes(values).decode(errors="replace")
