"""`kubeadm init` and `kubeadm join`, as far as kind needs them.

    init   the order to process 1, admin.conf, this machine's Node, and an invitation
    join   the invitation, a Node that is tainted, since nothing runs there, and the order to process 1,
           which says that the node lives from then on

The invitation stands in for certificate signing: a ServiceAccount's token, sealed with the bootstrap
token that both sides have in their configuration, in kube-public/cluster-info, which anybody may read.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

import yaml

from tests.kind.node import invitation, nodes, place
from tests.kind.node.config import Config, parse
from tests.kind.node.kubectl import Failed, Kubectl

_START_S = 60.0


def main(argv: list[str]) -> int:
    if "--config" in argv:
        given = argv[argv.index("--config") + 1]
    else:
        given = next((word.removeprefix("--config=") for word in argv if word.startswith("--config=")), "")
    if not given or argv[0] not in ("init", "join"):
        sys.stderr.write("this is the test node's stand-in: kubeadm init|join --config FILE is all it can\n")
        return 2
    config = parse(Path(given).read_text())
    try:
        (init if argv[0] == "init" else join)(config, socket.gethostname())
    except Failed as failed:
        sys.stderr.write(f"kubeadm {argv[0]} (test node): {failed}\n")
        return 1
    return 0


def init(config: Config, name: str) -> None:
    """Makes this node the control plane. Raises Failed."""
    _order("control-plane", name)
    admin = Kubectl(place.CLUSTER / "admin.kubeconfig")
    _wait_for(admin)
    text = (place.CLUSTER / "admin.kubeconfig").read_text()
    place.replace(place.ADMIN, at_endpoint(text, config.endpoint or f"{name}:{place.PORT}"))
    address = socket.gethostbyname(name)
    nodes.register(admin, nodes.control_plane(name, address, config.labels), nodes.status(name, address))
    invitation.publish(admin, config.token)


def join(config: Config, name: str) -> None:
    """Registers this node at the control plane. Raises Failed."""
    url = f"https://{config.endpoint}"
    joiner = invitation.accept(url, config.token, place.STATE / "kubelet.conf")
    address = socket.gethostbyname(name)
    nodes.register(joiner, nodes.worker(name, config.labels), nodes.status(name, address))
    nodes.free_control_plane(joiner)
    _order("worker", name)


def _order(role: str, name: str) -> None:
    """Tells process 1 what this node is from now on."""
    place.write(place.ORDER, {"role": role, "name": name})
    os.kill(1, signal.SIGHUP)


def at_endpoint(kubeconfig: str, endpoint: str) -> str:
    """The same kubeconfig for another address of the API."""
    document = yaml.safe_load(kubeconfig)
    document["clusters"][0]["cluster"]["server"] = f"https://{endpoint}"
    return yaml.safe_dump(document, sort_keys=False)


def _wait_for(admin: Kubectl) -> None:
    until = time.monotonic() + _START_S
    while True:
        try:
            admin("get", "--raw=/readyz")
            return
        except Failed as failed:
            if time.monotonic() > until:
                raise Failed(f"the API did not start in {_START_S:.0f} s: {failed}") from failed
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
