"""The `kind` command: found, given its configuration and an environment of its own, and its words read.

Each run has a kubeconfig of its own in a folder of its own: kind locks the file that it writes by a second
file without an owner, which a killed kind, or kubectl, leaves behind for ever.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forge.errors import OperationFailed, ToolMissing
from forge.host.command import Ended
from forge.plan.lab_resources import ClusterResource
from forge.plan.ports import Progress

API_VERSION = "kind.x-k8s.io/v1alpha4"
_SHOWN_LINES = 20
_STEP = re.compile(r"^\s*[•✓✗]\s*(.+?)\s*$")
_NOT_WORDS = re.compile(r"[^\x20-\x7e]+")
_ENGINE_GONE = ("Cannot connect to the Docker daemon", "error during connect", "connection refused")
"""What the engine's client says while the engine restarts: then it is tried again."""

_OURS = ("DOCKER_", "KIND_", "KUBE")


def program(environ: Mapping[str, str]) -> str:
    """The kind binary: FORGE_KIND, or the one on PATH. Raises ToolMissing FG0700."""
    named = environ.get("FORGE_KIND", "")
    found = shutil.which(named or "kind", path=environ.get("PATH"))
    if found is None:
        raise ToolMissing(
            "FG0700",
            "the kind command is missing",
            why=f"FORGE_KIND names {named!r}, which is no program" if named else "there is no kind on PATH",
            hint="install it (https://kind.sigs.k8s.io), set FORGE_KIND to it, or use --runtime embedded",
            changed=False,
        )
    return str(Path(found).absolute())


def configuration(wanted: ClusterResource) -> str:
    """kind's configuration: what the file passes through, with the nodes that Forge counts. JSON, which
    is YAML too."""
    nodes = [{"role": "control-plane"}] * wanted.control_planes + [{"role": "worker"}] * wanted.workers
    own: dict[str, Any] = {"kind": "Cluster", "apiVersion": API_VERSION}
    given = {key: plain(value) for key, value in wanted.kind_config.items() if key not in own}
    return json.dumps({"nodes": nodes, **given, **own, "name": wanted.full_name}, indent=1)


def plain(value: Any) -> Any:
    """Frozen mappings and tuples as JSON has them."""
    match value:
        case Mapping():
            return {str(key): plain(inner) for key, inner in value.items()}
        case tuple() | list():
            return [plain(inner) for inner in value]
        case _:
            return value


def has_network_of_its_own(wanted: ClusterResource) -> bool:
    """Whether kind gives it a CNI; without one no node becomes Ready until the user's own is there."""
    networking = wanted.kind_config.get("networking") or {}
    return not (isinstance(networking, Mapping) and networking.get("disableDefaultCNI"))


def node_count(wanted: ClusterResource) -> int:
    nodes = wanted.kind_config.get("nodes")
    return len(nodes) if nodes else wanted.control_planes + wanted.workers


def environment(outer: Mapping[str, str], socket_path: str, network: str | None) -> dict[str, str]:
    """The caller's, without what would lead kind elsewhere."""
    kept = {key: value for key, value in outer.items() if not key.startswith(_OURS)}
    if outer.get("DOCKER_CONFIG"):
        kept["DOCKER_CONFIG"] = outer["DOCKER_CONFIG"]
    kept |= {"DOCKER_HOST": f"unix://{socket_path}", "KIND_EXPERIMENTAL_PROVIDER": "docker"}
    if network is not None:
        kept["KIND_EXPERIMENTAL_DOCKER_NETWORK"] = network
    return kept


def steps(progress: Progress) -> Callable[[str], None]:
    """Takes kind's lines and passes on its steps, each once: `preparing nodes`."""
    said: set[str] = set()

    def tell(line: str) -> None:
        match = _STEP.match(line)
        step = _NOT_WORDS.sub("", match[1]).strip(" .") if match else ""
        if step and step not in said:
            said.add(step)
            progress(step[:1].lower() + step[1:])

    return tell


def failed(cluster: str, ended: Ended, why: str = "") -> OperationFailed:
    """Its failure with the command to paste and its last lines. why: where it is not in these."""
    errors = [line for line in ended.lines if line.startswith("ERROR")]
    last = errors[-1] if errors else ended.last_line
    error = OperationFailed(
        "FG0702",
        f"kind could not make cluster {cluster!r}",
        why=why or last.removeprefix("ERROR: ") or f"it ended with {ended.code}",
        hint="its last lines are below; what it had made is gone again",
        changed=False,
        detail=(ended.pasteable, *ended.lines[-_SHOWN_LINES:]),
    )
    error.may_pass = any(word in line for line in ended.lines for word in _ENGINE_GONE)
    return error
