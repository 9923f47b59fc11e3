"""The configuration as Forge understood it, for people: as it was written, or with nothing left open.

Values that may be secret are masked unless they are asked for (forge/spec/shown.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from forge.spec.load import Loaded
from forge.spec.model import DEFAULT_ZONE, Environment
from forge.spec.nodes import plain
from forge.spec.rules.mounts import CERTIFICATE_FOLDER
from forge.spec.scalars import resolve
from forge.spec.shown import without_secrets


def show(loaded: Loaded, *, resolved: bool = False, reveal: bool = False) -> str:
    """The configuration as YAML that loads again. resolved: defaults filled in, and the names Forge
    derives as comments below. reveal: secret values too."""
    text = yaml_text(config(loaded, resolved=resolved, reveal=reveal))
    if resolved:
        names = yaml_text(derived(loaded.environment)).splitlines()
        text += "\n# Names Forge derives:\n" + "".join(f"#   {line}\n" for line in names)
    return text


def config(loaded: Loaded, *, resolved: bool = False, reveal: bool = False) -> dict[str, Any]:
    """As show, as plain values."""
    if resolved:
        whole = _with_inputs(_resolved(loaded.environment), {} if reveal else loaded.inputs)
    else:
        whole = plain(loaded.source.root, written=True)
    shown = whole if reveal else without_secrets(whole)
    return dict(shown) if isinstance(shown, Mapping) else {}


def derived(environment: Environment) -> dict[str, Any]:
    """What things are called on the engine: the network, containers by service, clusters by name."""
    name, spec = environment.metadata.name, environment.spec
    prefix = spec.runtime.cluster_prefix
    clusters = {
        c.name: {"context": c.context}
        if c.driver == "existing"
        else {"kind": f"{prefix}-{c.name}", "context": f"kind-{prefix}-{c.name}"}
        for c in spec.clusters
    }
    return {
        "network": f"{name}-net",
        "containers": {s.name: f"{name}-{s.name}" for s in spec.services},
        "clusters": clusters,
    }


def yaml_text(data: object) -> str:
    """Block-style YAML in the order of *data*; texts come back as the same texts under YAML 1.2."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _resolved(environment: Environment) -> dict[str, Any]:
    """Every default written out. What is only known later (a subnet) stays away."""
    whole: dict[str, Any] = environment.model_dump(by_alias=True, mode="json", exclude_none=True)
    spec = whole["spec"]
    if "network" in spec:
        spec["network"].setdefault("dnsZone", DEFAULT_ZONE)
    services = {s.name: s for s in environment.spec.services}
    for service, shown in zip(environment.spec.services, spec["services"], strict=True):
        for dependency, entry in zip(service.depends_on, shown["dependsOn"], strict=True):
            entry["condition"] = service.condition_for(dependency, services[dependency.name])
        for port in shown["ports"]:
            port.setdefault("bindAddress", "0.0.0.0")  # noqa: S104 - what the file's silence means
    for authority in spec.get("certificates", {}).get("authorities", ()):
        authority.setdefault("commonName", authority["name"])
    for leaf in spec.get("certificates", {}).get("leaves", ()):
        leaf.setdefault("commonName", leaf["name"])
        leaf.setdefault("directory", f"{CERTIFICATE_FOLDER}/{leaf['name']}")
    return whole


def _with_inputs(value: object, inputs: Mapping[str, str]) -> object:
    """Values of inputs as `${env:NAME}` again, and what only looks like one escaped.

    Values of under six characters stay: they would be found everywhere.
    """
    if isinstance(value, Mapping):
        return {key: _with_inputs(inner, inputs) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_inputs(inner, inputs) for inner in value]
    if isinstance(value, str):
        value = value.replace("${env:", "$${env:")
        for name, given in inputs.items():
            if len(given) >= 6:
                value = value.replace(given, f"${{env:{name}}}")
    return value


class _Dumper(yaml.SafeDumper):
    """SafeDumper quotes for YAML 1.1; this one also quotes what only YAML 1.2 would read otherwise."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base's shape; values are written out
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - the base's shape
        super().increase_indent(flow, False)  # noqa: FBT003 - indented lists, as people write them


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if value and resolve(value) != value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
