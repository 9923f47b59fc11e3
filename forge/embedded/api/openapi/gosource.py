"""Reads the type declarations of Kubernetes' published Go packages.

Just enough Go for `types.go` files: struct, alias and constant declarations with their comments and
tags. Everything Kubernetes says about a type stands there: documentation, `+markers`, JSON names,
protobuf numbers, strategic-merge keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

STRUCT: Final = re.compile(r"^type (\w+) struct ?\{(\})?$")
ALIAS: Final = re.compile(r"^type (\w+) ([\w.\[\]*]+)$")
MEMBER: Final = re.compile(r"^\s+(?:(\w+)\s+)?([\w.\[\]*]+)\s*`([^`]*)`")
TAG: Final = re.compile(r'(\w+):"([^"]*)"')
CONSTANT: Final = re.compile(r'^\s*(?:const )?\w+\s+(?:v1\.)?(\w+)\s+= "([^"]*)"')
IMPORT: Final = re.compile(r'^\s*(?:import )?(?:(\w+) )?"(k8s\.io/[^"]+)"')


@dataclass(frozen=True, slots=True)
class Member:
    """One field of a struct. name: "" for an embedded one. type: as written. tags: by key."""

    name: str
    type: str
    tags: dict[str, str]
    comment: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """One type. alias: what it stands for, "" for a struct. imports: package by local name."""

    package: str
    name: str
    alias: str
    comment: tuple[str, ...]
    members: tuple[Member, ...]
    imports: dict[str, str]


@dataclass(slots=True)
class Package:
    """One Go package's types by name, and its string constants by their type."""

    path: str
    types: dict[str, Declared] = field(default_factory=dict)
    constants: dict[str, list[str]] = field(default_factory=dict)


def package(root: Path, path: str) -> Package:
    """The package *path* (`k8s.io/api/core/v1`) below *root*. Raises FileNotFoundError without it."""
    found = Package(path)
    for file in sorted((root / path).iterdir()):
        if file.suffix == ".go" and not re.search(r"(_test|^zz_.*|\.pb|_doc_generated)\.go$", file.name):
            _file(file.read_text(encoding="utf-8"), found)
    return found


def _file(text: str, found: Package) -> None:
    lines = text.splitlines()
    imports = dict(_imports(lines))
    comment: list[str] = []
    for at, line in enumerate(lines):
        if line.startswith("//"):
            comment.append(_bare(line))
        elif struct := STRUCT.match(line):
            members = () if struct[2] else tuple(_members(lines, at + 1))
            name = struct[1]
            found.types[name] = Declared(found.path, name, "", tuple(comment), members, imports)
        elif alias := ALIAS.match(line):
            found.types[alias[1]] = Declared(found.path, alias[1], alias[2], tuple(comment), (), imports)
        elif constant := CONSTANT.match(line):
            found.constants.setdefault(constant[1], []).append(constant[2])
        if not line.startswith("//"):
            comment = []


def _imports(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if found := IMPORT.match(line):
            yield found[1] or found[2].rsplit("/", 1)[-1], found[2]


def _members(lines: list[str], at: int) -> Iterator[Member]:
    comment: list[str] = []
    while lines[at] != "}":
        line = lines[at].strip()
        at += 1
        if line.startswith("//"):
            comment.append(_bare(line))
            continue
        if found := MEMBER.match(lines[at - 1]):
            tags = dict(TAG.findall(found[3]))
            yield Member(found[1] or "", found[2], tags, tuple(comment))
        comment = []


def _bare(line: str) -> str:
    return line[2:].removeprefix(" ")
