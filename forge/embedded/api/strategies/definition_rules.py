"""The parts of a CustomResourceDefinition, each judged by itself: names, columns, subresources."""

from __future__ import annotations

from typing import Any

from forge.embedded.api import jsonpath, names, status
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def name_causes(chosen: Json, path: str) -> list[Cause]:
    """What is wrong with the names of a definition."""
    found: list[Cause] = []
    plural, kind = chosen.get("plural") or "", chosen.get("kind") or ""
    found += [status.wrong(f"{path}.plural", plural, w) for w in names.service(plural)]
    singular = chosen.get("singular") or ""
    if singular:
        found += [status.wrong(f"{path}.singular", singular, w) for w in names.service(singular)]
    if not kind:
        found.append(status.missing(f"{path}.kind"))
    else:
        found += [
            status.wrong(f"{path}.kind", kind, f"may have mixed case, but should otherwise match: {w}")
            for w in names.service(kind.lower())
        ]
    list_kind = chosen.get("listKind") or ""
    if list_kind:
        found += [
            status.wrong(
                f"{path}.listKind", list_kind, f"may have mixed case, but should otherwise match: {w}"
            )
            for w in names.service(list_kind.lower())
        ]
        if list_kind == kind:
            found.append(status.wrong(f"{path}.listKind", list_kind, "kind and listKind may not be the same"))
    for index, short in enumerate(chosen.get("shortNames") or []):
        found += [status.wrong(f"{path}.shortNames[{index}]", short, w) for w in names.service(short)]
    for index, category in enumerate(chosen.get("categories") or []):
        found += [status.wrong(f"{path}.categories[{index}]", category, w) for w in names.service(category)]
    return found


def conversion_causes(conversion: Json) -> list[Cause]:
    """Only None is carried out; Webhook is judged as the real server does, then refused."""
    strategy = conversion.get("strategy")
    if strategy == "None":
        return []
    if strategy != "Webhook":
        return [status.unsupported("spec.conversion.strategy", strategy, ("None", "Webhook"))]
    webhook = conversion.get("webhook") or {}
    found = []
    if not webhook.get("clientConfig"):
        found.append(
            status.missing("spec.conversion.webhookClientConfig", "required when strategy is set to Webhook")
        )
    if not webhook.get("conversionReviewVersions"):
        found.append(status.missing("spec.conversion.conversionReviewVersions"))
    return found or [status.denied("spec.conversion.strategy", "this server has no conversion webhooks")]


def subresource_causes(subresources: Json, path: str) -> list[Cause]:
    scale = subresources.get("scale")
    if not scale:
        return []
    found: list[Cause] = []
    for field, part in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        value = scale.get(field) or ""
        if not value:
            found.append(status.missing(f"{path}.scale.{field}"))
        elif jsonpath.parse(value) is None or "[" in value:
            found.append(
                status.wrong(f"{path}.scale.{field}", value, "must be a simple json path starting with .")
            )
        elif not value.startswith(f"{part}."):
            found.append(status.wrong(f"{path}.scale.{field}", value, f"should be a json path under {part}"))
    selector = scale.get("labelSelectorPath") or ""
    if selector and not selector.startswith((".spec.", ".status.")):
        why = "should be a json path under either .spec or .status"
        found.append(status.wrong(f"{path}.scale.labelSelectorPath", selector, why))
    return found


def column_causes(columns: list[Json], path: str) -> list[Cause]:
    found: list[Cause] = []
    for index, column in enumerate(columns):
        place = f"{path}.additionalPrinterColumns[{index}]"
        if not column.get("name"):
            found.append(status.missing(f"{place}.name"))
        kind, form, where = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
        if not kind:
            found.append(status.missing(f"{place}.type", f"must be one of {','.join(_COLUMN_TYPES)}"))
        elif kind not in _COLUMN_TYPES:
            found.append(status.wrong(f"{place}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}"))
        if form and form not in _COLUMN_FORMATS:
            found.append(status.wrong(f"{place}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
        if not where:
            found.append(status.missing(f"{place}.JSONPath"))
        elif not where.startswith("."):
            found.append(
                status.wrong(f"{place}.JSONPath", where, "must be a simple json path starting with .")
            )
    return found


def selectable_causes(fields: list[Json], schema: Json, path: str) -> list[Cause]:
    """Selectable fields must be plain values that the schema knows."""
    found: list[Cause] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, place = field.get("jsonPath") or "", f"{path}[{index}].jsonPath"
        if not where:
            found.append(status.missing(place))
            continue
        kind = _type_at(schema, where)
        if kind is None:
            found.append(status.wrong(place, where, "is an invalid path: does not refer to a valid field"))
        elif kind not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            found.append(status.wrong(place, where, why))
        elif where in seen:
            found.append(status.doubled(place, where))
        seen.add(where)
    return found


def _type_at(schema: Json, path: str) -> str | None:
    level: Any = schema
    for step in jsonpath.parse(path) or ():
        level = (level.get("properties") or {}).get(step.name) if isinstance(level, dict) else None
        if level is None:
            return None
    return str(level.get("type") or "")


def hoisted(versions: list[Json]) -> list[Json]:
    """Versions without what all of them share, which the real server keeps once for the definition."""
    shared = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
    same = [part for part in shared if all(v.get(part) == versions[0].get(part) for v in versions)]
    return [{k: value for k, value in v.items() if k not in same} for v in versions]


def go_version(version: Json) -> str:
    """One version as Go prints the struct in messages."""

    def flag(name: str) -> str:
        return "true" if version.get(name) else "false"

    def pointer(name: str, kind: str) -> str:
        return f"(*{kind})(nil)" if version.get(name) is None else f"(*{kind})(0xc000000000)"

    package = "apiextensions"
    parts = [
        f"Name:{status.quote(version.get('name', ''))}",
        f"Served:{flag('served')}",
        f"Storage:{flag('storage')}",
        f"Deprecated:{flag('deprecated')}",
        f"DeprecationWarning:{pointer('deprecationWarning', 'string')}",
        f"Schema:{pointer('schema', f'{package}.CustomResourceValidation')}",
        f"Subresources:{pointer('subresources', f'{package}.CustomResourceSubresources')}",
        f"AdditionalPrinterColumns:[]{package}.CustomResourceColumnDefinition(nil)",
        f"SelectableFields:[]{package}.SelectableField(nil)",
    ]
    return f"{package}.CustomResourceDefinitionVersion{{{', '.join(parts)}}}"
