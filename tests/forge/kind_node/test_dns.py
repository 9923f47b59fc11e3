"""The test node's resolver: the cluster's names are answered as Kubernetes does, the rest is passed on."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kind.node import dns

SERVICES: dict[tuple[str, str], Sequence[str]] = {
    ("web", "default"): ["127.96.0.7"],
    ("all", "team"): ["127.44.0.2", "127.44.0.3"],
    ("waits", "team"): [],
}


def lookup(service: str, namespace: str) -> Sequence[str] | None:
    if service == "broken":
        raise OSError("the API is away")
    return SERVICES.get((service, namespace))


def question(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def read(message: bytes) -> tuple[int, list[str]]:
    """(the code, the addresses) of an answer to `question`."""
    identifier, flags, asked, count, *_ = struct.unpack_from(">HHHHHH", message)
    assert (identifier, asked) == (7, 1)
    records = message[len(message) - 16 * count :]
    return flags & 15, [socket.inet_ntoa(records[16 * n + 12 : 16 * n + 16]) for n in range(count)]


@pytest.fixture(scope="module")
def resolver() -> Iterator[tuple[str, int]]:
    with dns.Resolver(("127.0.0.1", 0), lookup, None) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield "127.0.0.1", made.server_address[1]
        made.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        pytest.param("web.default.svc.cluster.local", 1, (0, ["127.96.0.7"]), id="a Service"),
        pytest.param("WEB.Default.svc.cluster.local", 1, (0, ["127.96.0.7"]), id="in capitals"),
        pytest.param("all.team.svc.cluster.local", 1, (0, ["127.44.0.2", "127.44.0.3"]), id="a headless one"),
        pytest.param("waits.team.svc.cluster.local", 1, (0, []), id="one without ready pods"),
        pytest.param("web.default.svc.cluster.local", 28, (0, []), id="no IPv6, but a name"),
        pytest.param("nobody.default.svc.cluster.local", 1, (3, []), id="no such Service"),
        pytest.param("web.default.pod.cluster.local", 1, (3, []), id="no Service's name"),
        pytest.param("cluster.local", 1, (3, []), id="the domain itself"),
        pytest.param("broken.default.svc.cluster.local", 1, (2, []), id="the API is away"),
        pytest.param("example.test", 1, (5, []), id="another domain, and nobody to ask"),
    ],
)
def test_a_name_is_resolved(
    resolver: tuple[str, int], name: str, kind: int, expected: tuple[int, list[str]]
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(30)
        asking.sendto(question(name, kind), resolver)
        assert read(asking.recv(512)) == expected


def test_other_names_go_to_the_resolver_that_was_there() -> None:
    message = question("k8s-worker")
    parsed = dns.parse(message)
    assert parsed is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream, ThreadPoolExecutor(1) as other:
        upstream.settimeout(30)
        upstream.bind(("127.0.0.1", 0))
        with dns.Resolver(("127.0.0.1", 0), lookup, upstream.getsockname()) as made:
            said = other.submit(made.say, parsed, message)
            asked, peer = upstream.recvfrom(512)
            upstream.sendto(b"said", peer)
            assert (asked, said.result(30)) == (message, b"said")


@given(st.binary(max_size=80))
def test_any_bytes_are_a_question_or_none(message: bytes) -> None:
    found = dns.parse(message)
    assert found is None or dns.answer(found, 3).startswith(message[:2])


@pytest.mark.parametrize(
    ("text", "upstream"),
    [
        pytest.param("search lab\nnameserver 127.0.0.11\noptions ndots:0\n", "127.0.0.11", id="docker's"),
        pytest.param(
            "nameserver 127.0.0.53\nnameserver 127.0.0.11\n", "127.0.0.11", id="what it left itself"
        ),
        pytest.param("", "", id="none"),
    ],
)
def test_resolv_conf_names_the_own_resolver_first(text: str, upstream: str) -> None:
    wanted, found = dns.configure(text)
    servers = [line.split()[1] for line in wanted.splitlines() if line.startswith("nameserver")]
    assert (servers, found) == ([dns.OWN, *([upstream] if upstream else [])], upstream)
    assert dns.configure(wanted) == (wanted, upstream)
