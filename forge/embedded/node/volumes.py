"""What stands in a pod's volumes: files of ConfigMaps, Secrets, the downward API and tokens. Pure.

Volumes that only are a place (emptyDir, hostPath) have no content of the node's; see `is_place`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field

from forge.embedded.api.values import Json
from forge.embedded.node import fields
from forge.embedded.node.environment import Lookup

_MODE = 0o644
Token = Callable[[str, int], str]
"""(audience, lifetime in seconds) to a token of the pod's ServiceAccount; empty when there is none."""


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Content:
    """files: by path below the volume. problem: why the volume cannot be mounted; empty when it can."""

    files: dict[str, File] = field(default_factory=dict)
    problem: str = ""


def is_place(volume: Json) -> bool:
    return "emptyDir" in volume or "hostPath" in volume


def supported(volume: Json) -> bool:
    return is_place(volume) or any(k in volume for k in ("configMap", "secret", "downwardAPI", "projected"))


def content(volume: Json, pod: Json, lookup: Lookup, token: Token, capacity: Json) -> Content:
    """The files of one volume at this moment."""
    for kind in ("configMap", "secret"):
        if kind in volume:
            source = volume[kind]
            name = source.get("secretName") or source.get("name") or ""
            return _keyed(kind, {**source, "name": name}, lookup, source.get("defaultMode") or _MODE)
    if "downwardAPI" in volume:
        source = volume["downwardAPI"]
        return _downward(source.get("items") or [], pod, source.get("defaultMode") or _MODE, capacity)
    if "projected" in volume:
        return _projected(volume["projected"], pod, lookup, token, capacity)
    return Content(problem=f"volume {volume['name']} is of a kind that this node does not have")


def _projected(volume: Json, pod: Json, lookup: Lookup, token: Token, capacity: Json) -> Content:
    files: dict[str, File] = {}
    mode = volume.get("defaultMode") or _MODE
    for source in volume.get("sources") or []:
        found = _source(source, pod, lookup, token, mode, capacity)
        if found.problem:
            return found
        files |= found.files
    return Content(files)


def _source(source: Json, pod: Json, lookup: Lookup, token: Token, mode: int, capacity: Json) -> Content:
    for kind in ("configMap", "secret"):
        if kind in source:
            return _keyed(kind, source[kind], lookup, mode)
    if "downwardAPI" in source:
        return _downward(source["downwardAPI"].get("items") or [], pod, mode, capacity)
    if "serviceAccountToken" in source:
        wanted = source["serviceAccountToken"]
        text = token(wanted.get("audience") or "", int(wanted.get("expirationSeconds") or 3600))
        if not text:
            account = pod["spec"].get("serviceAccountName") or "default"
            return Content(problem=f'serviceaccount "{account}" not found')
        return Content({wanted["path"]: File(text.encode(), mode)})
    return Content(problem="a projected source is of a kind that this node does not have")


def _keyed(kind: str, source: Json, lookup: Lookup, mode: int) -> Content:
    name, optional = source.get("name") or "", bool(source.get("optional"))
    found = lookup(kind, name)
    if found is None:
        return Content() if optional else Content(problem=f'{kind.lower()} "{name}" not found')
    held = _bytes(kind, found)
    items = source.get("items")
    if not items:
        return Content({key: File(value, mode) for key, value in held.items()})
    files = {}
    for item in items:
        if item["key"] not in held:
            if optional:
                continue
            return Content(problem=f"references non-existent {kind.lower()} key: {item['key']}")
        files[item["path"]] = File(held[item["key"]], item.get("mode") or mode)
    return Content(files)


def _bytes(kind: str, found: Json) -> dict[str, bytes]:
    if kind == "secret":
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}
    held = {key: text.encode() for key, text in (found.get("data") or {}).items()}
    return held | {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}


def _downward(items: list[Json], pod: Json, mode: int, capacity: Json) -> Content:
    files = {}
    for item in items:
        if "fieldRef" in item:
            text = fields.field(pod, item["fieldRef"]["fieldPath"])
        else:
            reference = item.get("resourceFieldRef") or {}
            text = fields.resource(pod, reference.get("containerName") or "", reference, capacity)
        if text is None:
            return Content(problem=f"unsupported fieldPath: {item['fieldRef']['fieldPath']}")
        files[item["path"]] = File(text.encode(), item.get("mode") or mode)
    return Content(files)
