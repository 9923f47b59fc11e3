"""What pydantic found, in the words of whoever wrote the file.

Messages name types, never values: a value may be a secret. The exception is a word from a closed
set that was nearly right, since it is shown beside the one that was meant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import ErrorDetails

from forge.spec.known import description_at, did_you_mean, keys_at, nearest, step_types
from forge.spec.nodes import ListNode, MapNode, Node, Path, ScalarNode, at, kind_of, shown_key
from forge.spec.problems import Problem
from forge.spec.source import Source

LATER = {"profiles": "profiles are not supported yet"}
"""Keys that are planned: refused with this instead of `unknown key`."""

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "mapping_type": "a mapping",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One error of the shape. path: in the file. on_key: about the key itself.

    unknown: a key nobody knows. missing: something is not there. hides: paths below which
    anything may stand, so excerpts do not show it. echo: it only follows from another finding, as when
    a list is too short because its items do not fit.
    """

    code: str
    message: str
    path: Path
    help: str = ""
    on_key: bool = False
    unknown: bool = False
    missing: bool = False
    hides: tuple[Path, ...] = ()
    echo: bool = False

    def at(self, source: Source) -> Problem:
        return source.raw_problem(self.code, self.message, self.path, help=self.help, on_key=self.on_key)


def finding(error: ErrorDetails, source: Source) -> Finding:
    """One of pydantic's errors as a finding. source: translates its path to the file's."""
    path, on_key = _path(error["loc"])
    path, root = source.original(path), source.root
    kind, context = error["type"], error.get("ctx") or {}
    if kind.startswith("FG"):
        return Finding(kind, context["text"], path, context["help"], on_key)
    if kind == "extra_forbidden":
        return _unknown_key(path, root)
    if kind == "missing":
        return _missing(path)
    if kind == "union_tag_not_found":
        help_ = f"one of {', '.join(step_types())}"
        return Finding(
            "FG0105", '"type" is missing', path, help_, missing=True, hides=_beside_type(path, root)
        )
    if kind == "union_tag_invalid":
        wrong = _not_one_of(
            "a step type", context["tag"], _options(context["expected_tags"]), (*path, "type")
        )
        return replace(wrong, hides=_beside_type(path, root))
    if kind == "literal_error":
        return _not_one_of("", error["input"], _options(context["expected"]), path)
    if kind in _WANTED:
        return _wrong_type(_WANTED[kind], path, root)
    return _out_of_bounds(kind, context, path, root)


def _path(loc: tuple[int | str, ...]) -> tuple[Path, bool]:
    """The path without what pydantic adds: the tag of a step's type, and `[key]` for a key."""
    path: list[str | int] = []
    tag_read = False
    for step in loc:
        if step == "[key]":
            return tuple(path), True
        in_step = len(path) > 1 and path[-2] == "steps" and isinstance(path[-1], int) and path[1] == "stacks"
        if in_step and not tag_read:
            tag_read = True
            continue
        tag_read = False
        path.append(step)
    return tuple(path), False


def _unknown_key(path: Path, root: Node) -> Finding:
    key = str(path[-1])
    if key in LATER and len(path) <= 2:
        return Finding("FG0103", LATER[key], path, "remove it", on_key=True, unknown=True, hides=(path,))
    help_ = did_you_mean(key, keys_at(path[:-1], _type_at(root, path[:-1])))
    return Finding(
        "FG0103", f'unknown key "{shown_key(key)}"', path, help_, on_key=True, unknown=True, hides=(path,)
    )


def _missing(path: Path) -> Finding:
    about = description_at(path)
    return Finding("FG0105", f'"{path[-1]}" is missing', path[:-1], f"{path[-1]}: {about}", missing=True)


def _beside_type(path: Path, root: Node) -> tuple[Path, ...]:
    """The other keys of a step whose type is not known: so neither is what they hold."""
    node = at(root, path)
    keys = node.entries if isinstance(node, MapNode) else {}
    return tuple((*path, key) for key in keys if key != "type")


def _not_one_of(what: str, value: object, options: list[str], path: Path) -> Finding:
    """what: what the options are called; empty where they are listed instead."""
    if len(options) == 1:
        return Finding("FG0104", f'must be "{options[0]}"', path, f'write "{options[0]}"')
    near = nearest(value, options) if isinstance(value, str) else ""
    said = f'"{value}" is not' if near else "this is not" if isinstance(value, str) else "must be text,"
    listed = f"one of {', '.join(options)}"
    help_ = f'did you mean "{near}"?' if near else listed if what else ""
    return Finding("FG0104", f"{said} {what or listed}", path, help_)


def _wrong_type(wanted: str, path: Path, root: Node) -> Finding:
    node = at(root, path)
    if node is None:  # the short form of an element, where the path leads inside it
        node = at(root, path[:-1])
    has, help_ = kind_of(node) if node else "nothing", ""
    if has == "nothing":
        help_ = "write a value, or remove the key"
    elif wanted == "text" and has in ("a number", "true or false"):
        help_ = "put the value in quotes"
    elif wanted in ("a whole number", "true or false") and has == "text":
        help_ = "write it without quotes" if isinstance(node, ScalarNode) and not node.plain else ""
    return Finding(
        "FG0104",
        f"wants {wanted}, has {has}",
        path,
        help_,
        hides=(path,) if wanted in ("a list", "a mapping") else (),
    )


def _out_of_bounds(kind: str, context: dict[str, Any], path: Path, root: Node) -> Finding:
    message = {
        "greater_than_equal": "must be at least {ge}",
        "less_than_equal": "must be at most {le}",
        "too_short": "must have at least {min_length}",
        "too_long": "must have at most {max_length}",
        "string_too_long": "must have at most {max_length} characters",
    }.get(kind, "does not have the form this key wants")
    help_, node = description_at(path), at(root, path)
    echo = kind == "too_short" and isinstance(node, ListNode) and bool(node.items)
    return Finding("FG0104", message.format(**context), path, help_, echo=echo)


def _options(expected: str) -> list[str]:
    """pydantic gives them as `'a', 'b' or 'c'`."""
    return [part for part in expected.split("'")[1::2] if part]


def _type_at(root: Node, path: Path) -> str:
    node = at(root, (*path, "type"))
    return str(node.value) if isinstance(node, ScalarNode) else ""
