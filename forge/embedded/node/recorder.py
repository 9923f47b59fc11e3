"""Events: what the node and its controllers did, beside the objects they did it to.

The same thing said again about the same object is counted in the event there is, as the real recorder
does, so that a crash loop is one line in `kubectl describe`.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass

from forge.embedded.api.cluster import Cluster
from forge.embedded.api.status import ApiError
from forge.embedded.api.values import Json
from forge.embedded.node.objects import Objects, name_of, namespace_of, uid_of

log = logging.getLogger(__name__)
_STORAGE = "events"


@dataclass(frozen=True, slots=True)
class Recorder:
    """component: who says so (`kubelet`, `deployment-controller`). host: the node's name, or empty."""

    cluster: Cluster
    component: str
    host: str = ""

    def note(self, about: Json, reason: str, message: str, *, path: str = "") -> None:
        """A Normal event. path: the part of the object it is about."""
        self._say(about, "Normal", reason, message, path)

    def warn(self, about: Json, reason: str, message: str, *, path: str = "") -> None:
        self._say(about, "Warning", reason, message, path)

    def _say(self, about: Json, kind: str, reason: str, message: str, path: str) -> None:
        objects = Objects(self.cluster, self.component)
        namespace = namespace_of(about) or "default"
        whole = "\0".join((uid_of(about), kind, reason, message, path, self.component))
        name = f"{name_of(about)}.{hashlib.sha256(whole.encode()).hexdigest()[:16]}"
        found = objects.get(_STORAGE, name, namespace)
        try:
            if found is not None:
                again = {"count": int(found.get("count") or 1) + 1, "lastTimestamp": self.cluster.now()}
                objects.patch(_STORAGE, found, again)
            else:
                event = self._event(about, namespace, path)
                event["metadata"] = {"name": name, "namespace": namespace}
                objects.create(
                    _STORAGE, event | {"type": kind, "reason": reason, "message": message}, namespace
                )
        except ApiError as error:
            # A namespace that is going takes no more events; what they are about goes with it.
            log.debug("event refused", extra={"reason": error.message})

    def _event(self, about: Json, namespace: str, path: str) -> Json:
        now = self.cluster.now()
        involved: Json = {
            "kind": about["kind"],
            "namespace": namespace,
            "name": name_of(about),
            "uid": uid_of(about),
            "apiVersion": about["apiVersion"],
            "resourceVersion": about["metadata"].get("resourceVersion", ""),
        }
        if path:
            involved["fieldPath"] = path
        source = {"component": self.component} | ({"host": self.host} if self.host else {})
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "involvedObject": involved,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "eventTime": None,
            "reportingComponent": self.component,
            "reportingInstance": self.host,
        }
