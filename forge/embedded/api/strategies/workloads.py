"""Deployments and ReplicaSets: defaults, their selectors, and how a roll-out may be described."""

from __future__ import annotations

import re
from typing import Any

from forge.embedded.api import selectors, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategies.pods import default_spec, restart_causes, spec_causes, spread_warnings
from forge.embedded.api.strategy import Strategy, register
from forge.embedded.api.values import Json, dig

_PERCENT_SAID = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)


def _default_template(spec: Json) -> None:
    template = spec.get("template") or {}
    spec["template"] = template
    pod = template.get("spec") or {}
    template["spec"] = pod
    default_spec(pod)


def _default_deployment(document: Json) -> None:
    spec = document.get("spec") or {}
    document["spec"] = spec
    _default_template(spec)
    if spec.get("replicas") is None:
        spec["replicas"] = 1
    strategy = spec.get("strategy") or {}
    spec["strategy"] = strategy
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = rolling
        for field in ("maxUnavailable", "maxSurge"):
            if rolling.get(field) is None:
                rolling[field] = "25%"
    if spec.get("revisionHistoryLimit") is None:
        spec["revisionHistoryLimit"] = 10
    if spec.get("progressDeadlineSeconds") is None:
        spec["progressDeadlineSeconds"] = 600


def _default_replica_set(document: Json) -> None:
    spec = document.get("spec") or {}
    document["spec"] = spec
    _default_template(spec)
    if spec.get("replicas") is None:
        spec["replicas"] = 1


def _create_deployment(_cluster: Cluster, document: Json) -> None:
    document["status"] = {}


def _create_replica_set(_cluster: Cluster, document: Json) -> None:
    document["status"] = {"replicas": 0}


def _warn(document: Json) -> list[str]:
    return spread_warnings(dig(document, "spec", "template", "spec") or {}, "spec.template.spec")


def _causes(document: Json) -> list[Cause]:
    """What Deployments and ReplicaSets share."""
    spec = document.get("spec") or {}
    found = []
    if (spec.get("replicas") or 0) < 0:
        found.append(status.wrong("spec.replicas", spec["replicas"], "must be greater than or equal to 0"))
    selector = spec.get("selector")
    if selector is None:
        found.append(status.missing("spec.selector"))
    elif not selector:
        found.append(status.wrong("spec.selector", selector, "empty selector is invalid for deployment"))
    labels = dig(spec, "template", "metadata", "labels") or {}
    if not selector or not selectors.label_selector(selector).matches(labels):
        why = "`selector` does not match template `labels`"
        message = f"Invalid value: {_go_labels(labels)}: {why}"
        found.append(Cause("spec.template.metadata.labels", "FieldValueInvalid", message))
    pod = dig(spec, "template", "spec") or {}
    found += spec_causes(pod, "spec.template.spec")
    return found + restart_causes(pod, "spec.template.spec", ("Always",))


def _go_labels(labels: Json) -> str:
    if not labels:
        return "map[string]string(nil)"
    inner = ", ".join(f"{status.quote(k)}:{status.quote(v)}" for k, v in sorted(labels.items()))
    return f"map[string]string{{{inner}}}"


def _deployment(document: Json) -> list[Cause]:
    return _causes(document) + _strategy_causes(dig(document, "spec", "strategy") or {})


def _strategy_causes(strategy: Json) -> list[Cause]:
    kind, rolling, path = strategy.get("type"), strategy.get("rollingUpdate"), "spec.strategy"
    if kind == "Recreate":
        if rolling is None:
            return []
        return [
            status.denied(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
        ]
    if kind != "RollingUpdate":
        rolled = "RollingUpdate:(*apps.RollingUpdateDeployment)(nil)"
        value = f"apps.DeploymentStrategy{{Type:{status.quote(str(kind))}, {rolled}}}"
        said = f'Unsupported value: {value}: supported values: "Recreate", "RollingUpdate"'
        return [Cause(path, "FieldValueNotSupported", said)]
    found = []
    for field in ("maxUnavailable", "maxSurge"):
        given = (rolling or {}).get(field)
        if isinstance(given, str) and not re.fullmatch(r"[0-9]+%", given):
            found.append(_wrong_number(f"{path}.rollingUpdate.{field}", given, _PERCENT_SAID))
        elif isinstance(given, int) and given < 0:
            found.append(
                _wrong_number(f"{path}.rollingUpdate.{field}", given, "must be greater than or equal to 0")
            )
    if not found and all(_is_zero((rolling or {}).get(f)) for f in ("maxUnavailable", "maxSurge")):
        field = f"{path}.rollingUpdate.maxUnavailable"
        found.append(
            _wrong_number(field, (rolling or {}).get("maxUnavailable"), "may not be 0 when `maxSurge` is 0")
        )
    return found


def _is_zero(value: Any) -> bool:
    return value in (0, "0%", None)


def _wrong_number(field: str, value: Any, why: str) -> Cause:
    text = isinstance(value, str)
    shown = (
        f"{{Type:{int(text)}, IntVal:{0 if text else value}, StrVal:{status.quote(value if text else '')}}}"
    )
    return Cause(field, "FieldValueInvalid", f"Invalid value: intstr.IntOrString{shown}: {why}")


def _immutable_selector(new: Json, old: Json) -> list[Cause]:
    after, before = dig(new, "spec", "selector"), dig(old, "spec", "selector")
    if after == before:
        return []
    if after is None:
        message = 'Invalid value: "null": field is immutable'
        return [Cause("spec.selector", "FieldValueInvalid", message)]
    expressions = "[]v1.LabelSelectorRequirement(nil)"
    labels = _go_labels(after.get("matchLabels") or {})
    value = f"v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{expressions}}}"
    return [Cause("spec.selector", "FieldValueInvalid", f"Invalid value: {value}: field is immutable")]


def _update_deployment(new: Json, old: Json) -> list[Cause]:
    return _deployment(new) + _immutable_selector(new, old)


def _update_replica_set(new: Json, old: Json) -> list[Cause]:
    return _causes(new) + _immutable_selector(new, old)


register(
    "deployments.apps",
    Strategy(
        default=_default_deployment,
        create=_create_deployment,
        warn=_warn,
        validate=_deployment,
        validate_update=_update_deployment,
        generation=True,
        generation_of_annotations=True,
        has_status=True,
    ),
)
register(
    "replicasets.apps",
    Strategy(
        default=_default_replica_set,
        create=_create_replica_set,
        warn=_warn,
        validate=_causes,
        validate_update=_update_replica_set,
        generation=True,
        has_status=True,
    ),
)
