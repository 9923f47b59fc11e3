"""Reading: one object, and lists with selectors, pages and versions.

A page after the first is read at the version of the first, so that pages fit together whatever was
written in between; the token carries version and place.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass

from forge.embedded.api import documents, status, views
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.options import ListOptions
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, Key, Record

Matches = Callable[[Json], bool]


@dataclass(frozen=True, slots=True)
class Page:
    """version: the store's, at which the list holds. remaining: None where it is not told."""

    records: list[Record]
    version: int
    proceed: str = ""
    remaining: int | None = None


def get(cluster: Cluster, resource: Resource, key: Key) -> Record:
    """Raises 404."""
    found = cluster.store.get(key)
    if found is None:
        raise status.not_found(resource.group, resource.plural, key.name)
    return views.view(found, resource)


def matcher(resource: Resource, asked: ListOptions) -> Matches | None:
    """One predicate of both selectors; None when everything matches. Raises 400."""
    labels = documents.label_matcher(asked.labels) if asked.labels else None
    fields = documents.field_matcher(resource, asked.fields) if asked.fields else None
    if labels is None or fields is None:
        return labels or fields
    by_label, by_field = labels, fields
    return lambda document: by_label(document) and by_field(document)


def list_page(cluster: Cluster, resource: Resource, namespace: str, asked: ListOptions) -> Page:
    """The page that *asked* names. Raises 400 for bad selectors and tokens, 410 for what is trimmed."""
    matches = matcher(resource, asked)
    if asked.proceed:
        return _next_page(cluster, resource, namespace, asked, matches)
    version = cluster.store.version
    if asked.match == "Exact" or (asked.limit and asked.version > 0 and asked.match == ""):
        version = _retained(cluster, asked.version)
        records = cluster.store.at(resource.storage, version, namespace)
    else:
        records = cluster.store.records(resource.storage, namespace)
    limit = 0 if asked.version == 0 else asked.limit
    return _cut(resource, records, version, limit, matches)


def _retained(cluster: Cluster, version: int) -> int:
    if version > cluster.store.version:
        raise status.internal("etcdserver: mvcc: required revision is a future revision")
    if version < cluster.store.compacted:
        raise status.expired("The provided resource version is too old.")  # refined by callers
    return version


def _cut(
    resource: Resource, records: list[Record], version: int, limit: int, matches: Matches | None
) -> Page:
    seen: list[Record] = []
    for index, record in enumerate(records):
        viewed = views.view(record, resource)
        if matches is not None and not matches(viewed.object):
            continue
        seen.append(viewed)
        if len(seen) == limit and index + 1 < len(records):
            # With a selector nobody knows whether more of the rest matches: the next page tells.
            remaining = len(records) - limit if matches is None else None
            return Page(seen, version, token(version, record.key), remaining)
    return Page(seen, version)


def token(version: int, last: Key) -> str:
    """Names the place after *last* in the list at *version*."""
    text = json.dumps(
        {"v": "meta.k8s.io/v1", "rv": version, "start": f"{_place(last)}\0"}, separators=(",", ":")
    )
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place(key: Key) -> str:
    return key.place if key.namespace else key.name


def _next_page(
    cluster: Cluster, resource: Resource, namespace: str, asked: ListOptions, matches: Matches | None
) -> Page:
    version, start = _untoken(asked.proceed)
    if asked.version > 0:
        raise status.bad_request("specifying resource version is not allowed when using continue")
    store = cluster.store
    if version > 0 and version < store.compacted:
        raise status.expired(_TOO_OLD, _token_at(-1, start))
    if version < 0:
        version = store.version
    start = start.rstrip("\0")
    records = [r for r in store.at(resource.storage, version, namespace) if _place(r.key) > start]
    return _cut(resource, records, version, asked.limit, matches)


_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)


def _token_at(version: int, start: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _untoken(text: str) -> tuple[int, str]:
    """(version, start) of a continue token; version -1 asks for whatever is current. Raises 400."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise status.bad_request(
            "invalid continue token: continue key is not valid: illegal base64 data"
        ) from None
    try:
        found = json.loads(raw)
    except ValueError:
        letter = raw[:1].decode("latin-1")
        said = f"invalid character '{letter}' looking for beginning of value"
        raise status.bad_request(f"invalid continue token: continue key is not valid: {said}") from None
    if not isinstance(found, dict) or found.get("v") != "meta.k8s.io/v1":
        said = "server does not recognize this encoded version"
        raise status.bad_request(f'invalid continue token: continue key is not valid: {said} ""')
    version, start = found.get("rv"), found.get("start")
    if not isinstance(version, int) or version == 0 or not isinstance(start, str) or not start:
        raise status.bad_request("invalid continue token: continue key is not valid: incorrect encoded start")
    return version, start
