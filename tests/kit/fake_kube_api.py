"""A cluster's API in memory that keeps the Kube port's contract, and can be told to misbehave.

A FakeCluster outlives the FakeKube that works on it, as a real one outlives the commands. It has the
built-in kinds and those of the CRDs applied to it, and does what controllers do at once: Deployments are
available, Services have addresses, LoadBalancers one of the pool, accounts have tokens.
"""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from typing import Any

from forge.host.kube import faults
from forge.host.kube.labels import is_owned, relabelled
from forge.host.kube.names import BUILTIN, CRD, ApiResource, Index, split
from forge.host.kube.residents import comes_by_itself
from forge.plan.lab_ports import Intend, Object, ObjectRef
from forge.plan.ports import Cancel, Progress
from forge.plan.values import Owner

Id = tuple[str, str, str, str]
"""api_version, kind, namespace, name."""


@dataclass
class FakeCluster:
    """before, after: called round every change with its name, such as `apply Deployment shop/web`; tests
    raise there. down: nothing answers. pool: first address of LoadBalancers. lazy: no controller does
    anything, so that statuses stay as tests set them. reads: what was asked, in order."""

    uid: str = "fake-cluster"
    down: bool = False
    lazy: bool = False
    pool: str = "10.0.0.100"
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    objects: dict[Id, Object] = field(default_factory=dict)
    events: dict[Id, list[str]] = field(default_factory=dict)
    logs: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        for name in ("default", "kube-system"):
            self.put(_object("v1", "Namespace", "", name, {}))
        self.objects["v1", "Namespace", "", "kube-system"]["metadata"]["uid"] = self.uid

    def put(self, thing: Object) -> Object:
        """Stores it as a controller would: status and all. Gives what is stored."""
        with self.changed:
            stored = copy.deepcopy(thing)
            key = _id(stored)
            old = self.objects.get(key)
            meta = stored.setdefault("metadata", {})
            meta["uid"] = old["metadata"]["uid"] if old else f"uid-{next(self.numbers)}"
            generation = old["metadata"]["generation"] if old else 1
            bumped = old is not None and _content(old) != _content(stored)
            meta["generation"] = generation + bumped
            self.objects[key] = stored
            self.changed.notify_all()
            return stored

    def drop(self, key: Id) -> None:
        with self.changed:
            self.objects.pop(key, None)
            if key[1] == "Namespace":
                for inner in [k for k in self.objects if k[2] == key[3]]:
                    del self.objects[inner]
            self.changed.notify_all()

    @property
    def index(self) -> Index:
        custom = [
            ApiResource(
                crd["spec"]["group"],
                version["name"],
                crd["spec"]["names"]["kind"],
                crd["spec"]["names"]["plural"],
                crd["spec"]["names"].get("singular", crd["spec"]["names"]["kind"].lower()),
                tuple(crd["spec"]["names"].get("shortNames", ())),
                namespaced=crd["spec"]["scope"] == "Namespaced",
            )
            for key, crd in self.objects.items()
            if key[1] == CRD
            for version in crd["spec"]["versions"]
        ]
        return Index((*BUILTIN.resources, *custom))

    def inventory(self) -> set[str]:
        """Everything there is beside what a new cluster has, by name."""
        fresh = {("Namespace", "default"), ("Namespace", "kube-system")}
        return {
            faults.named(kind, namespace, name)
            for _, kind, namespace, name in self.objects
            if (kind, name) not in fresh
        }


class FakeKube:
    """The Kube port over a FakeCluster."""

    def __init__(self, cluster: FakeCluster, name: str = "fake") -> None:
        self.cluster = cluster
        self.name = name

    def identity(self) -> str:
        self._reach()
        return str(self.cluster.objects["v1", "Namespace", "", "kube-system"]["metadata"]["uid"])

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
        refs: dict[int, ObjectRef] = {}
        first = [i for i, o in enumerate(objects) if o.get("kind") in (CRD, "Namespace")]
        rest = [i for i in range(len(objects)) if i not in first]
        for index in (*first, *rest):
            intend((self._intended(objects[index]),))
            where = places[index] if places else ""
            refs[index] = self._apply(objects[index], owner, where)
        return tuple(refs[i] for i in range(len(objects)))

    def _intended(self, thing: Object) -> ObjectRef:
        known = self.cluster.index.kind(str(thing.get("apiVersion")), str(thing.get("kind")))
        return ObjectRef(*_id(thing if known is None else _placed(thing, known)))

    def _apply(self, thing: Object, owner: Owner, where: str) -> ObjectRef:
        resource = self.cluster.index.kind(str(thing.get("apiVersion")), str(thing.get("kind")))
        if resource is None:
            raise faults.unknown_kind(str(thing.get("apiVersion")), str(thing.get("kind")), where)
        thing = _placed(thing, resource)
        with self._change(f"apply {faults.title(thing)}"):
            key = _id(thing)
            if key[2] and ("v1", "Namespace", "", key[2]) not in self.cluster.objects:
                raise faults.refused("apply", faults.title(thing), f'namespaces "{key[2]}" not found')
            old = self.cluster.objects.get(key, {})
            thing = relabelled(thing, owner, old or None)
            merged = _merged(old, thing) if old else thing
            stored = self.cluster.put(merged if self.cluster.lazy else _controlled(merged, self.cluster))
            return _ref(stored)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        self._reach()
        return copy.deepcopy(self.cluster.objects.get((api_version, kind, namespace, name)))

    def find(self, resource: str, namespace: str | None, *, selector: str = "") -> tuple[Object, ...]:
        self._reach()
        word, name = split(resource)
        known = self.cluster.index.named(word)
        if known is None:
            return ()
        where = (namespace or "default") if known.namespaced else ""
        wanted = dict(term.split("=") for term in selector.split(",") if term)
        return tuple(
            copy.deepcopy(found)
            for key, found in self.cluster.objects.items()
            if key[:3] == (known.api_version, known.kind, where)
            and name in ("", key[3])
            and wanted.items() <= found["metadata"].get("labels", {}).items()
        )

    def observe(self, refs: Collection[ObjectRef]) -> Mapping[ObjectRef, ObjectRef]:
        self._reach()
        found = {ref: self.cluster.objects.get(_key(ref)) for ref in refs}
        return {ref: _ref(thing) for ref, thing in found.items() if thing is not None}

    def delete(
        self,
        refs: Collection[ObjectRef],
        *,
        owner: Owner | None = None,
        grace_s: int | None = None,
        cancel: Cancel,
    ) -> tuple[ObjectRef, ...]:
        gone = []
        self._reach()
        for ref in refs:
            known = self.cluster.index.kind(ref.api_version, ref.kind)
            namespaced = known is not None and known.namespaced
            key = _key(replace(ref, namespace=ref.namespace or "default") if namespaced else ref)
            found = self.cluster.objects.get(key)
            if found is None or (owner is not None and not is_owned(found, owner)):
                continue
            if ref.uid and ref.uid != found["metadata"]["uid"]:
                continue
            with self._change(f"delete {faults.title(found)}"):
                self.cluster.drop(key)
            gone.append(ref)
        return tuple(gone)

    def watch(
        self, api_version: str, kind: str, namespace: str, name: str, *, cancel: Cancel, timeout_s: float
    ) -> Iterator[Object | None]:
        told: object = self
        slices = max(1, int(timeout_s / 0.02))
        for _ in range(slices):
            with self.cluster.changed:
                now = copy.deepcopy(self.cluster.objects.get((api_version, kind, namespace, name)))
                if now == told and not cancel.is_set():
                    self.cluster.changed.wait(0.02)
                    continue
            if cancel.is_set():
                return
            told = now
            yield now

    def residents(self, namespace: str) -> tuple[ObjectRef, ...]:
        self._reach()
        inside = [o for key, o in self.cluster.objects.items() if key[2] == namespace and key[1] != "Event"]
        return tuple(_ref(one) for one in inside if not comes_by_itself(one["kind"], one))

    def events(self, namespace: str, kind: str, name: str) -> tuple[str, ...]:
        return tuple(
            line
            for key, lines in self.cluster.events.items()
            if key[1:] == (kind, namespace, name)
            for line in lines
        )

    def pod_log(self, namespace: str, name: str, *, container: str = "", tail: int = 20) -> tuple[str, ...]:
        return tuple(self.cluster.logs.get((namespace, name), ())[-tail:])

    def patch(
        self, api_version: str, kind: str, namespace: str, name: str, change: Object, *, sub: str = ""
    ) -> Object:
        key = (api_version, kind, namespace, name)
        with self._change(f"patch {faults.named(kind, namespace, name)}"):
            if key not in self.cluster.objects:
                raise faults.refused("patch", faults.named(kind, namespace, name), "not found")
            return copy.deepcopy(self.cluster.put(_merged(self.cluster.objects[key], change)))

    def token(self, namespace: str, service_account: str, lifetime_s: float) -> str:
        self._reach()
        if ("v1", "ServiceAccount", namespace, service_account) not in self.cluster.objects:
            raise faults.refused(
                "get a token of", f"ServiceAccount {namespace}/{service_account}", "not found"
            )
        return f"token-{namespace}-{service_account}-{lifetime_s:g}-{next(self.cluster.numbers)}"

    def _reach(self) -> None:
        if self.cluster.down:
            raise faults.unreachable(self.name, "connection refused")

    @contextmanager
    def _change(self, what: str) -> Iterator[None]:
        self._reach()
        self.cluster.before(what)
        yield
        self.cluster.after(what)


def kube_opener(clusters: Mapping[str, FakeCluster]) -> Callable[[str], FakeKube]:
    """The KubeOpener over clusters by name."""
    return lambda name: FakeKube(clusters[name], name)


def _object(api_version: str, kind: str, namespace: str, name: str, rest: Mapping[str, Any]) -> Object:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}


def _placed(thing: Object, resource: ApiResource) -> Object:
    """A copy with its namespace said where it has one, and nowhere else."""
    placed = copy.deepcopy(thing)
    if resource.namespaced:
        placed["metadata"].setdefault("namespace", "default")
    else:
        placed["metadata"].pop("namespace", None)
    return placed


def _id(thing: Object) -> Id:
    meta = thing["metadata"]
    return thing["apiVersion"], thing["kind"], meta.get("namespace", ""), meta["name"]


def _key(ref: ObjectRef) -> Id:
    return ref.api_version, ref.kind, ref.namespace, ref.name


def _ref(thing: Object) -> ObjectRef:
    meta = thing["metadata"]
    return replace(ObjectRef(*_id(thing)), uid=meta["uid"], generation=meta["generation"])


def _content(thing: Object) -> dict[str, Any]:
    return {k: v for k, v in thing.items() if k not in ("metadata", "status")}


def _merged(old: Any, new: Any) -> Any:
    """As a merge patch does it: null removes."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return copy.deepcopy(new)
    merged = {**old, **{k: _merged(old.get(k), v) for k, v in new.items()}}
    return {k: v for k, v in merged.items() if v is not None}


def _controlled(thing: Object, cluster: FakeCluster) -> Object:
    """With what the controllers would have written a moment later."""
    kind, spec = thing["kind"], thing.get("spec") or {}
    if kind == "Deployment":
        count = spec.get("replicas", 1)
        conditions = [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True"}]
        generation = cluster.objects.get(_id(thing), {}).get("metadata", {}).get("generation", 0) + 1
        status = {"observedGeneration": generation, "replicas": count, "updatedReplicas": count}
        thing["status"] = {
            **status,
            "readyReplicas": count,
            "availableReplicas": count,
            "conditions": conditions,
        }
    elif kind == CRD:
        thing["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    elif kind == "Namespace":
        thing["status"] = {"phase": "Active"}
    elif kind == "Job":
        thing["status"] = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    elif kind == "Service":
        spec.setdefault("clusterIP", f"10.96.0.{next(cluster.numbers) % 250 + 1}")
        if spec.get("type") == "LoadBalancer" and not thing.get("status"):
            address = IPv4Address(cluster.pool) + next(cluster.numbers) % 100
            thing["status"] = {"loadBalancer": {"ingress": [{"ip": str(address)}]}}
    return thing
