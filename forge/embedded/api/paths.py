"""From a request's method and path to what it is about: the resource, or a plain path.

Pure and total: every path gives a Target. Whether the resource exists is the registry's to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


@dataclass(frozen=True, slots=True)
class Target:
    """verb: as authorisation names it. group "" is the core group; is_resource False: only path counts.

    rest: segments beyond the subresource. watching: the path itself asks for a watch (`/watch/`).
    """

    verb: str
    path: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    watching: bool = False
    rest: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def parse(method: str, raw_path: str) -> Target:
    """The target of *method* on *raw_path* (still percent-encoded, without the query)."""
    path = unquote(raw_path)
    plain = Target(method.lower(), path)
    segments = path.strip("/").split("/")
    if "//" in path or len(segments) < 3:
        return plain
    if segments[0] == "api":
        group, version, rest = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return plain
    return _resource(method, path, group, version, rest)


def _resource(method: str, path: str, group: str, version: str, rest: list[str]) -> Target:
    watching = rest[0] == "watch" and len(rest) > 1
    if watching:
        rest = rest[1:]
    namespace, rest = _namespaced(rest)
    resource, name, subresource, *more = [*rest, "", ""][: max(3, len(rest))]
    verb = _VERBS.get(method, "")
    if not name:
        verb = {"get": "list", "delete": "deletecollection"}.get(verb, verb)
    if watching:
        verb = "watch"
    return Target(
        verb=verb,
        path=path,
        is_resource=True,
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        name=name,
        subresource=subresource,
        watching=watching,
        rest=tuple(more),
    )


def _namespaced(rest: list[str]) -> tuple[str, list[str]]:
    """`namespaces/N/…` is a place, unless it is the Namespace itself that is meant."""
    if rest[0] != "namespaces" or len(rest) < 3 or rest[2] in ("status", "finalize"):
        namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 1 else ""
        return namespace, rest
    return rest[1], rest[2:]
