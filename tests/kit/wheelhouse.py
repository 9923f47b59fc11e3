"""Wheels of this checkout and of all it needs, out of what is installed here: no index is asked.

A wheel is a zip archive of an installed distribution's own files and its metadata; of this project, which is
installed as a link to the checkout, the packages themselves. Scripts are made anew by whoever installs it.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import sys_tags

PROJECT = "praxis-grid"
ROOT = Path(__file__).parents[2]
PACKAGES = ("forge", "grid", "edge", "e2e")
_LEFT_OUT = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}


def make(folder: Path) -> None:
    """Fills *folder* with a wheel for the project and for everything it needs to run."""
    folder.mkdir(parents=True)
    for name in sorted(needed(PROJECT)):
        found = metadata.distribution(name)
        files = dict(_project(found) if name == PROJECT else _installed(found))
        tag = _tag(found)
        title = f"{found.metadata['Name'].replace('-', '_')}-{found.version}"
        _wheel(folder / f"{title}-{tag}.whl", files, _info(found))


def needed(name: str) -> set[str]:
    """The distribution and all it requires on this machine, extras left out; by canonical name."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = _canonical(waiting.pop())
        if one in found:
            continue
        found.add(one)
        for text in metadata.requires(one) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def _canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _info(found: metadata.Distribution) -> str:
    """The name of its metadata folder."""
    return Path(str(found._path)).name  # type: ignore[attr-defined] # nothing public says it


def _tag(found: metadata.Distribution) -> str:
    """Of the tags it was built for, the one that fits this machine best."""
    lines = (found.read_text("WHEEL") or "").splitlines()
    built_for = {line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")}
    return next((str(tag) for tag in sys_tags() if str(tag) in built_for), "py3-none-any")


def _installed(found: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """Its files as they lie in site-packages; what lies outside is made by the installer."""
    for file in found.files or ():
        path = Path(str(file.locate()))
        inside = ".." not in file.parts and "__pycache__" not in file.parts
        if inside and path.is_file() and not (file.parts[0] == _info(found) and file.name in _LEFT_OUT):
            yield str(file), path


def _project(found: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    yield from ((name, path) for name, path in _installed(found) if name.startswith(_info(found)))
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT)), path


def _wheel(path: Path, files: dict[str, Path], info: str) -> None:
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, source in sorted(files.items()):
            data = source.read_bytes()
            archive.writestr(zipfile.ZipInfo(name), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "\n".join([*record, f"{info}/RECORD,,", ""]))
