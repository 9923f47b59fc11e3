"""Builds an image with the docker command: contexts, ignore files and caches are its own to know.

BuildKit, where its plug-in is there; the engine's older builder where it is not, instead of the error that
the command would end with. A build argument's value goes through the environment, and never into the argv,
which every user of the machine can read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from forge.errors import Interrupted, OperationFailed, ToolMissing
from forge.host import command, docker_image
from forge.host.command import Ended
from forge.host.engine import Engine
from forge.plan.ports import Cancel, Progress
from forge.plan.resources import BuildRecipe, ImageResource

_NAMES: Final = ("Containerfile", "Dockerfile")
_STEP = re.compile(r"^(?:#\d+ \[(?:[^\]]* )?(\d+/\d+)\]|Step (\d+/\d+) :) ?(.*)$")
_SHOWN = 20
_PLUGINS: Final = (
    "/usr/local/lib/docker/cli-plugins",
    "/usr/local/libexec/docker/cli-plugins",
    "/usr/lib/docker/cli-plugins",
    "/usr/libexec/docker/cli-plugins",
)
_WIDEST = 80


def build(engine: Engine, wanted: ImageResource, progress: Progress, cancel: Cancel) -> str:
    """Gives its id. Raises OperationFailed FG0711 with the build's last lines, ToolMissing FG0717."""
    recipe = wanted.build
    if recipe is None:
        raise ValueError(f"image {wanted.reference} is not built")
    program = _program()
    environ = _environment(engine, recipe)
    argv = [
        program,
        "build",
        "--tag",
        wanted.reference,
        "--file",
        str(containerfile(wanted.reference, recipe)),
    ]
    argv += ["--progress=plain"] if environ["DOCKER_BUILDKIT"] == "1" else []
    with tempfile.TemporaryDirectory(prefix="praxis-build-") as folder:
        argv += [word for name in recipe.args for word in ("--build-arg", name)]
        ended = command.run([*argv, recipe.context], environ, Path(folder), steps(progress), cancel)
    if ended.code is None:
        raise Interrupted("FG0720", f"building image {wanted.reference!r} was stopped", signal_number=2)
    if ended.code:
        raise _failed(wanted.reference, ended, recipe)
    identity = docker_image.identity(engine, wanted.reference)
    if identity is None:
        raise _failed(wanted.reference, ended, recipe, "the build has ended well, and the image is not there")
    return identity


def containerfile(reference: str, recipe: BuildRecipe) -> Path:
    """The one it is built by. Raises OperationFailed FG0711 where the context has none."""
    if recipe.file is not None:
        return Path(recipe.file)
    for name in _NAMES:
        if (found := Path(recipe.context) / name).exists():
            return found
    raise OperationFailed(
        "FG0711",
        f"image {reference!r} cannot be built",
        why=f"there is no {' and no '.join(_NAMES)} in {recipe.context}",
        hint="correct spec.images[].build.context, or name the file: build.file",
        changed=False,
    )


def _environment(engine: Engine, recipe: BuildRecipe) -> dict[str, str]:
    """With the arguments' values. Its own settings win: an argument cannot lead it to another engine."""
    own = {
        "DOCKER_HOST": f"unix://{engine.socket_path}",
        "DOCKER_BUILDKIT": "1" if has_buildkit(os.environ, Path.home()) else "0",
    }
    given = {name: value.reveal() for name, value in recipe.args.items()}
    return {**os.environ, **given, **own}


def has_buildkit(environ: Mapping[str, str], home: Path) -> bool:
    """Whether the docker command has its buildx plug-in, where it looks for it."""
    config = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    folders = (config / "cli-plugins", *map(Path, _PLUGINS))
    return any(os.access(folder / "docker-buildx", os.X_OK) for folder in folders)


def steps(progress: Progress) -> Callable[[str], None]:
    """Takes the build's lines and passes on its steps, each once: `step 2/5: RUN make`."""
    said: set[str] = set()

    def tell(line: str) -> None:
        match = _STEP.match(line)
        if match is None:
            return
        text = f"step {match[1] or match[2]}: {match[3]}"[:_WIDEST].rstrip()
        if text not in said:
            said.add(text)
            progress(text)

    return tell


def _failed(reference: str, ended: Ended, recipe: BuildRecipe, why: str = "") -> OperationFailed:
    hidden = [v.reveal() for v in recipe.args.values() if len(v.reveal()) > 3]
    lines = tuple(_without(line, hidden) for line in ended.lines[-_SHOWN:])
    errors = [line for line in lines if line.lower().startswith("error")]
    last = errors[-1] if errors else lines[-1] if lines else f"it ended with {ended.code}"
    return OperationFailed(
        "FG0711",
        f"image {reference!r} cannot be built",
        why=why or last,
        hint="its last lines are below; the image of before, if there is one, is as it was",
        changed=False,
        detail=(ended.pasteable, *lines),
    )


def _without(line: str, values: list[str]) -> str:
    for value in values:
        line = line.replace(value, "***")
    return line


def _program() -> str:
    found = shutil.which("docker")
    if found is None:
        raise ToolMissing(
            "FG0717",
            "the docker command is missing",
            why="Forge builds images with it",
            hint="install the docker command line client, or build the image elsewhere and leave `build` out",
            changed=False,
        )
    return found
