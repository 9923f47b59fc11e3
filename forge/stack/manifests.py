"""Manifest files as objects, each with the place it comes from. Pure.

Manifests are Kubernetes', not Forge's: the YAML that kubectl reads (1.1, `yes` is true and 0644 is 420,
but 12:30 and 2024-01-01 stay texts, as in Go), several documents a file, Lists taken apart, and what has
no JSON form refused. Every problem of all files is told at once. Nothing is said here of what a kind may
hold: the API server knows that.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from forge.errors import OperationFailed, Place
from forge.plan.lab_ports import Object

MAX_DEPTH = 200
"""Levels of one document; objects have about fifteen, and the schema of a large definition sixty."""
MAX_VALUES = 500_000
"""Values of one document once its aliases are followed: an object has at most 1.5 MiB."""
SKIPPED = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
"""Files of a folder that are for kustomize, not for a cluster."""


@dataclass(frozen=True, slots=True)
class Document:
    """An object and where it comes from: `base/crds.yaml, document 3 (line 41)`."""

    object: Object
    place: str


@dataclass(frozen=True, slots=True)
class _Problem:
    place: Place
    text: str


def is_manifest(name: str) -> bool:
    """Whether a file of a folder is applied: `*.yaml`, `*.yml`, `*.json`, not hidden, not kustomize's."""
    base = posixpath.basename(name)
    return base.endswith((".yaml", ".yml", ".json")) and base not in SKIPPED and not base.startswith(".")


def read(files: Iterable[tuple[str, bytes]]) -> tuple[Document, ...]:
    """The objects of all files in their order; each is a name and its bytes.

    Raises OperationFailed FG0734 with every document that is none, FG0748 where an object stands twice.
    """
    found: list[Document] = []
    problems: list[_Problem] = []
    for name, data in files:
        for one in _read(name, data):
            (found if isinstance(one, Document) else problems).append(one)  # type: ignore[arg-type]  # each to its own
    if problems:
        raise _broken(problems)
    _refuse_twice(found)
    return tuple(found)


def _broken(problems: list[_Problem]) -> OperationFailed:
    first, count = problems[0], len(problems)
    return OperationFailed(
        "FG0734",
        "a manifest cannot be read" if count == 1 else f"{count} documents of the manifests cannot be read",
        why=first.text,
        hint="nothing of the step was applied: correct it and run `praxis-forge up` again",
        place=first.place,
        changed=False,
        detail=tuple(f"{p.place}: {p.text}" for p in problems[1:21]),
    )


def _refuse_twice(documents: list[Document]) -> None:
    places: dict[tuple[str, str, str, str], list[str]] = {}
    for document in documents:
        places.setdefault(identity(document.object), []).append(document.place)
    twice = {key: found for key, found in places.items() if len(found) > 1}
    if twice:
        (_, kind, namespace, name), found = next(iter(twice.items()))
        shown = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
        raise OperationFailed(
            "FG0748",
            f"{shown} stands twice in one step",
            why=" and ".join(found[:4]),
            hint="remove one of them, or apply them in two steps",
            changed=False,
            detail=tuple(f"{k[1]} {k[3]}: {' and '.join(p)}" for k, p in list(twice.items())[1:21]),
        )


def identity(thing: Object) -> tuple[str, str, str, str]:
    """Which object it is: group, kind, namespace (empty where it names none), name."""
    group = str(thing["apiVersion"]).rpartition("/")[0]
    meta = thing["metadata"]
    return group, str(thing["kind"]), str(meta.get("namespace") or ""), str(meta["name"])


def _read(file: str, data: bytes) -> Iterator[Document | _Problem]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        yield _Problem(Place(file, line, 1), "this is not UTF-8 text")
        return
    for number, (line, value) in enumerate(_values(text, file), 1):
        if isinstance(value, _Problem):
            yield value
        elif value is not None:
            place = f"{file}, document {number} (line {line})"
            for thing, where in _parted(value, place):
                wrong = _wrong(thing)
                yield (
                    _Problem(Place(file, line, 1), f"{_number(where)}: {wrong}")
                    if wrong
                    else Document(thing, where)
                )


def _number(place: str) -> str:
    """`document 3`, without the file, which the place of a problem names."""
    return re.sub(r" \(line \d+\)", "", place.rpartition(", document ")[2]).join(("document ", ""))


def _values(text: str, file: str) -> Iterator[tuple[int, Any]]:
    """(line, value) of each document in order; a value may be a problem. Stops where YAML ends."""
    if text.lstrip()[:1] == "{":
        try:
            value = _plain(json.loads(text))
        except (ValueError, RecursionError):
            pass  # YAML's flow form, several documents, or wrong: read below
        else:
            yield 1, value
            return
    loader = _Loader(text)
    try:
        while True:
            try:
                if not loader.check_node():
                    return
                node = loader.get_node()
                if node is None:
                    return
            except (yaml.YAMLError, RecursionError) as error:
                yield 1, _yaml_problem(error, file, 1)
                return
            line = node.start_mark.line + 1
            try:
                yield line, _plain(loader.construct_document(node))
            except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
                yield line, _yaml_problem(error, file, line)
    finally:
        loader.dispose()


def _yaml_problem(error: Exception, file: str, line: int) -> _Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = Place(file, mark.line + 1, mark.column + 1) if mark is not None else Place(file, line, 1)
    if isinstance(error, RecursionError):
        return _Problem(place, "it is nested too deeply")
    if isinstance(error, yaml.reader.ReaderError):
        return _Problem(place, f"a character that YAML does not allow: {error.reason}")
    reason = getattr(error, "problem", None) or str(error).splitlines()[0]
    return _Problem(place, f"{reason}")


def _parted(value: object, place: str) -> Iterator[tuple[Any, str]]:
    """A List's items, or the one value."""
    kind = value.get("kind") if isinstance(value, dict) else None
    items = value.get("items") if isinstance(value, dict) else None
    if not (isinstance(value, dict) and isinstance(kind, str) and kind.endswith("List")) or items is None:
        yield value, place
        return
    if not isinstance(items, list):
        yield None, place
        return
    own = {} if kind == "List" else {"apiVersion": value.get("apiVersion"), "kind": kind[: -len("List")]}
    for number, item in enumerate(items, 1):
        whole = {**own, **item} if isinstance(item, dict) else item
        yield from _parted(whole, f"{place}, item {number}")


def _wrong(thing: object) -> str:
    """Why a value is no object; empty where it is one."""
    if not isinstance(thing, dict):
        return f"an object is wanted, and this is {_named(thing)}"
    for key in ("apiVersion", "kind"):
        if not isinstance(thing.get(key), str) or not thing[key].strip():
            return f"it has no {key}"
    meta = thing.get("metadata")
    if not isinstance(meta, dict):
        return f"{thing['kind']} has no metadata"
    name, namespace, labels = meta.get("name"), meta.get("namespace"), meta.get("labels")
    if "generateName" in meta and name is None:
        return f"{thing['kind']} has generateName, and what is applied needs a name"
    for key, value in (("name", name), ("namespace", namespace)):
        if key == "name" and value is None:
            return f"{thing['kind']} has no metadata.name"
        if value is not None and (not isinstance(value, str) or not _is_segment(value)):
            return f"the metadata.{key} of a {thing['kind']} is no name"
    return "" if labels is None or isinstance(labels, dict) else "metadata.labels is no mapping"


def _is_segment(text: str) -> bool:
    """Whether it can stand in a path of the API at all: it is asked for no more than that."""
    return text not in ("", ".", "..") and not set(text) & set("/%? #\n\r")


def _named(value: object) -> str:
    for kind, name in (
        (bool, "true or false"),
        (str, "a text"),
        (list, "a list"),
        ((int, float), "a number"),
    ):
        if isinstance(value, kind):
            return name
    return "nothing"


def _plain(value: object) -> object:
    """The value as JSON knows it. Raises ValueError for what has no such form."""
    left = MAX_VALUES

    def plain(inner: object, depth: int) -> object:
        nonlocal left
        left -= 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        if left < 0:
            raise ValueError(f"it has more than {MAX_VALUES:,} values once its aliases are followed")
        if isinstance(inner, dict):
            return {_key(key): plain(below, depth + 1) for key, below in inner.items()}
        if isinstance(inner, list):
            return [plain(below, depth + 1) for below in inner]
        if inner is None or isinstance(inner, (str, bool, int)):
            return inner
        if isinstance(inner, float) and math.isfinite(inner):
            return inner
        raise ValueError(f"a {type(inner).__name__} has no place in an object")

    return plain(value, 0)


def _key(key: object) -> str:
    """Kubernetes reads every key as text: 80: x and true: x have the keys "80" and "true"."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (str, int, float)):
        return str(key)
    raise ValueError("a key must be a text")


class _Loader(yaml.CSafeLoader):
    """PyYAML's safe loader with the words that Go reads otherwise put right."""


_INT = r"[-+]?0b[0-1_]+|[-+]?0o?[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+"
_FLOAT = r"[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+"
_REPLACED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp"))


def _int(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text.lstrip("+"))
    if digits[:1] == "0" and digits[1:2].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rows if tag not in _REPLACED]
    for first, rows in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(rf"^(?:{_INT})$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(rf"^(?=.*[0-9])(?:{_FLOAT})$"), list("-+0123456789.")
)
_Loader.add_constructor("tag:yaml.org,2002:int", _int)
