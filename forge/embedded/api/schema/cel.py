"""The one door to CEL: compiles an expression, evaluates it, gives errors in Kubernetes' words.

The library is Google's own C++ implementation (cel-expr-python): it shares grammar, type checker and
most error texts with the one inside the real server, costs a few milliseconds to import and a few
microseconds an evaluation. It is imported when the first rule is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

from forge.embedded.api.schema.cel_tree import Node, read
from forge.embedded.api.schema.model import Schema

KINDS: Final = {"BOOL": "bool", "STRING": "string", "DYN": "dyn"}
STATUS: Final = re.compile(r"^[A-Z_]+: (.*?)(?: \[[A-Z_]+\])?$", re.DOTALL)
NO_KEY: Final = re.compile(r'^Key not found in map : "(.*)"$', re.DOTALL)
NO_OVERLOAD: Final = re.compile(r"^No matching overloads? found")


class CelError(Exception):
    """The expression does not compile, or its evaluation failed; the text is cel-go's."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """One expression. result: bool, string, dyn or another CEL type's name. tree: what it says."""

    program: Any
    result: str
    tree: Node

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """The value as plain Python. Raises CelError."""
        try:
            value = self.program.eval(data=dict(variables))
        except RuntimeError as error:
            raise CelError(_plain(str(error))) from None
        if value.type().name() == "ERROR":
            raise CelError(_plain(str(value.value())))
        return value.plain_value()


@lru_cache(maxsize=1024)
def compiled(expression: str, self_type: str, old_type: str) -> Compiled:
    """The expression over self and oldSelf, whose types are CEL signatures. Raises CelError."""
    environment = _environment(self_type, old_type)
    try:
        program = environment.compile(expression)
    except RuntimeError as error:
        raise CelError(f"compilation failed: {_plain(str(error))}") from None
    name = program.return_type().name()
    return Compiled(program, KINDS.get(name, name.lower()), read(program.serialize()))


@cache
def _environment(self_type: str, old_type: str) -> Any:
    from forge.embedded.api.schema.cel_library import functions

    cel = import_module("cel_expr_python.cel")
    extensions = [
        getattr(import_module(f"cel_expr_python.ext.ext_{name.lower()}"), f"Ext{name}")()
        for name in ("Strings", "Math", "Optional", "Bindings", "Encoders")
    ]
    variables = {"self": cel.Type(self_type), "oldSelf": cel.Type(old_type)}
    return cel.NewEnv(variables=variables, extensions=extensions, functions=functions(cel))


def signature(schema: Schema) -> str:
    """The CEL type of a value; objects are maps of anything, their fields are checked in rules.py."""
    if schema.int_or_string or schema.nullable:
        return "dyn"
    if schema.type == "array":
        return f"list<{signature(schema.items) if schema.items else 'dyn'}>"
    if schema.type == "object":
        inner = signature(schema.additional) if schema.additional is not None else "dyn"
        return f"map<string, {inner}>"
    if schema.type == "string" and schema.raw.get("format") == "byte":
        return "bytes"
    return {"integer": "int", "number": "double", "boolean": "bool", "string": "string"}.get(
        schema.type, "dyn"
    )


def _plain(text: str) -> str:
    found = STATUS.match(text)
    plain = found[1] if found else text
    if key := NO_KEY.match(plain):
        return f"no such key: {key[1]}"
    return "no such overload" if NO_OVERLOAD.match(plain) else plain
