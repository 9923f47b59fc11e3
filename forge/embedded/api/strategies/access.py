"""Roles and bindings: their defaults and rules; who may grant what is `rbac`'s."""

from __future__ import annotations

from typing import Any

from forge.embedded.api import names, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategy import Strategy, register
from forge.embedded.api.values import Json

_GROUP = "rbac.authorization.k8s.io"
_KINDS = ("ServiceAccount", "User", "Group")


def _rule_causes(rules: list[Json], *, namespaced: bool) -> list[Cause]:
    found: list[Cause] = []
    for index, rule in enumerate(rules):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            found.append(status.missing(f"{path}.verbs", "verbs must contain at least one value"))
        if rule.get("nonResourceURLs"):
            found += _path_rule_causes(rule, path, namespaced=namespaced)
            continue
        if not rule.get("apiGroups"):
            found.append(
                status.missing(f"{path}.apiGroups", "resource rules must supply at least one api group")
            )
        if not rule.get("resources"):
            found.append(
                status.missing(f"{path}.resources", "resource rules must supply at least one resource")
            )
    return found


def _path_rule_causes(rule: Json, path: str, *, namespaced: bool) -> list[Cause]:
    field = f"{path}.nonResourceURLs"
    if namespaced:
        why = "namespaced rules cannot apply to non-resource URLs"
        return [status.wrong(field, rule["nonResourceURLs"], why)]
    if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        return [status.wrong(field, rule["nonResourceURLs"], why)]
    return []


def _role(document: Json) -> list[Cause]:
    return _rule_causes(document.get("rules") or [], namespaced=True)


def _cluster_role(document: Json) -> list[Cause]:
    return _rule_causes(document.get("rules") or [], namespaced=False)


def _default_role(document: Json) -> None:
    """Rules are always there: null when there are none."""
    document.setdefault("rules", None)


def _settle_create(_cluster: Cluster, document: Json) -> None:
    document["rules"] = document.get("rules") or None


def _settle_update(_cluster: Cluster, new: Json, _old: Json) -> None:
    """Empty rules are stored as null, as Go writes a nil slice; ownership has been recorded by then."""
    new["rules"] = new.get("rules") or None


def _default_binding(document: Json) -> None:
    ref = document.get("roleRef") or {}
    document["roleRef"] = ref
    ref["apiGroup"] = ref.get("apiGroup") or _GROUP
    for subject in document.get("subjects") or []:
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _GROUP


def _binding(allowed: tuple[str, ...], *, namespaced: bool) -> Any:
    def validate(document: Json) -> list[Cause]:
        ref = document.get("roleRef") or {}
        kind = ref.get("kind", "")
        if kind not in ("Role", "ClusterRole"):
            raise status.internal(f"unsupported role reference kind: {status.quote(kind)}")
        found: list[Cause] = []
        if ref.get("apiGroup") != _GROUP:
            found.append(status.unsupported("roleRef.apiGroup", ref.get("apiGroup"), (_GROUP,)))
        if kind not in allowed:
            found.append(status.unsupported("roleRef.kind", kind, allowed))
        name = ref.get("name", "")
        if not name:
            found.append(status.missing("roleRef.name"))
        else:
            found += [status.wrong("roleRef.name", name, w) for w in names.path_segment(name)]
        for index, subject in enumerate(document.get("subjects") or []):
            found += _subject_causes(subject, f"subjects[{index}]", namespaced=namespaced)
        return found

    return validate


def _subject_causes(subject: Json, path: str, *, namespaced: bool) -> list[Cause]:
    found: list[Cause] = []
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if not name:
        found.append(status.missing(f"{path}.name"))
    if kind not in _KINDS:
        found.append(status.unsupported(f"{path}.kind", kind, _KINDS))
    elif kind == "ServiceAccount":
        if name:
            found += [status.wrong(f"{path}.name", name, w) for w in names.subdomain(name)]
        if not namespaced and not subject.get("namespace"):
            found.append(status.missing(f"{path}.namespace"))
    return found


def _same_reference(validate: Any) -> Any:
    def validate_update(new: Json, old: Json) -> list[Cause]:
        found: list[Cause] = validate(new)
        ref = new.get("roleRef") or {}
        if ref != old.get("roleRef"):
            parts = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
            shown = ", ".join(f"{said}:{status.quote(ref.get(field, ''))}" for said, field in parts)
            message = f"Invalid value: rbac.RoleRef{{{shown}}}: cannot change roleRef"
            found.append(Cause("roleRef", "FieldValueInvalid", message))
        return found

    return validate_update


def _no_old(validate: Any) -> Any:
    def validate_update(new: Json, _old: Json) -> list[Cause]:
        found: list[Cause] = validate(new)
        return found

    return validate_update


_ROLE_BINDING = _binding(("Role", "ClusterRole"), namespaced=True)
_CLUSTER_BINDING = _binding(("ClusterRole",), namespaced=False)

for _kind, _validate in (("roles", _role), ("clusterroles", _cluster_role)):
    register(
        f"{_kind}.{_GROUP}",
        Strategy(
            default=_default_role,
            create=_settle_create,
            update=_settle_update,
            validate=_validate,
            validate_update=_no_old(_validate),
        ),
    )
for _kind, _validate in (("rolebindings", _ROLE_BINDING), ("clusterrolebindings", _CLUSTER_BINDING)):
    register(
        f"{_kind}.{_GROUP}",
        Strategy(default=_default_binding, validate=_validate, validate_update=_same_reference(_validate)),
    )
