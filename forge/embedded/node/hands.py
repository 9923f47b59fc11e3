"""What every pod's worker is given: the supervisor, the objects, the clock and the places on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from forge.embedded.api import reviews
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.status import ApiError
from forge.embedded.api.tokens import ISSUER, Signer
from forge.embedded.api.values import Json
from forge.embedded.node import addresses
from forge.embedded.node.images import Images
from forge.embedded.node.objects import CONFIG_MAPS, PODS, SECRETS, Objects, name_of, namespace_of, uid_of
from forge.embedded.node.recorder import Recorder
from forge.embedded.process.supervisor import Supervisor

ACCESS_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_STORAGE = {"configMap": CONFIG_MAPS, "secret": SECRETS}


@dataclass(slots=True)
class Hands:
    """node: its name. address: its own. base: the environment of a bare process. capacity: what
    the node offers. url: of the API. given: pod addresses in use, by the pod's uid."""

    cluster: Cluster
    objects: Objects
    recorder: Recorder
    supervisor: Supervisor
    images: Images
    signer: Signer
    folder: Path
    node: str
    cidr: str
    base: Mapping[str, str]
    capacity: Json
    url: str
    given: dict[str, str] = field(default_factory=dict)
    _last: str = ""

    @property
    def address(self) -> str:
        return addresses.node_address(self.cidr, urlsplit(self.url).hostname or "")

    def now(self) -> float:
        """Unix seconds."""
        return self.cluster.clock().timestamp()

    def lease(self, pod: Json) -> str | None:
        """The pod's address: the one it has, or a new one; None when there is none left."""
        if pod["spec"].get("hostNetwork"):
            return self.address
        uid = uid_of(pod)
        had = (pod.get("status") or {}).get("podIP")
        if uid not in self.given:
            taken = set(self.given.values())
            address = had if had and had not in taken else None
            address = address or addresses.next_address(self.cidr, taken, self._last)
            if address is None:
                return None
            self.given[uid] = self._last = address
        return self.given[uid]

    def lookup(self, namespace: str) -> Lookups:
        return Lookups(self.objects, namespace)

    def pod(self, name: str, namespace: str) -> Json | None:
        return self.objects.get(PODS, name, namespace)

    def token(self, pod: Json, audience: str, lifetime_s: int) -> str:
        """A new token of the pod's ServiceAccount, bound to the pod; empty when it has no account."""
        bound = {"kind": "Pod", "apiVersion": "v1", "name": name_of(pod), "uid": uid_of(pod)}
        spec = {"audiences": [audience or ISSUER], "expirationSeconds": lifetime_s, "boundObjectRef": bound}
        account = pod["spec"].get("serviceAccountName") or "default"
        try:
            answer = reviews.request_token(
                self.cluster, self.signer, namespace_of(pod), account, {"spec": spec}
            )
        except ApiError:
            return ""
        return str(answer["status"]["token"])

    def pod_folder(self, uid: str) -> Path:
        return self.folder / "pods" / uid


@dataclass(frozen=True, slots=True)
class Lookups:
    """ConfigMaps and Secrets of one namespace."""

    objects: Objects
    namespace: str

    def __call__(self, kind: str, name: str) -> Json | None:
        return self.objects.get(_STORAGE[kind], name, self.namespace)


def kubeconfig(url: str, namespace: str, access: str) -> str:
    """For a program in a pod: in-cluster settings stand at a fixed path, which only a container has."""
    cluster = {"server": url, "certificate-authority": f"{access}/ca.crt"}
    context = {"cluster": "embedded", "user": "pod", "namespace": namespace}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "embedded", "cluster": cluster}],
        "users": [{"name": "pod", "user": {"tokenFile": f"{access}/token"}}],
        "contexts": [{"name": "pod", "context": context}],
        "current-context": "pod",
    }
    return json.dumps(document, indent=1)


def write_private(place: Path, text: str) -> None:
    """Replaces the file, readable to its owner alone."""
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(place.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.write(text)
    fresh.replace(place)
