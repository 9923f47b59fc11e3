"""What the project's one image is built with here, where no registry is asked: its base and its wheels."""

from __future__ import annotations

import importlib
from importlib import metadata
from pathlib import Path

from forge.host.engine import Engine
from tests.kit import wheelhouse
from tests.kit.images import import_tree, library_files, python_files, tar

BASE = "praxis.test/praxis-base:dev"


def prepared(engine: Engine, context: Path) -> str:
    """The base, made present, and the wheels in the build's context. Gives the base's reference."""
    wheelhouse.make(context / "wheelhouse")
    base(engine, BASE)
    return BASE


def base(engine: Engine, tag: str) -> None:
    """This machine's Python with pip and venv, as an image."""
    pip = Path(str(importlib.import_module("pip").__file__)).parent
    files = python_files()
    library = next(Path(place).parent for place in files if place.endswith("/os.py"))
    files |= {
        str(library / "site-packages" / "pip" / path.relative_to(pip)): path
        for path in pip.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    import_tree(engine, tag, tar(files | library_files(wheels_libraries())))


def wheels_libraries() -> list[Path]:
    """Compiled modules of what is needed: a small image must bring the libraries they load."""
    found = []
    for name in wheelhouse.needed(wheelhouse.PROJECT):
        for file in metadata.distribution(name).files or ():
            path = Path(str(file.locate()))
            if path.suffix == ".so" and path.is_file():
                found.append(path)
    return found
