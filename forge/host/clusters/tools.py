"""Whether this machine could make KIND clusters, for the choice of a runtime."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from forge.errors import ForgeError
from forge.host.clusters.kind_command import program
from forge.host.docker_socket import engine_socket
from forge.host.engine import Engine, EngineRefused

_DEFAULT = "kindest/node"


def missing_for_kind(node_images: Collection[str | None]) -> str:
    """Why KIND clusters with these node images (None: kind's own) cannot be made here without a
    download; empty where they can. One line."""
    try:
        program(os.environ)
        return _missing_image(Engine(engine_socket(os.environ, Path.home())), node_images)
    except ForgeError as error:
        return f"a container engine answers, but {error.what}"


def _missing_image(engine: Engine, node_images: Collection[str | None]) -> str:
    tags = {tag for image in engine.get("/images/json") for tag in image.get("RepoTags") or ()}
    for wanted in dict.fromkeys(node_images):
        if wanted is None and not any(tag.partition(":")[0] == _DEFAULT for tag in tags):
            return f"a container engine and kind are here, but no {_DEFAULT} image is; pull one to use them"
        if wanted is not None and not _is_there(engine, wanted):
            return f"a container engine and kind are here, but the node image {wanted} is not"
    return ""


def _is_there(engine: Engine, reference: str) -> bool:
    try:
        return engine.find(f"/images/{reference}/json") is not None
    except EngineRefused:
        return False
