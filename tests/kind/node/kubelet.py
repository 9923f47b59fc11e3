"""What stands in for a worker's kubelet: says that the node lives, for as long as it does.

It renews the node's Lease, and writes the node's status where that is not true any more: after the
container was restarted on another address, or after the control plane had given it up.
"""

from __future__ import annotations

import socket
import sys
import time
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any

from tests.kind.node import nodes, place
from tests.kind.node.api import Api

CONFIG = place.STATE / "kubelet.conf"
TERM_S = 10
"""How long the control plane believes without a renewal; a real kubelet says 40 s."""

_BEAT_S = 3.0
_MERGE = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"


def main(argv: list[str]) -> int:
    api, name = Api.of_kubeconfig(CONFIG), argv[0]
    while True:
        try:
            beat(api, name, socket.gethostbyname(name))
        except (OSError, HTTPException, ValueError) as error:
            sys.stderr.write(f"trying again: {error}\n")
        time.sleep(_BEAT_S)


def beat(api: Api, name: str, address: str) -> None:
    """Renews the Lease; then makes the status true, where it is not. Raises OSError."""
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    api.call("PATCH", f"{lease}/{name}?fieldManager=kubelet&force=true", renewed(name, time.time()), _APPLY)
    found = api.call("GET", f"/api/v1/nodes/{name}")
    wanted = nodes.status(name, address)
    if not says(found, wanted):
        api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": wanted}, _MERGE)


def renewed(name: str, now: float) -> Any:
    """The Lease as of *now*, in seconds since the epoch."""
    at = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": name, "leaseDurationSeconds": TERM_S, "renewTime": at}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}


def says(node: Any, wanted: Any) -> bool:
    """Whether the Node has that status already, but for its times."""
    status = node.get("status") or {}
    shown = [(c["type"], c["status"]) for c in status.get("conditions") or ()]
    ours = [(c["type"], c["status"]) for c in wanted["conditions"]]
    return bool(shown == ours and status.get("addresses") == wanted["addresses"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
