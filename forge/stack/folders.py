"""What is in a folder that a step names: manifests in the order of their paths, or everything.

Folders are walked to the bottom, in the order of the whole path (`crds/a.yaml` before `deployment.yaml`);
hidden files and those of kustomize are not manifests.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from forge.errors import OperationFailed
from forge.plan.lab_ports import Files
from forge.stack.manifests import is_manifest

MAX_FILES = 20_000
MAX_DEPTH = 16
"""Folders inside folders. A link that leads round ends here."""


def manifests(path: str, files: Files) -> tuple[str, ...]:
    """The manifest files that *path* means: itself, or those in it. Raises OperationFailed FG0734 for a
    folder without any."""
    if files.folder(path) is None:
        return (path,)
    found = tuple(name for name in everything(path, files) if is_manifest(name))
    if not found:
        raise OperationFailed(
            "FG0734",
            f"there is no manifest in {path!r}",
            why="none of its files ends with .yaml, .yml or .json",
            hint="check the path of the step",
            changed=False,
        )
    return found


def everything(path: str, files: Files) -> tuple[str, ...]:
    """Every file below a folder, in the order of their paths; the path itself where it is none.
    Raises OperationFailed FG0732 for a tree that is too large."""
    found = tuple(sorted(_below(path, files, 0)))
    if len(found) > MAX_FILES:
        raise _too_large(path, f"it has more than {MAX_FILES:,} files")
    return found


def _below(path: str, files: Files, depth: int) -> Iterator[str]:
    names = files.folder(path)
    if names is None:
        yield path
        return
    if depth > MAX_DEPTH:
        raise _too_large(path, f"it has more than {MAX_DEPTH} folders inside each other")
    for name in names:
        yield from _below(posixpath.join(path, name), files, depth + 1)


def _too_large(path: str, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0732", f"cannot read {path!r}", why=why, hint="name a smaller folder", changed=False
    )
