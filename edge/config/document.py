"""YAML text to plain values, with the place of every one of them.

Booleans are `true` and `false` only (`on`, `yes` and `no` are words, as in YAML 1.2), a key stands once, and
what aliases may blow up to is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import yaml

from edge.config.problems import ConfigRejected, Path, Problem, shown

MAX_BYTES = 4 * 1024 * 1024
_MAX_VALUES = 200_000  # after aliases are expanded; the largest sensible file has a tenth of it


class _Loader(yaml.SafeLoader):
    """SafeLoader without YAML 1.1's booleans, dates and base-60 numbers."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] in {"null", "merge"}]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _kind, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-+0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), list(_first))


@dataclass(slots=True)
class Document:
    """value: of the whole file. places: path -> (line, column) from 1, of each key and item. problems: keys
    that stand twice (the first counts) and what cannot be read (None stands for it, its path is in unread).

    origins: what is left of *value* without its faulty parts has other paths; those that differ -> the
    file's own."""

    file: str
    text: str = ""
    value: object = None
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    origins: dict[Path, Path] = field(default_factory=dict)
    unread: set[Path] = field(default_factory=set)

    def origin(self, path: Path) -> Path:
        """The file's own path of *path*."""
        for end in range(len(path), 0, -1):
            found = self.origins.get(path[:end])
            if found is not None:
                return (*found, *path[end:])
        return path

    def problem(self, path: Path, why: str) -> Problem:
        """*why*, at the nearest place that is known for *path*."""
        near = path = self.origin(path)
        while near and near not in self.places:
            near = near[:-1]
        line, column = self.places.get(near, (0, 0))
        return Problem(self.file, line, column, shown(path), why)


def read(file: str, text: str) -> Document:
    """Raises ConfigRejected: not YAML, too large or nested too deeply."""
    document = Document(file, text)
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise ConfigRejected([Problem(file, 0, 0, "", f"larger than {MAX_BYTES} bytes")])
    try:
        node = _compose(file, text)
        reader = _Reader(document)
        document.value = reader.value(node, ())
    except RecursionError:
        raise ConfigRejected([Problem(file, 0, 0, "", "nested too deeply")]) from None
    return document


def _compose(file: str, text: str) -> yaml.Node:
    """Raises ConfigRejected when it is not YAML, or nothing."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise ConfigRejected([Problem(file, line, column, "", f"not YAML: {error.problem}")]) from None
    except yaml.YAMLError:
        why = "not YAML: a character that may not stand there"
        raise ConfigRejected([Problem(file, 0, 0, "", why)]) from None
    if node is None:
        raise ConfigRejected([Problem(file, 0, 0, "", "the file is empty")])
    return node


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self._constructor = _Loader("")
        self._left = _MAX_VALUES

    def value(self, node: yaml.Node, path: Path) -> object:
        self.document.places.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        self._left -= 1
        if self._left < 0:
            raise ConfigRejected(
                [self.document.problem(path, f"more than {_MAX_VALUES} values with its aliases")]
            )
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path)
            case yaml.SequenceNode():
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            case _:
                return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        made: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            here = (*path, key)
            if key in made:
                line = self.document.places[here][0]
                self._problem(key_node, here, f"stands twice, first on line {line}")
                continue
            self.document.places[here] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            made[key] = self.value(value_node, here)
        return made

    def _scalar(self, node: yaml.Node, path: Path) -> object:
        try:
            return self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError):
            self._problem(node, path, f"cannot be read as {node.tag.rpartition(':')[2]}")
            self.document.unread.add(path)
            return None

    def _problem(self, node: yaml.Node, path: Path, why: str) -> None:
        mark = node.start_mark
        self.document.problems.append(
            Problem(self.document.file, mark.line + 1, mark.column + 1, shown(path), why)
        )
