"""Server-side apply of many objects: ranks in order, a few objects at once, everything that failed told.

Before anything is sent it is known that every kind is served, or will be by a definition among the
objects; what is sent after the definitions waits until the server has established them.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forge.errors import OperationFailed
from forge.host.kube import faults
from forge.host.kube.delete import GONE_S
from forge.host.kube.exchange import MANAGER, METADATA, METADATA_LIST, SINGLY, Exchange
from forge.host.kube.labels import relabelled
from forge.host.kube.names import CRD, ApiResource
from forge.host.kube.patience import Patience
from forge.host.kube.ranks import defined, ranked
from forge.host.kube.together import together
from forge.host.kube.transport import Reply, Request
from forge.plan.lab_ports import Intend, Object, ObjectRef
from forge.plan.ports import Cancel, Progress
from forge.plan.values import Owner

AT_ONCE = 8
"""Objects sent at once: enough to hide the way there and back, few enough for a small API server."""
BUDGET_S = 120.0
"""Seconds that refusals which may pass are borne: a webhook takes up to a minute to come up."""
SERVED_S = 60.0
"""Seconds until a new definition is served; it takes a fraction of one."""
SETTLED_S = 10.0
"""Seconds until every server of a cluster serves what one of them has established."""
_UNSERVED = ("could not find the requested resource", "page not found")
_APPLY = {"fieldManager": MANAGER, "force": "true", "fieldValidation": "Strict"}
_NOT_OURS_TO_SAY = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink")
"""Metadata that an exported object carries and that only the server writes."""


class Applying:
    """One call of apply. objects: as the files have them. places: where each is from, may be empty."""

    def __init__(
        self,
        exchange: Exchange,
        objects: Sequence[Object],
        owner: Owner,
        places: Sequence[str],
        progress: Progress,
        cancel: Cancel,
    ) -> None:
        self._exchange = exchange
        self._objects = objects
        self._owner = owner
        self._places = places or [""] * len(objects)
        self._progress = progress
        self._cancel = cancel
        self._patience = Patience(BUDGET_S, cancel)
        self._refs: dict[int, ObjectRef] = {}
        self._coming = defined(objects)
        self._standing: dict[_Place, Object] = {}

    def run(self, intend: Intend) -> tuple[ObjectRef, ...]:
        self._refuse_unknown()
        for rank in ranked(self._objects):
            self._standing = self._look(rank)
            intend(tuple(map(self._intended, rank)))
            results = together(self._one, rank, AT_ONCE)
            errors = [result for result in results if isinstance(result, OperationFailed)]
            if errors:
                raise faults.several(errors, len(self._objects), self._refs != {})
            self._await_definitions([i for i in rank if self._objects[i].get("kind") == CRD])
        return tuple(self._refs[index] for index in range(len(self._objects)))

    def _intended(self, index: int) -> ObjectRef:
        thing = self._objects[index]
        resource = self._resource(thing, self._places[index])
        return ObjectRef(resource.api_version, resource.kind, *_where(thing, resource))

    def _look(self, rank: Sequence[int]) -> dict[_Place, Object]:
        """What is there already under the names of a rank: metadata only."""
        places: dict[tuple[ApiResource, str], list[str]] = {}
        for index in rank:
            thing = self._objects[index]
            resource = self._resource(thing, self._places[index])
            namespace, name = _where(thing, resource)
            places.setdefault((resource, namespace), []).append(name)
        found: dict[_Place, Object] = {}
        for part in together(self._look_in, list(places.items()), AT_ONCE):
            found |= part
        return found

    def _look_in(self, asked: tuple[tuple[ApiResource, str], list[str]]) -> dict[_Place, Object]:
        (resource, namespace), names = asked
        what = f"read {resource.plural}"
        if len(names) > SINGLY:
            path = resource.path(namespace)
            listed = self._exchange.list(path, {}, what, METADATA_LIST, self._patience)
        else:
            paths = [resource.path(namespace, name) for name in names]
            requests = [Request("GET", path, accept=METADATA) for path in paths]
            listed = [o for r in requests if (o := self._exchange.json(r, what, self._patience))]
        return {(resource, namespace, str(one["metadata"]["name"])): one for one in listed}

    def _refuse_unknown(self) -> None:
        errors = []
        asked = False
        for thing, place in zip(self._objects, self._places, strict=True):
            api_version, kind = str(thing.get("apiVersion")), str(thing.get("kind"))
            if (api_version, kind) in self._coming:
                continue
            if self._exchange.kind(api_version, kind, again=not asked) is None:
                asked = True  # one more look for all of them
                errors.append(self._unknown(api_version, kind, place))
        if errors:
            raise faults.several(errors, len(self._objects), changed=False)

    def _unknown(self, api_version: str, kind: str, place: str) -> OperationFailed:
        served = [r.api_version for r in self._exchange.index().resources if r.kind == kind]
        return faults.unknown_kind(api_version, kind, place, served[0] if served else "")

    def _one(self, index: int) -> ObjectRef | OperationFailed:
        thing, place = self._objects[index], self._places[index]
        try:
            self._refs[index] = self._apply(thing, place)
        except OperationFailed as error:
            return error
        self._told(len(self._refs))
        return self._refs[index]

    def _told(self, done: int) -> None:
        if len(self._objects) > AT_ONCE and done % 50 == 0:
            self._progress(f"applied {done:,} of {len(self._objects):,} objects")

    def _apply(self, thing: Object, place: str) -> ObjectRef:
        resource = self._resource(thing, place)
        namespace, name = _where(thing, resource)
        path = resource.path(namespace, name)
        standing = self._gone(self._standing.get((resource, namespace, name)), path)
        body = _sendable(relabelled(thing, self._owner, standing), namespace)
        what = f"apply {faults.title(body)}"
        request = Request(
            "PATCH", path, dict(_APPLY), body, type="application/apply-patch+yaml", timeout_s=60.0
        )
        reply = self._sent(request, what)
        if not reply.is_ok:
            raise self._exchange.refused(reply, what, place)
        return ref(reply.json(), resource)

    def _sent(self, request: Request, what: str) -> Reply:
        """The answer to an apply. One server of several may not serve a kind yet that another one has
        established a moment ago: that is asked again for a while."""
        settling = Patience(SETTLED_S, self._cancel)
        attempt = 0
        while True:
            reply = self._exchange.ask(request, what, self._patience)
            attempt += 1
            unserved = reply.status == 404 and any(words in reply.words for words in _UNSERVED)
            if not (unserved and self._coming and settling.pause(attempt)):
                return reply

    def _gone(self, standing: Object | None, path: str) -> Object | None:
        """What stands there, once one that is on its way out is gone: applying to that would be lost with
        it. Its going is waited for as long as that takes elsewhere."""
        if standing is None or not standing["metadata"].get("deletionTimestamp"):
            return standing
        uid, what = standing["metadata"].get("uid"), f"apply over what is going at {path}"
        deadline, wait = time.monotonic() + GONE_S, 0.02
        while True:
            found = self._exchange.json(Request("GET", path, accept=METADATA), what, self._patience)
            if found is None or found["metadata"].get("uid") != uid:
                return found
            if self._cancel.wait(wait):
                raise self._exchange.stopped(what)
            if time.monotonic() > deadline:
                raise faults.stays(f"what is at {path}", found, GONE_S)
            wait = min(wait * 2, 1.0)

    def _resource(self, thing: Object, place: str) -> ApiResource:
        api_version, kind = str(thing.get("apiVersion")), str(thing.get("kind"))
        found = self._exchange.kind(api_version, kind, again=False)
        if found is None:
            raise self._unknown(api_version, kind, place)
        return found

    def _await_definitions(self, indices: Sequence[int]) -> None:
        """Until the server has established them and says that it serves their kinds."""
        if not indices:
            return
        together(self._await_established, indices, AT_ONCE)
        deadline, wait = time.monotonic() + SERVED_S, 0.02
        while missing := self._missing():
            if time.monotonic() > deadline or self._cancel.wait(wait):
                if self._cancel.is_set():
                    raise self._exchange.stopped("apply definitions")
                raise self._unknown(*missing, "a definition that was just applied")
            wait = min(wait * 2, 1.0)

    def _missing(self) -> tuple[str, str] | None:
        index = self._exchange.index(fresh=True)
        return next((one for one in self._coming if index.kind(*one) is None), None)

    def _await_established(self, index: int) -> None:
        thing = self._objects[index]
        what = f"apply {faults.title(thing)}"
        resource = self._resource(thing, self._places[index])
        request = Request("GET", resource.path("", str(thing["metadata"]["name"])))
        deadline, wait = time.monotonic() + SERVED_S, 0.02
        while True:
            status = ((self._exchange.json(request, what, self._patience) or {}).get("status")) or {}
            found = {c.get("type"): c for c in status.get("conditions") or ()}
            if (found.get("Established") or {}).get("status") == "True":
                return
            names = found.get("NamesAccepted") or {}
            if names.get("status") == "False":
                raise faults.refused(
                    "apply", faults.title(thing), str(names.get("message")), where=self._places[index]
                )
            if self._cancel.wait(wait):
                raise self._exchange.stopped(what)
            if time.monotonic() > deadline:
                why = f"it is not established after {SERVED_S:g} s"
                raise faults.refused("apply", faults.title(thing), why, where=self._places[index])
            wait = min(wait * 2, 1.0)


_Place = tuple[ApiResource, str, str]
"""Resource, namespace, name."""


def _where(thing: Object, resource: ApiResource) -> tuple[str, str]:
    meta = thing["metadata"]
    return str(meta.get("namespace") or "default") if resource.namespaced else "", str(meta["name"])


def _sendable(thing: Object, namespace: str) -> dict[str, Any]:
    """As it is sent: without what only the server writes, its namespace said where it has one."""
    dropped = (*_NOT_OURS_TO_SAY, "namespace")
    meta = {k: v for k, v in thing["metadata"].items() if k not in dropped}
    return {**thing, "metadata": {**meta, **({"namespace": namespace} if namespace else {})}}


def ref(thing: Object, resource: ApiResource) -> ObjectRef:
    """What identifies an object the server gave."""
    meta = thing.get("metadata") or {}
    return ObjectRef(
        resource.api_version,
        resource.kind,
        str(meta.get("namespace", "")),
        str(meta.get("name", "")),
        str(meta.get("uid", "")),
        int(meta.get("generation") or 0),
        _fields(meta.get("managedFields") or ()),
    )


def _fields(entries: Iterable[Mapping[str, Any]]) -> str:
    """A hash of the fields that Forge's own applies hold."""
    mine = [
        entry.get("fieldsV1")
        for entry in entries
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply"
    ]
    if not mine:
        return ""
    return hashlib.sha256(json.dumps(mine, sort_keys=True).encode()).hexdigest()[:16]
