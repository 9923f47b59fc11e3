"""`${env:NAME}`: values of the caller's environment, only where spec.inputs declares the variable.

Filled in on the nodes, before anything is validated: a whole plain scalar may so become a number.
`$${env:NAME}` is that text itself. What was written stays beside the value, for showing the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forge.spec.known import did_you_mean
from forge.spec.nodes import ListNode, MapNode, Node, Path, ScalarNode, at, child
from forge.spec.scalars import resolve
from forge.spec.wording import Finding

_VARIABLE = re.compile(r"\$?\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_DECLARED: Path = ("spec", "inputs")


@dataclass(frozen=True, slots=True)
class _Input:
    """value: None where it is neither set nor has a default."""

    name: str
    value: str | None


def fill_in(root: Node, environ: Mapping[str, str]) -> tuple[dict[str, str], list[Finding]]:
    """The inputs that were used, name -> value, and what is wrong with their use.

    Changes the nodes. A variable that is not declared or has no value stays as it is written.
    """
    declared = {i.name: i for i in _declared(root, environ)}
    used: dict[str, str] = {}
    findings: list[Finding] = []
    for path, node in _texts(root):
        wrong = [_wrong(name, declared, path) for name in _names(node) if not _has_value(name, declared)]
        findings += wrong
        if not wrong:
            names = _names(node)
            used |= {name: declared[name].value or "" for name in names}
            _fill(node, {name: declared[name].value or "" for name in names})
    return used, findings


def _declared(root: Node, environ: Mapping[str, str]) -> Iterator[_Input]:
    node = at(root, _DECLARED)
    for item in node.items if isinstance(node, ListNode) else ():
        name, default = child(item, "name"), child(item, "default")
        if isinstance(name, ScalarNode) and isinstance(name.value, str):
            given = default.value if isinstance(default, ScalarNode) else None
            fallback = given if isinstance(given, str) else None
            yield _Input(name.value, environ.get(name.value, fallback))


def _texts(root: Node) -> Iterator[tuple[Path, ScalarNode]]:
    """Every text with `${env:` in it outside spec.inputs, each node once."""
    seen: set[int] = set()
    left: list[tuple[Path, Node]] = [((), root)]
    while left:
        path, node = left.pop()
        if id(node) in seen or path == _DECLARED:
            continue
        seen.add(id(node))
        if isinstance(node, MapNode):
            left += [((*path, key), value) for key, value in node.entries.items()]
        elif isinstance(node, ListNode):
            left += [((*path, index), item) for index, item in enumerate(node.items)]
        elif isinstance(node.value, str) and "${env:" in node.value:
            yield path, node


def _names(node: ScalarNode) -> list[str]:
    found = _VARIABLE.finditer(str(node.value))
    return [m[1] for m in found if not m[0].startswith("$$")]


def _has_value(name: str, declared: Mapping[str, _Input]) -> bool:
    return name in declared and declared[name].value is not None


def _wrong(name: str, declared: Mapping[str, _Input], path: Path) -> Finding:
    if name in declared:
        message = f"the variable {name} is not set, and its input has no default"
        return Finding("FG0134", message, path, f"set it: export {name}=..., or give the input a default")
    near = did_you_mean(name, list(declared))
    help_ = near if near.startswith("did") else f"declare it: spec.inputs: [{{name: {name}}}]"
    return Finding("FG0134", f"the variable {name} is not declared under spec.inputs", path, help_)


def _fill(node: ScalarNode, values: Mapping[str, str]) -> None:
    written = str(node.value)
    text = _VARIABLE.sub(lambda m: m[0][1:] if m[0].startswith("$$") else values[m[1]], written)
    whole = _VARIABLE.fullmatch(written) is not None and not written.startswith("$$")
    node.written = written
    node.value = resolve(text) if whole and node.plain else text
