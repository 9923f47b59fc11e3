"""The two-clusters lab in a folder of a test's own, with a free port and, on Docker, what stands in for images."""

from __future__ import annotations

import shutil
import urllib.request
from pathlib import Path

from tests.kit.backends import free_port

ROOT = Path(__file__).parents[2]
IMAGE = "two-clusters/echo:dev"
CLUSTERS = ("east", "west")


def copied(folder: Path, name: str = "two-clusters") -> int:
    """The environment in *folder*, under a name of its own; gives the port it is reached at."""
    source = ROOT / "environments" / "two-clusters"
    shutil.copytree(
        source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".forge", "__pycache__")
    )
    port = free_port()
    replaced(folder / "forge.yaml", "host: 18090", f"host: {port}")
    replaced(folder / "forge.yaml", "name: two-clusters\n", f"name: {name}\n")
    return port


def for_kind(folder: Path, node_image: str, prefix: str) -> None:
    """The same file for KIND with the test node and the stand-in for MetalLB."""
    config = folder / "forge.yaml"
    shutil.copy(ROOT / "tests" / "kind" / "metallb.yaml", folder / "metallb.yaml")
    for cluster in CLUSTERS:
        replaced(config, f"{{name: {cluster}, ", f"{{name: {cluster}, nodeImage: '{node_image}', ")
    replaced(config, "clusterPrefix: two", f"clusterPrefix: {prefix}")
    replaced(config, "{type: metallb, ", "{type: metallb, manifest: {path: metallb.yaml}, ")


def replaced(path: Path, old: str, new: str) -> None:
    """Raises AssertionError where the file does not hold *old*: then the lab is not the one meant."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def said(port: int) -> str:
    """What the door answers."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
        return str(answer.read().decode().strip())
