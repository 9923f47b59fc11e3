"""What an API server serves: two requests where it can say it at once, one a group where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from forge.host.kube.names import ApiResource, Index
from forge.host.kube.transport import JSON, Reply, Request

_AT_ONCE = ",".join(
    [f"{JSON};g=apidiscovery.k8s.io;v={v};as=APIGroupDiscoveryList" for v in ("v2", "v2beta1")] + [JSON]
)


def discover(ask: Callable[[Request], Reply]) -> Index:
    """Everything served now. *ask* raises for what is no answer. A group whose own server is down is
    left out, as kubectl does."""
    found: list[ApiResource] = []
    for path in ("/api", "/apis"):
        document = ask(Request("GET", path, accept=_AT_ONCE)).json()
        if document.get("kind") == "APIGroupDiscoveryList":
            found += at_once(document)
        else:
            for group_version, path_ in _old_paths(path, document):
                reply = ask(Request("GET", path_))
                found += old(group_version, reply.json()) if reply.is_ok else []
    return Index(found)


def at_once(document: dict[str, Any]) -> Iterator[ApiResource]:
    """The resources of an aggregated answer, preferred versions first."""
    for group in document.get("items") or ():
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or ():
            for one in version.get("resources") or ():
                kind = one.get("responseKind") or {}
                yield ApiResource(
                    group=name,
                    version=version.get("version", ""),
                    kind=kind.get("kind", ""),
                    plural=one.get("resource", ""),
                    singular=one.get("singularResource", ""),
                    short_names=tuple(one.get("shortNames") or ()),
                    namespaced=one.get("scope") == "Namespaced",
                    listed="list" in (one.get("verbs") or ()),
                )


def _old_paths(path: str, document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(group/version, its path) of an answer from before aggregated discovery (Kubernetes 1.26)."""
    for version in document.get("versions") or ():
        yield version, f"{path}/{version}"
    for group in document.get("groups") or ():
        preferred = (group.get("preferredVersion") or {}).get("groupVersion")
        versions = [v["groupVersion"] for v in group.get("versions") or ()]
        for version in sorted(versions, key=lambda v: v != preferred):
            yield version, f"{path}/{version}"


def old(group_version: str, document: dict[str, Any]) -> Iterator[ApiResource]:
    """The resources of one group and version."""
    group, _, version = group_version.rpartition("/")
    for one in document.get("resources") or ():
        if "/" not in one.get("name", "/"):
            yield ApiResource(
                group=group,
                version=version,
                kind=one.get("kind", ""),
                plural=one["name"],
                singular=one.get("singularName", ""),
                short_names=tuple(one.get("shortNames") or ()),
                namespaced=bool(one.get("namespaced")),
                listed="list" in (one.get("verbs") or ()),
            )
