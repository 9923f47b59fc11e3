"""Builds the KIND test node's image out of this machine's own files: no registry is asked.

    build(engine, "praxis.test/node:dev", {})                      a cluster whose pods have no image
    build(engine, tag, {"app:1": ["praxis-edge"]})                 pods of app:1 run that command

The base (interpreter, the whole project and what it needs, kubectl, the stand-ins) is imported once an
engine, under a tag that names its content; a mapping of images is one small layer on top, so that
several node images of a run cost little more than one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from forge.embedded.api.plain import GIT_VERSION
from forge.host.engine import Engine
from forge.host.unix_http import Request
from tests.kit import images as kit

ROOT = Path(__file__).parents[2]
_COMMANDS = ("bash", "cp", "mkdir", "tar", "pgrep", "rm", "ls", "chmod", "touch", "hostname", "ip", "kubectl")
_STAND_IN_IMAGES = {"praxis.test/metallb:stand-in": ["python3", "-m", "tests.kind.node.speaker"]}
_STAND_INS = ("kubeadm", "ctr", "crictl", "containerd", "journalctl", "systemctl")
_BUILD_S = 120.0
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class CannotBuild(Exception):
    """This machine lacks what the image is made of, or its engine refused to make it; says which."""


def build(engine: Engine, tag: str, images: Mapping[str, Sequence[str]]) -> None:
    """Makes the node image present under *tag*. Raises CannotBuild.

    images: references and the argv that pods of them run, beside the stand-ins of this folder.
    """
    base = _base(engine)
    mapped = json.dumps(_STAND_IN_IMAGES | {reference: list(argv) for reference, argv in images.items()})
    context = _archive(
        {"Dockerfile": f"FROM {base}\nCOPY images.json /kind/images.json\n", "images.json": mapped}
    )
    with engine.stream(Request("POST", "/build", {"t": tag}, context, timeout_s=_BUILD_S)) as said:
        lines = b"".join(said).decode().splitlines()
    failed = [told["error"] for line in lines if "error" in (told := json.loads(line))]
    if failed:
        raise CannotBuild(f"no test node image: {failed[0]}")


def _base(engine: Engine) -> str:
    files = _files()
    tag = f"praxis.test/node-base:{_mark(files)}"
    if engine.find(f"/images/{tag}/json") is None:
        with tempfile.TemporaryDirectory(prefix="praxis-node-") as folder:
            extra = dict(_written(Path(folder))) | dict(_compiled(files))
            tree = kit.tar(files | extra)
        kit.import_tree(
            engine,
            tag,
            tree,
            'ENTRYPOINT ["python3", "-m", "tests.kind.node.entrypoint"]',
        )
    return tag


@cache
def _files() -> dict[str, Path]:
    """Everything of this machine's that the image holds, by its place there."""
    programs = [_program(name) for name in _COMMANDS]
    packages = dict(_packages(_project()["dependencies"]))
    files = kit.python_files() | packages
    files |= {f"/bin/{name}": path for name, path in zip(_COMMANDS, programs, strict=True)}
    files |= kit.library_files([*programs, *(p for p in packages.values() if ".so" in p.suffixes)])
    for folder in ("forge", "grid", "edge", "tests/kind"):
        files |= {f"{_site()}/{p.relative_to(ROOT)}": p for p in _sources(ROOT / folder)}
    return files


def _compiled(files: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """The modules that are compiled here already; one of another source is not taken for good by its time."""
    suffix = f".{sys.implementation.cache_tag}.pyc"
    for place, source in files.items():
        ready = source.parent / "__pycache__" / f"{source.stem}{suffix}"
        if source.suffix == ".py" and ready.exists():
            yield f"{place.rpartition('/')[0]}/__pycache__/{ready.name}", ready


def _program(name: str) -> Path:
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if found is None:
        raise CannotBuild(f"no test node image: {name} is not installed")
    return Path(found).resolve()


def _packages(wanted: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """The files of distributions and of what they require, as they are installed here."""
    for name in sorted(_closure(wanted)):
        for file in metadata.files(name) or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and path.is_file():
                yield f"{_site()}/{file}", path


def _closure(wanted: Iterable[str]) -> set[str]:
    found: set[str] = set()
    todo = list(wanted)
    while todo:
        name = _name(todo.pop())
        if name in found:
            continue
        try:
            needs = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:
            continue  # for another system, or an extra that is not installed
        found.add(name)
        todo += [need for need in needs if "extra ==" not in need]
    return found


def _name(requirement: str) -> str:
    """`Aiohttp[speedups]>=3.10; python_version>"3"` is aiohttp."""
    found = _NAME.match(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} does not begin with a name")
    return found[0].lower()


def _project() -> Any:
    """What pyproject.toml says; an installation's own record may be of an earlier day."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _site() -> str:
    """Where the interpreter finds packages by itself: a pod's process inherits no PYTHONPATH."""
    return f"{kit.PREFIX}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def _sources(folder: Path) -> Iterator[Path]:
    return (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _written(folder: Path) -> Iterator[tuple[str, Path]]:
    """The few files that are no machine's: wrappers and what kind reads."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
    note = {**manifest, "metadata": {"name": "forge-no-cni", "namespace": "kube-system"}}
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard"},
        "provisioner": "forge.praxis.dev/none",
    }
    texts = {
        **dict(_scripts()),
        **{f"/bin/{n}": f'#!/bin/sh\nexec python3 -m tests.kind.node.{n} "$@"\n' for n in _STAND_INS},
        f"{_site()}/tests/__init__.py": '"""The part of the tests that a node is made of."""\n',
        "/kind/version": GIT_VERSION,
        "/kind/manifests/default-cni.yaml": json.dumps(note),
        "/kind/manifests/default-storage.yaml": json.dumps(storage),
        "/etc/containerd/config.toml": _CONTAINERD,
        "/etc/nsswitch.conf": "hosts: files dns\n",
        "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "/etc/group": "root:x:0:\n",
    }
    for number, (place, text) in enumerate(texts.items()):
        path = folder / str(number)
        path.write_text(text)
        yield place, path


def _scripts() -> Iterator[tuple[str, str]]:
    """The project's commands, which run where the image holds what they need; and `python` itself."""
    yield f"{kit.PREFIX}/bin/python", '#!/bin/sh\nexec python3 "$@"\n'
    for name, target in _project()["scripts"].items():
        module, _, function = target.partition(":")
        code = f"import sys; from {module} import {function}; sys.exit({function}())"
        yield f"{kit.PREFIX}/bin/{name}", f'#!/bin/sh\nexec python3 -c "{code}" "$@"\n'


_CONTAINERD = """version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
"""


def _mark(files: Mapping[str, Path]) -> str:
    """Differs when the image would."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for place, path in sorted(files.items()):
        known = path.stat()
        digest.update(f"{place}\0{known.st_size}\0{known.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:20]


def _archive(contents: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()
