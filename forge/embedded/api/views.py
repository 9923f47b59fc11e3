"""Stored objects as a resource serves them: another version of the same object, made once and kept.

Versions of a CRD differ by name only (conversion strategy None); what the serving version's schema
does not know is pruned and its defaults are filled in, as the real server does on every read.
Events are one set of objects under two groups.
"""

from __future__ import annotations

from forge.embedded.api import documents, events
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, Record, encode


def view(record: Record, resource: Resource) -> Record:
    """*record* in the form of *resource*; the record itself where that is the form it has."""
    if resource.custom is None and resource.storage_group is None:
        return record
    kept = record.views.get(resource.api_version) if record.views else None
    if kept is not None and kept[0] is resource:
        return kept[1]
    made = _make(record, resource)
    if record.views is None:
        record.views = {}
    record.views[resource.api_version] = (resource, made)
    return made


def _make(record: Record, resource: Resource) -> Record:
    document = record.copy()
    converted = convert(document, resource)
    if converted == record.object:
        return record
    return Record(record.key, record.version, encode(converted), converted)


def convert(document: Json, resource: Resource) -> Json:
    """*document*, the caller's own, in the form of *resource*."""
    if resource.storage_group is not None:
        return events.to_events_group(document)
    document["apiVersion"] = resource.api_version
    if resource.custom is not None:
        document, _ = documents.shaped(document, resource.custom.schema)
    return document


def stored_form(document: Json, resource: Resource) -> Json:
    """The form in which a write to *resource* is kept: the caller's own document, changed in place."""
    if resource.storage_group is not None:
        return events.to_core(document)
    if resource.custom is not None:
        group = resource.group
        document["apiVersion"] = f"{group}/{resource.custom.storage_version}"
    return document
