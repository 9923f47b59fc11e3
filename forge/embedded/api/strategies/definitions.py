"""CustomResourceDefinitions: defaults, and everything that keeps a definition from being accepted.

Schemas are judged by the schema functions; the rules here are those of the definition round them.
"""

from __future__ import annotations

import re
from typing import Any

from forge.embedded.api import documents, names, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategies import definition_rules as rules
from forge.embedded.api.strategy import Strategy, register
from forge.embedded.api.values import Json, dig

_APPROVAL = "api-approved.kubernetes.io"


def _default(document: Json) -> None:
    spec = document.get("spec") or {}
    document["spec"] = spec
    chosen = spec.get("names") or {}
    spec["names"] = chosen
    kind = chosen.get("kind") or ""
    if not chosen.get("singular") and kind:
        chosen["singular"] = kind.lower()
    if not chosen.get("listKind") and kind:
        chosen["listKind"] = f"{kind}List"
    if not spec.get("conversion"):
        spec["conversion"] = {"strategy": "None"}
    if spec.get("preserveUnknownFields") is False:
        spec.pop("preserveUnknownFields")


def _create(_cluster: Cluster, document: Json) -> None:
    document["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": _storage_versions(document)[:1],
    }


def _storage_versions(document: Json) -> list[str]:
    return [v.get("name", "") for v in dig(document, "spec", "versions") or [] if v.get("storage")]


def _update(_cluster: Cluster, new: Json, _old: Json) -> None:
    """A version that becomes the stored one is remembered as such."""
    stored = list(dig(new, "status", "storedVersions") or [])
    for name in _storage_versions(new):
        if name not in stored:
            stored.append(name)
    new.setdefault("status", {})["storedVersions"] = stored


def _validate(document: Json) -> list[Cause]:
    found = _name_causes(document)
    found += spec_causes(document)
    found += _stored_causes(document)
    return found + _approval_causes(document)


def _name_causes(document: Json) -> list[Cause]:
    spec = document.get("spec") or {}
    wanted = f"{dig(spec, 'names', 'plural') or ''}.{spec.get('group') or ''}"
    name = document["metadata"].get("name", "")
    if name == wanted:
        return []
    return [status.wrong("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def spec_causes(document: Json) -> list[Cause]:
    """What is wrong with the spec, in the real server's order."""
    spec = document.get("spec") or {}
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    found: list[Cause] = []
    if not group:
        found.append(status.missing("spec.group"))
    else:
        found += [status.wrong("spec.group", group, w) for w in names.subdomain(group)]
        if "." not in group:
            found.append(status.wrong("spec.group", group, "should be a domain with at least one dot"))
    if not scope:
        found.append(status.missing("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        found.append(status.unsupported("spec.scope", scope, ("Cluster", "Namespaced")))
    if spec.get("preserveUnknownFields"):
        why = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        found.append(status.wrong("spec.preserveUnknownFields", spec["preserveUnknownFields"], why))
    found += _version_causes(spec.get("versions") or [])
    found += rules.name_causes(spec.get("names") or {}, "spec.names")
    return found + rules.conversion_causes(spec.get("conversion") or {})


def _version_causes(versions: list[Json]) -> list[Cause]:
    found: list[Cause] = []
    single = len(versions) == 1
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        name = version.get("name", "")
        schema = dig(version, "schema", "openAPIV3Schema")
        if schema is None:
            found.append(status.missing(f"{path}.schema.openAPIV3Schema", "schemas are required"))
        found += [status.wrong(f"{path}.name", name, w) for w in names.service(name)]
        place = "spec" if single else path
        if schema is not None:
            part = "validation" if single else "schema"
            found += documents.schema_causes(schema, f"{place}.{part}.openAPIV3Schema")
        found += rules.subresource_causes(version.get("subresources") or {}, f"{place}.subresources")
        found += rules.column_causes(version.get("additionalPrinterColumns") or [], place)
        found += rules.selectable_causes(
            version.get("selectableFields") or [], schema or {}, f"{place}.selectableFields"
        )
    return found + _storage_causes(versions)


def _storage_causes(versions: list[Json]) -> list[Cause]:
    found: list[Cause] = []
    seen = [v.get("name") for v in versions]
    if len(set(seen)) != len(seen):
        found.append(_versions_wrong(versions, "must contain unique version names"))
    if sum(1 for v in versions if v.get("storage")) != 1:
        found.append(_versions_wrong(versions, "must have exactly one version marked as storage version"))
    if len(versions) == 1:
        name = versions[0].get("name", "")
        found += [status.wrong("spec.version", name, w) for w in names.service(name)]
    return found


def _versions_wrong(versions: list[Json], why: str) -> Cause:
    shown = ", ".join(rules.go_version(v) for v in rules.hoisted(versions))
    value = f"[]apiextensions.CustomResourceDefinitionVersion{{{shown}}}"
    return Cause("spec.versions", "FieldValueInvalid", f"Invalid value: {value}: {why}")


def _stored_causes(document: Json) -> list[Cause]:
    stored = dig(document, "status", "storedVersions") or []
    known = [v.get("name") for v in dig(document, "spec", "versions") or []]
    if not stored:
        message = "Invalid value: []string(nil): must have at least one stored version"
        return [Cause("status.storedVersions", "FieldValueInvalid", message)]
    found = [
        status.wrong(f"status.storedVersions[{index}]", name, "must appear in spec.versions")
        for index, name in enumerate(stored)
        if name not in known
    ]
    for name in _storage_versions(document):
        if name not in stored:
            why = f"must have the storage version {name}"
            found.append(status.wrong("status.storedVersions", stored, why))
    return found


def _approval_causes(document: Json) -> list[Cause]:
    group = dig(document, "spec", "group") or ""
    if not re.search(r"(^|\.)(k8s|kubernetes)\.io$", group):
        return []
    if (document["metadata"].get("annotations") or {}).get(_APPROVAL):
        return []
    why = (
        f'protected groups must have approval annotation "{_APPROVAL}", '
        "see https://github.com/kubernetes/enhancements/pull/1111"
    )
    return [status.missing(f"metadata.annotations[{_APPROVAL}]", why)]


def _validate_update(new: Json, old: Json) -> list[Cause]:
    found = _validate(new)
    if any(
        c["type"] == "Established" and c["status"] == "True" for c in dig(old, "status", "conditions") or []
    ):
        for path in (("group",), ("scope",), ("names", "kind"), ("names", "plural")):
            after, before = dig(new, "spec", *path), dig(old, "spec", *path)
            if after != before:
                found.append(status.wrong(f"spec.{'.'.join(path)}", _text(after), "field is immutable"))
                if path in (("group",), ("names", "plural")):
                    found = [c for c in found if c.field != "metadata.name"]
    return found


def _text(value: Any) -> str:
    return str(value or "")


register(
    "customresourcedefinitions.apiextensions.k8s.io",
    Strategy(
        default=_default,
        create=_create,
        update=_update,
        validate=_validate,
        validate_update=_validate_update,
        generation=True,
        has_status=True,
        object_answer=True,
    ),
)
