"""The cluster's names for pods of the control plane: Services, as Kubernetes' DNS has them.

    web.default.svc.cluster.local          the Service's cluster address
    headless.default.svc.cluster.local     its ready pods' addresses
    web, web.default, web.default.svc      the same, by the search list of resolv.conf

Every name outside of cluster.local goes to the resolver that the container had before. Pods are
processes of one container, so they share one resolv.conf, and short names mean the default namespace.
Nothing is kept: each question is asked of the API, which is next door.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import sys
import time
import urllib.error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.kind.node import place
from tests.kind.node.api import Api

OWN = "127.0.0.53"
DOMAIN = "cluster.local"
RESOLV = Path("/etc/resolv.conf")

_A, _IN = 1, 1
_NO_ERROR, _FAILED, _NO_NAME, _REFUSED = 0, 2, 3, 5
_TTL_S = 5
_UPSTREAM_S = 5.0
_HEADER = struct.Struct(">HHHHHH")
# A name: the domain's; addresses: None where there is no such name.
Lookup = Callable[[str, str], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class Question:
    """name: in small letters, without the last dot. raw: as it stood in the message."""

    identifier: int
    name: str
    type: int
    raw: bytes


def parse(message: bytes) -> Question | None:
    """The one question of a message; None for anything else."""
    try:
        identifier, flags, count, *_ = _HEADER.unpack_from(message)
        if flags & 0x8000 or count != 1:
            return None
        labels, at = [], _HEADER.size
        while size := message[at]:
            if size > 63:
                return None
            labels.append(message[at + 1 : at + 1 + size].decode("ascii").lower())
            at += size + 1
        kind, class_ = struct.unpack_from(">HH", message, at + 1)
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    return (
        Question(identifier, ".".join(labels), kind, message[_HEADER.size : at + 5])
        if class_ == _IN
        else None
    )


def answer(question: Question, code: int, addresses: Sequence[str] = ()) -> bytes:
    """A message with these A records; recursion is available."""
    found = addresses if question.type == _A else ()
    head = _HEADER.pack(question.identifier, 0x8580 | code, 1, len(found), 0, 0)
    # 0xC00C: the name of the question.
    records = (struct.pack(">HHHIH", 0xC00C, _A, _IN, _TTL_S, 4) + socket.inet_aton(one) for one in found)
    return head + question.raw + b"".join(records)


def is_ours(name: str) -> bool:
    return name == DOMAIN or name.endswith(f".{DOMAIN}")


def reply(question: Question, lookup: Lookup) -> bytes:
    """What the cluster says of a name of its domain. Raises OSError where it cannot be asked."""
    parts = question.name.removesuffix(DOMAIN).rstrip(".").split(".")
    if len(parts) != 3 or parts[2] != "svc":
        return answer(question, _NO_NAME)
    found = lookup(parts[0], parts[1])
    return answer(question, _NO_NAME) if found is None else answer(question, _NO_ERROR, found)


def addresses(api: Api, service: str, namespace: str) -> list[str] | None:
    """Of a Service; None when there is none. Raises OSError."""
    base = f"namespaces/{namespace}"
    try:
        found = api.call("GET", f"/api/v1/{base}/services/{service}")
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise
    own = found["spec"].get("clusterIP", "")
    if own != "None":
        return [own] if own else []
    query = f"?labelSelector=kubernetes.io%2Fservice-name%3D{service}"
    slices = api.call("GET", f"/apis/discovery.k8s.io/v1/{base}/endpointslices{query}")["items"]
    ready = (e for one in slices for e in one["endpoints"] or () if e["conditions"].get("ready"))
    return sorted({address for endpoint in ready for address in endpoint["addresses"]})


def configure(text: str) -> tuple[str, str]:
    """(what resolv.conf is to say, the resolver to ask for everything else) from what it says."""
    servers = [line.split()[1] for line in text.splitlines() if line.startswith("nameserver ")]
    upstream = next((server for server in servers if server != OWN), "")
    search = " ".join([f"default.svc.{DOMAIN}", f"svc.{DOMAIN}", DOMAIN])
    lines = [f"nameserver {OWN}", *([f"nameserver {upstream}"] if upstream else [])]
    return "\n".join([*lines, f"search {search}", "options ndots:5", ""]), upstream


class Handler(socketserver.BaseRequestHandler):
    """One datagram."""

    server: Resolver

    def handle(self) -> None:
        message, out = self.request
        question = parse(message)
        if question is None:
            return
        said = self.server.say(question, message)
        out.sendto(said, self.client_address)


class Resolver(socketserver.ThreadingUDPServer):
    """upstream: who is asked for other names; None where nobody is known."""

    daemon_threads = True

    def __init__(self, listen: tuple[str, int], lookup: Lookup, upstream: tuple[str, int] | None) -> None:
        self._lookup = lookup
        self._upstream = upstream
        super().__init__(listen, Handler)

    def say(self, question: Question, message: bytes) -> bytes:
        try:
            if is_ours(question.name):
                return reply(question, self._lookup)
            return ask(self._upstream, message) if self._upstream else answer(question, _REFUSED)
        except (OSError, HTTPException, ValueError) as error:
            sys.stderr.write(f"{question.name} not resolved: {error}\n")
            return answer(question, _FAILED)


def ask(upstream: tuple[str, int], message: bytes) -> bytes:
    """What another resolver says. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(_UPSTREAM_S)
        asking.connect(upstream)
        asking.send(message)
        return asking.recv(65_535)


def main(argv: list[str]) -> int:
    url, pki = argv[0], place.CLUSTER / "pki"
    while not (pki / "admin.crt").exists() or not (pki / "admin.key").exists():
        time.sleep(0.1)
    api = Api.of_admin(url, pki)

    def lookup(service: str, namespace: str) -> Any:
        return addresses(api, service, namespace)

    wanted, upstream = configure(RESOLV.read_text())
    with Resolver((OWN, 53), lookup, (upstream, 53) if upstream else None) as resolver:
        RESOLV.write_text(wanted)  # a mount of docker's: it cannot be replaced by a rename
        resolver.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
