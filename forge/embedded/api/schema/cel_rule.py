"""One expression of a definition, checked against the schema it stands in and made ready to run.

CEL is given maps, so what the schema alone knows is done here: accesses to undeclared fields and
comparisons of unlike scalars are refused as the real compiler refuses them; strings that stand for
times become times; an optional oldSelf becomes CEL's optional. The latter two are edits of the text,
at the places the compiled tree names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from forge.embedded.api.schema.cel import CelError, Compiled, compiled, signature
from forge.embedded.api.schema.cel_names import declared
from forge.embedded.api.schema.cel_tree import Node
from forge.embedded.api.schema.model import Schema

Scope = Mapping[str, Schema | None]
Edit = tuple[int, int, str]
TIMES: Final = {
    "date-time": "timestamp({})",
    "date": "timestamp({} + 'T00:00:00Z')",
    "duration": "duration({})",
}
SCALARS: Final = {"integer": "int", "number": "double", "string": "string", "boolean": "bool"}
ORDERED: Final = ("_<_", "_<=_", "_>_", "_>=_")
COMPARED: Final = (*ORDERED, "_==_", "_!=_")


@dataclass(frozen=True, slots=True)
class Runnable:
    """present, absent: the programs with and without an old value; the same where that is no matter.

    result: the type it gives. transition: whether it names oldSelf.
    """

    present: Compiled
    absent: Compiled
    result: str
    transition: bool

    def evaluate(self, this: Any, old: Any, *, existed: bool) -> Any:
        """The value. Raises CelError."""
        program = self.present if existed else self.absent
        return program.evaluate({"self": this, "oldSelf": old})


@lru_cache(maxsize=1024)
def runnable(expression: str, schema: Schema, optional_old: bool) -> Runnable:
    """The expression over values of *schema*. Raises CelError in the compiler's words."""
    self_type = signature(schema)
    old_type = "dyn" if optional_old else self_type
    plain = compiled(expression, self_type, old_type)
    scope: Scope = {"self": schema, "oldSelf": None if optional_old else schema}
    for node, told in complaints(plain.tree, scope):
        raise CelError(f"compilation failed: {_placed(expression, node.at, told)}")
    result = (_scalar(plain.tree, scope) or plain.result) if plain.result == "dyn" else plain.result
    timed = list(_times(plain.tree, scope, expression))
    if not timed and not optional_old:
        return Runnable(plain, plain, result, plain.tree.mentions("oldSelf"))
    old = [n for n in plain.tree.walk() if n.kind == "ident" and n.name == "oldSelf"] if optional_old else []
    programs = [
        compiled(_edited(expression, [*timed, *(_ident(n, text) for n in old)]), "dyn", "dyn")
        for text in ("optional.of({})", "optional.none()")
    ]
    return Runnable(programs[0], programs[1], result, plain.tree.mentions("oldSelf"))


def complaints(node: Node, scope: Scope) -> Iterator[tuple[Node, str]]:
    """What the schema has against an expression, innermost first."""
    for part, inner in _below(node, scope):
        yield from complaints(part, inner)
    if node.kind == "select":
        of = type_of(node.parts[0], scope)
        if (
            of is not None
            and of.type == "object"
            and of.additional is None
            and declared(of, node.name) is None
        ):
            yield node, f"undefined field '{node.name}'"
        elif kind := _scalar(node.parts[0], scope):
            yield node, f"type '{kind}' does not support field selection"
    if node.kind == "call" and node.name in COMPARED:
        kinds = [_scalar(part, scope) for part in node.parts]
        if all(kinds) and not _comparable(node.name, kinds):
            yield node, f"found no matching overload for '{node.name}' applied to '({', '.join(kinds)})'"


def _below(node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
    """(part, what its names stand for): a comprehension binds its variable for all but its range."""
    if node.kind != "comprehension" or not node.parts:
        yield from ((part, scope) for part in node.parts)
        return
    over = type_of(node.parts[0], scope)
    yield node.parts[0], scope
    inner = {**scope, node.name: over.items if over is not None and over.type == "array" else None}
    yield from ((part, inner) for part in node.parts[1:])


def type_of(node: Node, scope: Scope) -> Schema | None:
    """The schema of what *node* gives, None where it is not known."""
    if node.kind == "ident":
        return scope.get(node.name)
    if node.kind == "select" and not node.tests:
        of = type_of(node.parts[0], scope)
        if of is None or of.type != "object":
            return None
        return of.additional if of.additional is not None else declared(of, node.name)
    if node.kind == "call" and node.name == "_[_]" and len(node.parts) > 1:
        of = type_of(node.parts[0], scope)
        return None if of is None else (of.items if of.type == "array" else of.additional)
    return None


def _scalar(node: Node, scope: Scope) -> str:
    """The CEL type of a declared scalar or a literal, "" where it is none or not known."""
    if node.kind == "literal":
        return node.name
    found = type_of(node, scope)
    if found is None or found.nullable or found.int_or_string:
        return ""
    named = found.raw.get("format") or ""
    if found.type == "string" and named in TIMES:
        return "duration" if named == "duration" else "timestamp"
    return "bytes" if found.type == "string" and named == "byte" else SCALARS.get(found.type, "")


def _comparable(operator: str, kinds: list[str]) -> bool:
    left, right = kinds
    numbers = {"int", "double", "uint"}
    return left == right or (operator in ORDERED and {left, right} <= numbers)


def _times(node: Node, scope: Scope, expression: str) -> Iterator[Edit]:
    """An edit for every value that stands for a time."""
    for part, inner in _below(node, scope):
        yield from _times(part, inner, expression)
    found = type_of(node, scope)
    text = TIMES.get(found.raw.get("format") or "") if found is not None and found.type == "string" else None
    if text is None or node.at < 0:
        return
    if node.kind == "ident":
        yield _ident(node, text)
        return
    start = min(n.at for n in node.walk() if n.at >= 0)
    if node.kind == "select":
        yield start, node.at + 1 + len(node.name), text
    else:
        inside = max(n.at for n in node.parts[1].walk())
        yield start, expression.find("]", inside) + 1, text


def _ident(node: Node, text: str) -> Edit:
    return node.at, node.at + len(node.name), text


def _edited(expression: str, edits: list[Edit]) -> str:
    """*expression* with each edit's text round what stands there, last first."""
    for start, end, text in sorted(set(edits), reverse=True):
        expression = expression[:start] + text.format(expression[start:end]) + expression[end:]
    return expression


def _placed(expression: str, at: int, told: str) -> str:
    """*told* with the line and the mark under the place, as the compiler prints it."""
    before = expression[:at]
    line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1)
    text = expression.split("\n")[line - 1]
    return f"ERROR: <input>:{line}:{column + 1}: {told}\n | {text}\n | {'.' * column}^"
