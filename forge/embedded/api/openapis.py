"""/openapi/v3: the index of documents, and each with the hash clients keep it by; /openapi/v2: all in one.

The index is served as text/plain, as the real server does. A document is made when it is first asked
for and kept until the registry changes.
"""

from __future__ import annotations

import hashlib

from forge.embedded.api import documents, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.exchange import TEXT, Ask, Reply
from forge.embedded.api.negotiate import JSON, clauses
from forge.embedded.api.openapi import gnostic
from forge.embedded.api.registry import Registry
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, encode


class _Kept:
    """Documents by path for one generation of a registry."""

    def __init__(self) -> None:
        self.generation = -1
        self.bodies: dict[str, bytes] = {}
        self.hashes: dict[str, str] = {}


_kept: dict[int, _Kept] = {}


def _of(cluster: Cluster) -> _Kept:
    kept = _kept.setdefault(id(cluster.registry), _Kept())
    if kept.generation != cluster.registry.generation:
        kept.generation = cluster.registry.generation
        kept.bodies.clear()
        kept.hashes.clear()
    return kept


def paths(registry: Registry) -> list[str]:
    """`api/v1` and `apis/GROUP/VERSION` of everything served."""
    found = ["api/v1"]
    for group in registry.groups():
        found += [f"apis/{group}/{version}" for version in registry.versions(group)]
    return found


def answer(cluster: Cluster, ask: Ask, rest: list[str]) -> Reply | None:
    """None for what there is no document of. Raises 406."""
    if rest == ["v2"]:
        return _swagger(cluster, ask)
    if not rest or rest[0] != "v3":
        return None
    if len(rest) == 1:
        return Reply(encode({"paths": _index(cluster)}), media=TEXT)
    path = "/".join(rest[1:])
    if path not in paths(cluster.registry):
        return Reply(b"", 404, "")
    asked, current = ask.query.get("hash"), _hash(cluster, path)
    if asked and asked != current:
        return Reply(b"", 301, headers={"Location": f"/openapi/v3/{path}?hash={current}"})
    headers = {"ETag": f'"{current}"', "Cache-Control": "public, immutable" if asked else "no-cache, private"}
    headers["Vary"] = "Accept-Encoding, Accept"
    if ask.headers.get("If-None-Match") == headers["ETag"]:
        return Reply(b"", 304, headers=headers)
    return Reply(_body(cluster, path), headers=headers)


def _index(cluster: Cluster) -> Json:
    return {
        path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_hash(cluster, path)}"}
        for path in sorted(paths(cluster.registry))
    }


def _swagger(cluster: Cluster, ask: Ask) -> Reply:
    kept, media = _of(cluster), _swagger_media(ask.accept)
    if media not in kept.bodies:
        made = documents.openapi_v2(_groups(cluster.registry))
        write = documents.swagger_json if media == JSON else documents.swagger_protobuf
        kept.bodies[media] = write(made)
        kept.hashes[media] = hashlib.sha512(kept.bodies[media]).hexdigest().upper()
    headers = {"ETag": f'"{kept.hashes[media]}"', "Vary": "Accept-Encoding, Accept"}
    if ask.headers.get("If-None-Match") == headers["ETag"]:
        return Reply(b"", 304, headers=headers)
    return Reply(kept.bodies[media], media=media, headers=headers)


def _swagger_media(accept: str) -> str:
    taken = [clause.media for clause in clauses(accept)] if accept else ["*/*"]
    for media in taken:
        if media in gnostic.ACCEPTED:
            return gnostic.MEDIA
        if media in (JSON, "application/*", "*/*"):
            return JSON
    raise status.not_acceptable((JSON, gnostic.MEDIA))


def _groups(registry: Registry) -> list[tuple[str, str, list[Resource]]]:
    found = map(_group_version, paths(registry))
    return [(group, version, registry.resources(group, version)) for group, version in found]


def _hash(cluster: Cluster, path: str) -> str:
    """Known without making the document: built-in ones never change, custom ones with their schemas."""
    kept = _of(cluster)
    if path not in kept.hashes:
        group, version = _group_version(path)
        custom = [r.custom.openapi for r in cluster.registry.resources(group, version) if r.custom]
        seed = encode([path, documents.DEFINITIONS, custom])
        kept.hashes[path] = hashlib.sha512(seed).hexdigest().upper()
    return kept.hashes[path]


def _group_version(path: str) -> tuple[str, str]:
    parts = path.split("/")
    return ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])


def _body(cluster: Cluster, path: str) -> bytes:
    kept = _of(cluster)
    if path not in kept.bodies:
        group, version = _group_version(path)
        found = documents.openapi(group, version, cluster.registry.resources(group, version))
        kept.bodies[path] = encode(found)
    return kept.bodies[path]
