"""Paths that are about no object: version, health, discovery, OpenAPI, the token issuer's keys."""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache

from forge.embedded.api import discovery, exchange, health, negotiate, openapis, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.exchange import Ask, Reply
from forge.embedded.api.reviews import Judges
from forge.embedded.api.tokens import ALGORITHM, ISSUER
from forge.embedded.api.values import Json, encode

# The API level that is kept; `+forge` says that this is not Kubernetes.
GIT_VERSION = "v1.32.13+forge"
Handler = Callable[[Cluster, Judges, Ask, list[str]], Reply | None]


@cache
def version() -> Json:
    """GET /version."""
    major, minor, *_ = GIT_VERSION.removeprefix("v").split(".")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": minor,
        "gitVersion": GIT_VERSION,
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "2025-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{machine}",
    }


def answer(cluster: Cluster, judges: Judges, ask: Ask) -> Reply:
    """Raises 404 as the page that it is."""
    path = ask.target.path
    parts = path.strip("/").split("/")
    handler = _HANDLERS.get(parts[0])
    found = handler(cluster, judges, ask, parts[1:]) if handler and "//" not in path else None
    if found is None:
        raise status.no_such_page()
    return found


def _root(cluster: Cluster, _judges: Judges, ask: Ask, _rest: list[str]) -> Reply | None:
    return exchange.reply(discovery.root_paths(cluster.registry), ask.accept)


def _version(_cluster: Cluster, _judges: Judges, _ask: Ask, rest: list[str]) -> Reply | None:
    return Reply(encode(version())) if not rest else None


def _health(endpoint: str) -> Handler:
    def handler(_cluster: Cluster, _judges: Judges, ask: Ask, rest: list[str]) -> Reply | None:
        found = health.answer(endpoint, "/".join(rest), ask.query)
        return exchange.text(found) if found is not None else None

    return handler


def _api(cluster: Cluster, _judges: Judges, ask: Ask, rest: list[str]) -> Reply | None:
    if not rest:
        return _aggregated(cluster, ask, core=True) or exchange.reply(
            discovery.api_versions(cluster.address), _plain_accept(ask.accept)
        )
    if rest == ["v1"]:
        return _listed(discovery.resource_list(cluster.registry, "", "v1"), ask)
    raise status.no_such_resource()


def _apis(cluster: Cluster, _judges: Judges, ask: Ask, rest: list[str]) -> Reply | None:
    registry = cluster.registry
    if not rest:
        found = _aggregated(cluster, ask, core=False)
        return found or exchange.reply(discovery.group_list(registry), _plain_accept(ask.accept))
    if len(rest) == 1:
        return _listed(discovery.group(registry, rest[0]), ask)
    listed = _listed(discovery.resource_list(registry, rest[0], rest[1]), ask)
    if listed is None and any(registry.is_builtin_version(rest[0], v) for v in registry.versions(rest[0])):
        raise status.no_such_resource()
    return listed


def _listed(found: Json | None, ask: Ask) -> Reply | None:
    return exchange.reply(found, _plain_accept(ask.accept)) if found is not None else None


def _plain_accept(accept: str) -> str:
    """Discovery ignores parameters it does not know where a plain alternative is offered too."""
    return accept


def _aggregated(cluster: Cluster, ask: Ask, *, core: bool) -> Reply | None:
    """The aggregated document, if that is the first thing *ask* accepts."""
    for clause in negotiate.clauses(ask.accept) if ask.accept else []:
        if clause.media not in (negotiate.JSON, "*/*", "application/*"):
            continue
        kind, version_ = clause.parameters.get("as"), clause.parameters.get("v", "")
        if kind is None:
            return None
        if kind == "APIGroupDiscoveryList" and version_ in discovery.AGGREGATED_VERSIONS:
            found = discovery.aggregated(cluster.registry, version_, core=core)
            return Reply(encode(found), media=discovery.aggregated_type(version_))
    return None


def _well_known(cluster: Cluster, _judges: Judges, _ask: Ask, rest: list[str]) -> Reply | None:
    if rest != ["openid-configuration"]:
        return None
    return Reply(
        encode(
            {
                "issuer": ISSUER,
                "jwks_uri": f"https://{cluster.address}/openid/v1/jwks",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": [ALGORITHM],
            }
        )
    )


def _openid(_cluster: Cluster, judges: Judges, ask: Ask, rest: list[str]) -> Reply | None:
    if rest != ["v1", "jwks"]:
        return None
    media = "application/jwk-set+json"
    taken = {c.media for c in negotiate.clauses(ask.accept)} if ask.accept else {"*/*"}
    if not taken & {media, "*/*", "application/*"}:
        message = f"406: Not Acceptable\n\nAvailable representations: {media}"
        raise status.ApiError(406, "NotAcceptable", message, {})
    return Reply(encode(judges.signer.key_set()), media=media)


def _openapi(cluster: Cluster, _judges: Judges, ask: Ask, rest: list[str]) -> Reply | None:
    return openapis.answer(cluster, ask, rest)


def _metrics(cluster: Cluster, _judges: Judges, _ask: Ask, rest: list[str]) -> Reply | None:
    if rest:
        return None
    lines = [
        "# HELP apiserver_storage_version The store's current resourceVersion.",
        "# TYPE apiserver_storage_version gauge",
        f"apiserver_storage_version {cluster.store.version}",
        "# HELP apiserver_registered_watchers Open watches.",
        "# TYPE apiserver_registered_watchers gauge",
        f"apiserver_registered_watchers {cluster.hub.count()}",
        "",
    ]
    return Reply("\n".join(lines).encode(), media="text/plain; version=0.0.4; charset=utf-8; escaping=values")


_HANDLERS: dict[str, Handler] = {
    "": _root,
    "version": _version,
    "healthz": _health("healthz"),
    "livez": _health("livez"),
    "readyz": _health("readyz"),
    "api": _api,
    "apis": _apis,
    "openapi": _openapi,
    "metrics": _metrics,
    ".well-known": _well_known,
    "openid": _openid,
}
