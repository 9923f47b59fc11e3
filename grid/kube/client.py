"""The Kube port over the `kubernetes` package: its kubeconfig, TLS, tokens and HTTP. Its only importer.

Documents go through as they are: the generated models would cost a second at the start and tens of megabytes.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator, Mapping
from types import ModuleType
from typing import Any

import aiohttp
import msgspec

from grid.kube.port import FIELD_MANAGER, Change, Document, Kind, KubeFault, Listed


def _asynchronous_half() -> tuple[Any, Any]:
    """`kubernetes.aio`'s client and config, without what its parent imports: the synchronous half beside it
    is a fifth of a second and 8 MB of every process here, and none of it is used."""
    found = importlib.util.find_spec("kubernetes")
    bare = ModuleType("kubernetes")
    bare.__path__ = list(found.submodule_search_locations or ()) if found else []
    held = sys.modules.get("kubernetes")
    sys.modules["kubernetes"] = held or bare
    try:
        from kubernetes.aio import client as made
        from kubernetes.aio import config as read
    finally:
        if held is None:
            del sys.modules["kubernetes"]
    return made, read


client, config = _asynchronous_half()
# It holds a key that comes in every object once, where the standard library makes it anew.
_document = msgspec.json.Decoder(dict[str, Any]).decode
DEADLINE_S = 10.0
# The server ends a watch before that; a stream that says nothing for longer is taken for lost.
WATCH_S = 60
QUIET_S = 10.0
# A list of 5,000 providers is about 10 MiB; one object ends at 1.5 MiB (etcd's request limit).
_MAX_LINE = 4 * 1024 * 1024
_PAGE = 500
_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"


class Client:
    """A connection to one cluster; close it when done."""

    def __init__(self, api: Any) -> None:
        self._api = api

    async def close(self) -> None:
        await self._api.close()

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Document:
        return await self._call("GET", kind.path(namespace, name))

    async def list(
        self, kind: Kind, namespace: str = "", selector: Mapping[str, str] | None = None
    ) -> Listed:
        items: list[Document] = []
        token = ""
        while True:
            query = {**_selected(selector), "limit": str(_PAGE), **({"continue": token} if token else {})}
            page = await self._call("GET", kind.path(namespace), query)
            items += page.get("items") or ()
            metadata = page.get("metadata", {})
            token = metadata.get("continue") or ""
            if not token:
                return Listed(tuple(items), str(metadata.get("resourceVersion", "")))

    async def watch(
        self,
        kind: Kind,
        resource_version: str,
        namespace: str = "",
        selector: Mapping[str, str] | None = None,
        name: str = "",
    ) -> AsyncIterator[Change]:
        query = {
            **_selected(selector),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(WATCH_S),
            **({"fieldSelector": f"metadata.name={name}"} if name else {}),
        }
        limits = aiohttp.ClientTimeout(total=None, sock_connect=DEADLINE_S, sock_read=WATCH_S + QUIET_S)
        response = await self._open("GET", kind.path(namespace), query, limits=limits)
        try:
            async for line in _lines(response):
                yield _change(line)
        finally:
            response.close()

    async def apply(self, kind: Kind, document: Document, subresource: str = "") -> Document:
        metadata = document["metadata"]
        whole = {"apiVersion": kind.api_version, "kind": kind.name, **document}
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        path = kind.path(metadata.get("namespace", ""), metadata["name"], subresource)
        return await self._call("PATCH", path, query, whole, _APPLY)

    async def create(self, kind: Kind, document: Document) -> Document:
        whole = {"apiVersion": kind.api_version, "kind": kind.name, **document}
        path = kind.path(document["metadata"].get("namespace", ""))
        return await self._call("POST", path, {"fieldManager": FIELD_MANAGER}, whole)

    async def replace(self, kind: Kind, document: Document) -> Document:
        metadata = document["metadata"]
        whole = {"apiVersion": kind.api_version, "kind": kind.name, **document}
        path = kind.path(metadata.get("namespace", ""), metadata["name"])
        return await self._call("PUT", path, {"fieldManager": FIELD_MANAGER}, whole)

    async def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        try:
            await self._call("DELETE", kind.path(namespace, name))
        except KubeFault as fault:
            if not fault.is_missing:
                raise

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Document | None = None,
        content_type: str = _JSON,
    ) -> Document:
        limits = aiohttp.ClientTimeout(total=DEADLINE_S)
        response = await self._open(method, path, query or {}, body, content_type, limits=limits)
        try:
            found: Document = _document(await response.read())
        except (aiohttp.ClientError, TimeoutError, msgspec.MsgspecError) as fault:
            raise KubeFault(0, type(fault).__name__) from None
        finally:
            response.release()
        return found

    async def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Document | None = None,
        content_type: str = _JSON,
        *,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        """An answer whose head says success; its body is still to be read."""
        headers = {"Accept": _JSON, "Content-Type": content_type}
        made = await self._api.param_serialize(
            method,
            path,
            query_params=list(query.items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            answer = await self._api.rest_client.request(*made[:3], body=made[3], _request_timeout=limits)
        except client.ApiException as fault:
            raise KubeFault(int(fault.status or 0), str(fault.reason)) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as fault:
            raise KubeFault(0, type(fault).__name__) from None
        response: aiohttp.ClientResponse = answer.response
        if response.status >= 400:
            raise await _refused(response)
        return response


async def connect(context: str = "", kubeconfig: str = "") -> Client:
    """A client by kubeconfig and context, or, without either, by the Pod's own service account.

    Raises KubeFault when there is no such configuration.
    """
    settings = client.Configuration()
    settings.retries = None  # whoever calls knows how to wait
    try:
        if context or kubeconfig:
            await config.load_kube_config(kubeconfig or None, context or None, client_configuration=settings)
        else:
            config.load_incluster_config(settings)
    except (config.ConfigException, OSError) as fault:
        raise KubeFault(0, str(fault)) from None
    return Client(client.ApiClient(configuration=settings))


async def _refused(response: aiohttp.ClientResponse) -> KubeFault:
    """The reason in the API's Status object, or what HTTP says."""
    try:
        body = _document(await response.read())
        reason = str(body.get("reason") or response.reason)
    except (aiohttp.ClientError, TimeoutError, msgspec.MsgspecError):
        reason = str(response.reason)
    finally:
        response.release()
    wait = response.headers.get("Retry-After", "")
    return KubeFault(response.status, reason, float(wait) if wait.isdigit() else None)


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The stream line by line; a line may be longer than the reader's buffer."""
    held = bytearray()
    try:
        async for chunk in response.content.iter_any():
            held += chunk
            *whole, rest = held.split(b"\n")
            held = bytearray(rest)
            for line in whole:
                if line.strip():
                    yield bytes(line)
            if len(held) > _MAX_LINE:
                raise KubeFault(0, "an event beyond any bound")
    except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as fault:
        raise KubeFault(0, type(fault).__name__) from None


def _change(line: bytes) -> Change:
    try:
        event = _document(line)
        verb, document = str(event["type"]), event["object"]
    except (msgspec.MsgspecError, KeyError):
        raise KubeFault(0, "an event that is none") from None
    if not isinstance(document, dict):
        raise KubeFault(0, "an event that is none")
    if verb == "ERROR":
        raise KubeFault(int(document.get("code") or 0), str(document.get("reason") or "Error"))
    return Change(verb, document)


def _selected(selector: Mapping[str, str] | None) -> dict[str, str]:
    if not selector:
        return {}
    return {"labelSelector": ",".join(f"{label}={value}" for label, value in sorted(selector.items()))}
