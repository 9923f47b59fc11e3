"""The Kube port over one cluster's real API. Each longer verb has a file of its own beside this one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from forge.errors import OperationFailed
from forge.host.kube import access, faults
from forge.host.kube.apply import BUDGET_S, Applying, ref
from forge.host.kube.delete import Deleting
from forge.host.kube.exchange import MANAGER, METADATA, METADATA_LIST, SINGLY, Exchange
from forge.host.kube.labels import MANAGED
from forge.host.kube.names import ApiResource, split
from forge.host.kube.patience import Patience
from forge.host.kube.residents import residents
from forge.host.kube.together import together
from forge.host.kube.transport import Request, Transport
from forge.host.kube.watch import Watching
from forge.plan.lab_ports import Access, Intend, Object, ObjectRef
from forge.plan.ports import Cancel, Progress
from forge.plan.values import Owner

_GLANCE_S = 0.5
"""Seconds that finding out which cluster it is may be tried again: `status` waits for it."""


def open_kube(reach: Access, name: str = "") -> ApiKube:
    """The API of the cluster *name* (for errors). Connects when first asked. Raises FG0751; FG0741 or FG0753
    of the program that gives its credentials."""
    file = access.AccessFile(reach.kubeconfig, reach.context)
    return ApiKube(name or reach.context, Transport(file.credentials, file.renew))


class ApiKube:
    """See forge/plan/lab_ports.py. Threads may share it."""

    def __init__(self, name: str, transport: Transport) -> None:
        self._transport = transport
        self._exchange = Exchange(name, transport)

    def close(self) -> None:
        """Closes the connections that were kept. It may be used again."""
        self._transport.close()

    def identity(self) -> str:
        request = Request("GET", "/api/v1/namespaces/kube-system", timeout_s=5.0)
        found = self._exchange.json(request, "read it", Patience(_GLANCE_S))
        if found is None:
            raise faults.refused("read", "Namespace kube-system", "it is not there")
        return str(found["metadata"]["uid"])

    def apply(
        self,
        objects: Sequence[Object],
        *,
        owner: Owner,
        places: Sequence[str] = (),
        intend: Intend = lambda _: None,
        progress: Progress,
        cancel: Cancel,
    ) -> tuple[ObjectRef, ...]:
        return Applying(self._exchange, objects, owner, places, progress, cancel).run(intend)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        resource = self._exchange.kind(api_version, kind)
        if resource is None:
            return None
        where = resource.path(namespace or "default", name)
        return self._exchange.json(Request("GET", where), f"read {faults.named(kind, namespace, name)}")

    def find(self, resource: str, namespace: str | None, *, selector: str = "") -> tuple[Object, ...]:
        word, name = split(resource)
        known = self._exchange.named(word)
        if known is None:
            return ()
        where = (namespace or "default") if known.namespaced else ""
        if name:
            found = self._exchange.json(Request("GET", known.path(where, name)), f"read {resource}")
            return () if found is None else (_whole(found, known),)
        query = {"labelSelector": selector} if selector else {}
        return tuple(
            _whole(one, known) for one in self._exchange.list(known.path(where), query, f"list {resource}")
        )

    def observe(self, refs: Collection[ObjectRef]) -> Mapping[ObjectRef, ObjectRef]:
        kinds: dict[tuple[str, str], list[ObjectRef]] = {}
        for one in refs:
            kinds.setdefault((one.api_version, one.kind), []).append(one)
        asked = [(kind, tuple(of)) for kind, of in kinds.items()]
        found = together(self._observe_kind, asked, 4)
        return {known: now for part in found for known, now in part.items()}

    def _observe_kind(
        self, asked: tuple[tuple[str, str], tuple[ObjectRef, ...]]
    ) -> dict[ObjectRef, ObjectRef]:
        (api_version, kind), refs = asked
        resource = self._exchange.kind(api_version, kind)
        if resource is None:
            return {}
        now: dict[tuple[str, str], ObjectRef] = {}
        if len(refs) > SINGLY:
            query = {"labelSelector": f"{MANAGED}=true"}
            for one in self._exchange.list(resource.path(), query, f"list {kind}", METADATA_LIST):
                at = ref(one, resource)
                now[at.namespace, at.name] = at
        for one in refs:
            if (one.namespace, one.name) not in now:
                request = Request("GET", resource.path(one.namespace, one.name), accept=METADATA)
                single = self._exchange.json(request, f"read {faults.title(one)}")
                if single is not None:
                    now[one.namespace, one.name] = ref(single, resource)
        return {one: now[one.namespace, one.name] for one in refs if (one.namespace, one.name) in now}

    def delete(
        self,
        refs: Collection[ObjectRef],
        *,
        owner: Owner | None = None,
        grace_s: int | None = None,
        cancel: Cancel,
    ) -> tuple[ObjectRef, ...]:
        return Deleting(self._exchange, owner, cancel, grace_s).run(refs)

    def watch(
        self, api_version: str, kind: str, namespace: str, name: str, *, cancel: Cancel, timeout_s: float
    ) -> Iterator[Object | None]:
        what = ObjectRef(api_version, kind, namespace, name)
        return Watching(self._exchange, what, cancel, timeout_s).run()

    def residents(self, namespace: str) -> tuple[ObjectRef, ...]:
        return residents(self._exchange, namespace)

    def events(self, namespace: str, kind: str, name: str) -> tuple[str, ...]:
        fields = f"involvedObject.kind={kind},involvedObject.name={name}"
        path = f"/api/v1/namespaces/{namespace or 'default'}/events"
        found = self._exchange.list(path, {"fieldSelector": fields}, f"list events of {name}")
        return tuple(map(_event, sorted(found, key=_at)))[-_EVENTS:]

    def pod_log(self, namespace: str, name: str, *, container: str = "", tail: int = 20) -> tuple[str, ...]:
        query = {"tailLines": str(tail), **({"container": container} if container else {})}
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
        what = f"read the log of Pod {namespace}/{name}"
        reply = self._exchange.ask(Request("GET", path, query, accept="*/*"), what)
        if not reply.is_ok:
            raise self._exchange.refused(reply, what)
        return tuple(reply.body.decode("utf-8", "replace").splitlines()[-tail:])

    def patch(
        self, api_version: str, kind: str, namespace: str, name: str, change: Object, *, sub: str = ""
    ) -> Object:
        what = f"patch {faults.named(kind, namespace, name)}"
        resource = self._exchange.kind(api_version, kind)
        if resource is None:
            raise faults.unknown_kind(api_version, kind)
        query = {"fieldManager": MANAGER}
        path = resource.path(namespace or "default", name, sub)
        request = Request("PATCH", path, query, change, type="application/merge-patch+json")
        reply = self._exchange.ask(request, what, Patience(BUDGET_S))
        if not reply.is_ok:
            raise self._exchange.refused(reply, what)
        return reply.json()

    def token(self, namespace: str, service_account: str, lifetime_s: float) -> str:
        what = f"get a token of ServiceAccount {namespace}/{service_account}"
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": max(_SHORTEST_TOKEN_S, int(lifetime_s))},
        }
        found = self._exchange.json(Request("POST", path, body=body), what, Patience(10.0))
        if found is None:
            raise _no_account(namespace, service_account)
        return str(found["status"]["token"])


_EVENTS = 10
_SHORTEST_TOKEN_S = 600
"""Kubernetes gives none for less than ten minutes."""


def _no_account(namespace: str, service_account: str) -> OperationFailed:
    return OperationFailed(
        "FG0749",
        f"there is no ServiceAccount {namespace}/{service_account}",
        why="a token can only be had of one that is there",
        hint="apply it in a step before this one",
    )


def _whole(thing: Object, resource: ApiResource) -> Object:
    """Items of a list say neither what they are nor of which version."""
    return {**thing, "apiVersion": resource.api_version, "kind": resource.kind}


def _at(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or (event.get("metadata") or {}).get("creationTimestamp")
        or ""
    )


def _event(event: Mapping[str, Any]) -> str:
    count = (event.get("series") or {}).get("count") or event.get("count") or 1
    text = f"{event.get('reason', '')}: {str(event.get('message', '')).strip()}"
    return text if count in (0, 1) else f"{text} ({count} times)"
