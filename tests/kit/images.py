"""Builds small images for tests out of this machine's own files: no registry is asked.

    python_image(engine, tag)    `python3` with its standard library, `sh`, `cat`, `sleep`

The tree is what `docker import` takes: one tar archive, held in memory. Links are followed and
permissions opened, so that a container's user, whoever it is, can read all of it.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from forge.host.docker_image import split
from forge.host.engine import Engine
from forge.host.unix_http import Query, Request

PREFIX = "/opt/python"
_BASE = "praxis.test/python:base"
_COMMANDS = ("sh", "cat", "sleep")
_LEFT_OUT = {
    *("test", "idlelib", "tkinter", "ensurepip", "lib2to3", "turtledemo", "pydoc_data", "distutils"),
    *("site-packages", "dist-packages", "__pycache__"),
}
_LIBRARY = re.compile(r"(/\S+\.so\S*) ")


def python_image(engine: Engine, tag: str) -> str:
    """Makes the image present under that tag; gives its id. Quick from the second time on."""
    if engine.find(f"/images/{_BASE}/json") is None:
        import_tree(engine, _BASE, python_tree())
    if tag != _BASE:
        name, version = split(tag)
        engine.post(f"/images/{_BASE}/tag", {"repo": name, "tag": version})
    return str(engine.get(f"/images/{tag}/json")["Id"])


def import_tree(engine: Engine, tag: str, tree: bytes, *changes: str) -> None:
    """What `docker import` does. changes: lines of a Containerfile (`USER 1000`), beside the PATH."""
    name, version = split(tag)
    lines = (f"ENV PATH={PREFIX}/bin:/usr/bin:/bin", f"ENV LD_LIBRARY_PATH={PREFIX}/lib", *changes)
    query: Query = {"fromSrc": "-", "repo": name, "tag": version, "changes": lines}
    engine.call(Request("POST", "/images/create", query, tree, timeout_s=300.0))


@cache
def python_tree() -> bytes:
    """A tar archive of the interpreter that runs the tests, its libraries and a few commands."""
    return tar(python_files())


def python_files() -> dict[str, Path]:
    """What that archive holds: places in the image, and where this machine has their content."""
    program = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    modules = [p for p in library.rglob("*") if p.is_file() and not _is_left_out(p.relative_to(library))]
    commands = [Path(str(shutil.which(name))) for name in _COMMANDS]
    binaries = [program, *commands, *(p for p in modules if p.suffix == ".so")]
    files = {f"{PREFIX}/bin/python3": program}
    files |= {f"{PREFIX}/lib/{library.name}/{p.relative_to(library)}": p for p in modules}
    files |= {f"/bin/{p.name}": p for p in commands}
    return files | library_files(binaries)


def library_files(binaries: Iterable[Path]) -> dict[str, Path]:
    """The shared libraries that programs and modules load, at their places in the image."""
    return {_library_place(p): p for p in _libraries(binaries)}


def tar(files: dict[str, Path]) -> bytes:
    """An archive with each file's content under its name, readable and executable by all."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for folder in ("tmp", "etc", "var", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        for name, source in sorted(files.items()):
            entry = tarfile.TarInfo(name.lstrip("/"))
            known = source.stat()
            # Compiled modules are good for a source of the time they name.
            entry.mode, entry.size, entry.mtime = 0o755, known.st_size, int(known.st_mtime)
            with source.open("rb") as content:
                archive.addfile(entry, content)
    return out.getvalue()


def _is_left_out(path: Path) -> bool:
    return bool(set(path.parts) & _LEFT_OUT) or path.name.startswith(("_tkinter", "libpython", "_test"))


def _libraries(binaries: Iterable[Path]) -> Iterator[Path]:
    """The shared libraries they load, by the names they load them by."""
    listed = subprocess.run(
        ["ldd", *map(str, binaries)], capture_output=True, text=True, check=False, env=_plain_environment()
    ).stdout
    yield from {Path(found) for found in _LIBRARY.findall(listed)}


def _library_place(library: Path) -> str:
    """A library of the interpreter's own goes beside it; the system's stay where they are, since the
    loader's own path is written into every program."""
    if library.is_relative_to(sys.base_prefix) and sys.base_prefix != "/usr":
        return f"{PREFIX}/lib/{library.name}"
    return str(library)


def _plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
