"""Stacks of other people's files, those that need nothing but a cluster, apply as they are."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading

import pytest
import yaml

from forge.host.kube.client import ApiKube
from forge.plan.lab_ports import Object
from forge.spec.load import load
from forge.spec.model import Environment
from forge.stack.flatten import flatten
from tests.forge.spec.reading import SHARED
from tests.kit.embedded_node import PROGRAM, EmbeddedNode
from tests.kit.kube_contract import thing
from tests.kit.step_lab import OWNER, StepLab

TOOLS = ("helm", "url", "exec")
APPLIED = {
    "grid-combined-site": {"vcr-backend"},
    "grid-glb-demo": {"east-provider-site", "west-provider-site", "east-edge-site", "west-edge-site"},
}


def before(kube: ApiKube) -> None:
    """What their helm charts bring: namespace and definitions."""
    objects: list[Object] = [thing("Namespace", "grid-system")]
    for file in sorted((SHARED.parent / "crds").glob("*.yaml")):
        objects += [one for one in yaml.safe_load_all(file.read_text()) if one]
    kube.apply(objects, owner=OWNER, progress=lambda _: None, cancel=threading.Event())


def without_tools(environment: Environment) -> set[str]:
    """Stacks that run no command and download nothing."""
    stacks = environment.spec.stacks.items()
    return {name for name, stack in stacks if not any(step.type in TOOLS for step in stack.steps)}


@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(APPLIED))
def test_their_stacks_apply(name: str, lab: StepLab, node: EmbeddedNode, kube: ApiKube) -> None:
    if not SHARED.is_dir():
        pytest.skip("../shared is not here")
    shutil.copytree(SHARED / name, lab.folder / "lab", dirs_exist_ok=True, symlinks=True)
    environment = load(lab.folder / "lab" / "forge.yaml", environ=os.environ).environment
    images = {str(v) for c in environment.spec.clusters for v in c.properties.values() if ":" in str(v)}
    server = [sys.executable, "-S", "-E", str(PROGRAM), "8000"]
    node.map_images(json.loads(node.images.read_text()) | dict.fromkeys(images, server))
    before(kube)
    steps = flatten(environment, lab.files)
    needed: dict[str, dict[str, str]] = {c.name: {} for c in environment.spec.clusters}
    for _, step in steps:
        for cluster, capture in step.reads:
            needed[cluster][capture] = "10.9.9.9"
    lab.given = needed
    wanted = without_tools(environment)
    assert wanted == APPLIED[name]
    applied = [(key, lab.apply(environment, key)) for key, step in steps if step.stack in wanted]
    assert len(applied) > 10
    for key, made in applied:
        kind = key.name.rpartition("-")[2]
        assert bool(made.objects) == (kind == "manifest"), key
        assert made.id == kube.identity()
