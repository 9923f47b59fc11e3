"""Compiles the gateway's request path ahead of time, when a wheel is built with PRAXIS_COMPILE set.

    PRAXIS_COMPILE=1      compile, or fail
    PRAXIS_COMPILE=auto   compile where it can be done, else say why not and build the wheel without
    unset, or 0           the wheel is pure Python, as an editable install always is

The modules are those `[tool.hatch.build.targets.wheel.hooks.custom]` lists, compiled by mypyc into one group,
so that calls between them are direct. Nothing is written beside the sources: the work is done on a copy, and
what comes of it goes into the wheel alone. mypy is a requirement of the build only when it is asked for.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_GROUP = "praxis_edge"
# mypy reads the types of what the modules import; without them the code is right, and a little slower.
_NEEDS = (
    "mypy>=1.13",
    "setuptools>=69",
    "httptools>=0.6.4",
    "msgspec>=0.19",
    "prometheus-client>=0.21",
    "pydantic>=2.9",
)
_MYPY = "[mypy]\nignore_missing_imports = true\nfollow_imports = silent\ncache_dir = .mypy_cache\n"


class CannotCompile(Exception):
    """What is missing on this machine."""


class Compile(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel; their sources are in it too, for whoever reads a traceback."""

    PLUGIN_NAME = "custom"
    _folder: str | None = None

    def dependencies(self) -> list[str]:
        return list(_NEEDS) if _asked() and not _why_not() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or not _asked():
            return
        try:
            if why_not := _why_not():
                raise CannotCompile(why_not)
            folder = self._folder = tempfile.mkdtemp(prefix="praxis-compile-")
            made = _compile(Path(self.root), Path(folder), self.config["modules"])
        except (Exception, SystemExit) as error:  # a compiler may fail in any way, and mypy exits
            if os.environ["PRAXIS_COMPILE"] != "auto":
                raise
            self.app.display_warning(f"the gateway is not compiled: {error}")
            return
        build_data["force_include"] |= {str(path): name for path, name in made}
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _asked() -> bool:
    return os.environ.get("PRAXIS_COMPILE", "0") not in ("", "0")


def _why_not() -> str | None:
    """What is missing; None when nothing is."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler})"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return None if header.exists() else f"{header} is missing"


def _compile(root: Path, folder: Path, patterns: list[str]) -> list[tuple[Path, str]]:
    """(shared library, its path in the wheel), all of them."""
    from mypyc.build import mypycify  # requirements of this build only
    from setuptools import Distribution

    source, out = folder / "source", folder / "out"
    for package in ("edge", "grid", "forge"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(root / package, source / package, ignore=ignored)
    before = Path.cwd()
    os.chdir(source)
    try:
        Path("mypy.ini").write_text(_MYPY)
        modules = sorted(
            {str(path) for pattern in patterns for path in Path().glob(pattern) if path.name != "__init__.py"}
        )
        extensions = mypycify(
            ["--config-file=mypy.ini", *modules], opt_level="3", debug_level="0", group_name=_GROUP
        )
        command = Distribution({"name": _GROUP, "ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib, command.build_temp = str(out), str(folder / "objects")
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(before)
    return [(path, path.relative_to(out).as_posix()) for path in sorted(out.rglob("*")) if path.is_file()]
