"""Process 1 of a node: waits for kubeadm's order, runs what the node is, takes in orphans.

A control plane is the cluster's daemon and a resolver of its names, a worker a program that says that
it lives.

The order is a file, so that a container that is restarted begins with it by itself. The daemon listens
on the container's own address, which a restart may change.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

from tests.kind.node import place

# kind waits for this line of systemd's, read from the container's log.
BOOTED = "Reached target Multi-User System (test node: a stand-in, without systemd)."
_AGAIN_S = 1.0
_ENDING = {signal.SIGTERM, signal.SIGINT}
_WATCHED = {*_ENDING, signal.SIGHUP, signal.SIGCHLD}


def main() -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    place.STATE.mkdir(parents=True, exist_ok=True)
    place.LOGS.mkdir(parents=True, exist_ok=True)
    _say(BOOTED)
    running: dict[int, list[str]] = {}
    while True:
        _start(running)
        signal_seen = signal.sigwait(_WATCHED)
        if signal_seen in _ENDING:
            return _end(running)
        for program in filter(None, [running.pop(pid, None) for pid in _reaped()]):
            _say(f"{program[2]} ended; it is started again")
            time.sleep(_AGAIN_S)


def _start(running: dict[int, list[str]]) -> None:
    """Starts what this node is ordered to be and does not run: nothing before there is an order."""
    order = place.read(place.ORDER)
    if not order:
        return
    address = socket.gethostbyname(socket.gethostname())
    for argv in programs(order.get("role", "control-plane"), order["name"], address):
        if argv not in running.values():
            running[_spawn(argv)] = argv


def programs(role: str, name: str, address: str) -> list[list[str]]:
    """What runs on a node of that name, on that address: each an argv."""
    if role == "worker":
        return [[sys.executable, "-m", "tests.kind.node.kubelet", name]]
    daemon = [
        *(sys.executable, "-m", "forge.embedded", "--name", name, "--dir", str(place.CLUSTER)),
        *("--listen", f"{address}:{place.PORT}", "--images", str(place.IMAGES)),
    ]
    return [daemon, [sys.executable, "-m", "tests.kind.node.dns", f"https://{address}:{place.PORT}"]]


def _spawn(argv: list[str]) -> int:
    # The daemon hears the signals that process 1 only waits for.
    return os.posix_spawn(argv[0], argv, os.environ, setsigmask=())


def _reaped() -> set[int]:
    """Every child that has ended, orphans of others among them."""
    ended: set[int] = set()
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.add(pid)


def _end(running: dict[int, list[str]]) -> int:
    for pid in running:
        os.kill(pid, signal.SIGTERM)
    for pid in running:
        os.waitpid(pid, 0)
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
