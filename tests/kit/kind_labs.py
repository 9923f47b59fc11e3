"""What a lab on Docker with kind needs here: the engine of the tests, the real kind, the test node's image."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import pytest

from forge.host.engine import Engine
from tests.kind import fetch, image


@dataclass(frozen=True, slots=True)
class Kind:
    """env: for `praxis-forge`. node_image: whose pods run the given images as processes."""

    env: Mapping[str, str]
    node_image: str


def kind_for(engine: Engine, node_image: str, images: Mapping[str, Sequence[str]]) -> Kind:
    """Makes it ready. Skips by name where a part cannot be had, or fails with PRAXIS_TEST_DOCKER=require."""
    try:
        binary = fetch.kind("trixie")
        image.build(engine, node_image, images)
    except (fetch.CannotFetch, image.CannotBuild) as reason:
        _give_up(str(reason))
    env = {"DOCKER_HOST": f"unix://{engine.socket_path}", "FORGE_KIND": str(binary), "DOCKER_BUILDKIT": "0"}
    return Kind(env, node_image)


def left_over(engine: Engine) -> dict[str, list[str]]:
    """What stands on the tests' engine, by kind: for the proof that a lab left nothing behind."""
    networks = [n["Name"] for n in engine.get("/networks") if n["Name"] not in ("bridge", "host", "none")]
    volumes = [v["Name"] for v in engine.get("/volumes")["Volumes"] or ()]
    containers = [c["Names"][0] for c in engine.get("/containers/json", {"all": True})]
    return {"containers": sorted(containers), "networks": sorted(networks), "volumes": sorted(volumes)}


def _give_up(why: str) -> NoReturn:
    if os.environ.get("PRAXIS_TEST_DOCKER") == "require":
        pytest.fail(f"{why} (PRAXIS_TEST_DOCKER=require)", pytrace=False)
    pytest.skip(why)
