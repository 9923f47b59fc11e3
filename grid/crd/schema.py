"""The CustomResourceDefinitions, made from the views: what is read and what is stored are one text.

A view's JSON schema becomes a structural one (Kubernetes, "Specifying a structural schema"): references are
put in place, `X or null` becomes nullable, titles go. A view's `rules()` are its CEL rules, its docstring the
description. The committed files under `grid/deploy/crds/` are this module's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml
from pydantic.alias_generators import to_snake

from grid.contract.names import CRD_VERSION, GROUP
from grid.crd.base import View
from grid.crd.network import GridNetwork
from grid.crd.provider import InferenceProvider
from grid.crd.site import GridSite

Json = dict[str, Any]

_READY = {
    "name": "Ready",
    "type": "string",
    "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
}
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def _column(name: str, path: str, kind: str = "string", priority: int = 0) -> Json:
    column: Json = {"name": name, "type": kind, "jsonPath": path}
    return {**column, "priority": priority} if priority else column


def definitions() -> tuple[Json, ...]:
    """The three CRDs as objects, by plural name."""
    return (
        _definition(
            GridNetwork,
            "gridnetworks",
            "gnet",
            _column("Grid ID", ".status.gridId"),
            _column("Phase", ".status.phase"),
            _column("Sites", ".status.connectedSites", "integer"),
        ),
        _definition(
            GridSite,
            "gridsites",
            "gsite",
            _column("Phase", ".status.phase"),
            _column("Network", ".spec.gridNetworkRef"),
            _column("Role", ".spec.role"),
            _column("Region", ".spec.region", priority=1),
        ),
        _definition(
            InferenceProvider,
            "inferenceproviders",
            "iprov",
            _column("Provider", ".spec.providerKind"),
            _column("Phase", ".status.phase"),
            _column("Admission", ".status.admission.state"),
        ),
    )


def text(definition: Json) -> str:
    """A CRD as the YAML document that is committed."""
    return yaml.dump(definition, Dumper=_Plain, sort_keys=False, width=110, allow_unicode=True)


class _Plain(yaml.SafeDumper):
    """Written out whole: an alias would make two fields look like one."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True


def _definition(view: type[View], plural: str, short: str, *columns: Json) -> Json:
    kind = view.__name__
    version = {
        "name": CRD_VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [*columns, _READY, _AGE],
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema(view)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short],
                "categories": ["grid"],
            },
            "versions": [version],
        },
    }


def schema(view: type[View]) -> Json:
    """The structural schema of a resource: spec and status; metadata is the API server's own."""
    made = view.model_json_schema(by_alias=True)
    whole = _structural(made, made.get("$defs", {}), dict(_rules()))
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": whole["properties"]["spec"],
        "status": whole["properties"]["status"],
    }
    return {
        "description": whole["description"],
        "type": "object",
        "required": ["spec"],
        "properties": properties,
    }


def _rules() -> Iterator[tuple[str, Mapping[str, str]]]:
    """CEL rules by the view's name, of all views there are."""
    for each in View.__subclasses__():
        rules = getattr(each, "rules", None)
        if rules is not None:
            yield each.__name__, rules()


def _structural(made: Json, shared: Mapping[str, Json], rules: Mapping[str, Mapping[str, str]]) -> Json:
    if "$ref" in made:
        referred = shared[made["$ref"].rsplit("/", 1)[1]]
        beside = {name: value for name, value in made.items() if name != "$ref"}
        return _structural({**referred, **beside}, shared, rules)
    if "anyOf" in made:
        (inner,) = [option for option in made["anyOf"] if option.get("type") != "null"]
        beside = {name: value for name, value in made.items() if name not in {"anyOf", "default"}}
        return {**_structural({**inner, **beside}, shared, rules), "nullable": True}
    plain = {name: made[name] for name in _KEPT if name in made}
    if "description" in made:
        plain["description"] = _described(made["description"], made.get("properties", ()))
    return {**plain, **_nested(made, shared, rules)}


def _described(description: str, fields: Iterable[str]) -> str:
    """A docstring on one line, with its fields called as they are in the resource."""
    for name in fields:
        description = re.sub(rf"\b{to_snake(name)}\b", name, description)
    return " ".join(description.split())


_KEPT = (
    "description",
    "type",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "required",
    "default",
)


def _nested(made: Json, shared: Mapping[str, Json], rules: Mapping[str, Mapping[str, str]]) -> Json:
    found: Json = {}
    if "properties" in made:
        found["properties"] = {
            name: _structural(inner, shared, rules) for name, inner in made["properties"].items()
        }
    if isinstance(made.get("additionalProperties"), dict):
        found["additionalProperties"] = _structural(made["additionalProperties"], shared, rules)
    if "items" in made:
        found["items"] = _structural(made["items"], shared, rules)
    if _holds_conditions(made):
        found["x-kubernetes-list-type"] = "map"
        found["x-kubernetes-list-map-keys"] = ["type"]
    if made.get("title") in rules:
        found["x-kubernetes-validations"] = [
            {"rule": rule, "message": message} for rule, message in rules[made["title"]].items()
        ]
    return found


def _holds_conditions(made: Json) -> bool:
    return str(made.get("items", {}).get("$ref")).endswith("/Condition")
