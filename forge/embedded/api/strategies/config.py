"""ConfigMaps, Secrets, Namespaces, ServiceAccounts: small kinds with a few rules each."""

from __future__ import annotations

import base64

from forge.embedded.api import gojson, names, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategy import Strategy, register
from forge.embedded.api.values import Json

_SIZE_LIMIT = 1024 * 1024
_IMMUTABLE_SAID = "field is immutable when `immutable` is set"
_NAME_LABEL = "kubernetes.io/metadata.name"
# Secret type -> the keys its data must have.
_REQUIRED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _key_causes(part: str, members: Json) -> list[Cause]:
    return [status.wrong(f"{part}[{key}]", key, w) for key in members for w in names.config_key(key)]


def _config_map(document: Json) -> list[Cause]:
    data, binary = document.get("data") or {}, document.get("binaryData") or {}
    causes = [
        status.wrong(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in data
        if key in binary
    ]
    causes = _key_causes("data", data) + causes + _key_causes("binaryData", binary)
    size = sum(len(v.encode()) for v in data.values()) + sum(_decoded_size(v) for v in binary.values())
    return causes + ([status.too_long("[]", _SIZE_LIMIT)] if size > _SIZE_LIMIT else [])


def _decoded_size(value: str | None) -> int:
    return len(value or "") * 3 // 4


def _immutable(parts: tuple[str, ...], new: Json, old: Json) -> list[Cause]:
    """An object marked immutable keeps its content and its mark."""
    if not old.get("immutable"):
        return []
    causes = [] if new.get("immutable") else [status.denied("immutable", _IMMUTABLE_SAID)]
    return causes + [
        status.denied(p, _IMMUTABLE_SAID) for p in parts if (new.get(p) or {}) != (old.get(p) or {})
    ]


def _config_map_update(new: Json, old: Json) -> list[Cause]:
    return _immutable(("data", "binaryData"), new, old) + _config_map(new)


def _secret_default(document: Json) -> None:
    given = document.pop("stringData", None)
    if given:
        data = document.get("data") or {}
        data |= {key: base64.b64encode(value.encode()).decode() for key, value in given.items()}
        document["data"] = data
    document["type"] = document.get("type") or "Opaque"


def _secret(document: Json) -> list[Cause]:
    data, kind = document.get("data") or {}, document.get("type", "")
    causes = _key_causes("data", data)
    causes += [status.missing(f"data[{key}]") for key in _REQUIRED_KEYS.get(kind, ()) if key not in data]
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        causes += [status.missing("data[username]"), status.missing("data[password]")]
    if kind == "kubernetes.io/service-account-token":
        annotation = "kubernetes.io/service-account.name"
        if not (document["metadata"].get("annotations") or {}).get(annotation):
            causes.append(status.missing(f"metadata.annotations[{annotation}]"))
    causes += _docker_causes(data, kind)
    size = sum(_decoded_size(value) for value in data.values())
    return causes + ([status.too_long("data", _SIZE_LIMIT)] if size > _SIZE_LIMIT else [])


def _docker_causes(data: Json, kind: str) -> list[Cause]:
    key = {
        "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
        "kubernetes.io/dockercfg": ".dockercfg",
    }.get(kind)
    if key is None or key not in data:
        return []
    try:
        gojson.parse(base64.b64decode(data[key]).decode("utf-8", "replace"))
    except gojson.GoError as error:
        return [status.wrong(f"data[{key}]", "<secret contents redacted>", str(error))]
    return []


def _secret_update(new: Json, old: Json) -> list[Cause]:
    causes = []
    if new.get("type") != old.get("type"):
        causes.append(status.wrong("type", new.get("type"), "field is immutable"))
    return causes + _immutable(("data",), new, old) + _secret(new)


def _namespace_default(document: Json) -> None:
    name = document["metadata"].get("name")
    if name:
        labels = document["metadata"].get("labels") or {}
        labels[_NAME_LABEL] = name
        document["metadata"]["labels"] = labels


def _namespace_create(_cluster: Cluster, document: Json) -> None:
    _namespace_default(document)
    document["spec"] = {"finalizers": ["kubernetes"]}
    document["status"] = {"phase": "Active"}


def _namespace_update(_cluster: Cluster, new: Json, old: Json) -> None:
    new["spec"] = old.get("spec") or {}


register("configmaps", Strategy(validate=_config_map, validate_update=_config_map_update))
register("secrets", Strategy(default=_secret_default, validate=_secret, validate_update=_secret_update))
register("serviceaccounts", Strategy(object_answer=True))
register(
    "namespaces",
    Strategy(
        default=_namespace_default,
        create=_namespace_create,
        update=_namespace_update,
        has_status=True,
        object_answer=True,
    ),
)
