"""What this machine already uses: routes that a new subnet must not cover, and who holds a port.

A port is judged by binding the very address, since that alone follows the kernel's rules (wildcard
against one address, IPv6 that also takes IPv4); /proc only says who it is. Linux.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import pairwise
from pathlib import Path

from forge.plan.ports import PortHolder

_PROC = Path("/proc")
_LISTEN = "0A"
_REJECT = 0x0200
"""RTF_REJECT: an unreachable route keeps traffic out of a subnet and is nobody's network."""


def host_routes() -> Mapping[str, str]:
    """CIDR -> whose it is (`a route of this host, eth0`). Without default routes and single hosts."""
    return {**ipv4_routes(_read("net/route")), **ipv6_routes(_read("net/ipv6_route"))}


def ipv4_routes(text: str) -> Mapping[str, str]:
    """The networks of /proc/net/route, whose words are hexadecimal and little-endian."""
    found = {}
    for words in _table(text, 8):
        network, mask = (IPv4Address(int.from_bytes(bytes.fromhex(words[i]), "little")) for i in (1, 7))
        cidr = IPv4Network(f"{network}/{mask}", strict=False)
        if 0 < cidr.prefixlen < 32:
            found[str(cidr)] = f"a route of this host, {words[0]}"
    return found


def ipv6_routes(text: str) -> Mapping[str, str]:
    """The networks of /proc/net/ipv6_route, without link-local, multicast and rejected ones."""
    found = {}
    for words in (line.split() for line in text.splitlines()):
        if len(words) < 10 or int(words[8], 16) & _REJECT:
            continue
        cidr = IPv6Network((bytes.fromhex(words[0]), int(words[1], 16)), strict=False)
        if 0 < cidr.prefixlen < 128 and not (cidr.is_link_local or cidr.is_multicast):
            found[str(cidr)] = f"a route of this host, {words[9]}"
    return found


def expand(bind: str) -> tuple[str, ...]:
    """The addresses a wildcard stands for on this machine now; another address stands for itself.

    Of 127.0.0.0/8 only 127.0.0.1: the rest are addresses of labs, which a wildcard must not shut out.
    """
    if bind not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return (bind,)
    found = ipv4_locals(_read("net/fib_trie")) if bind != "::" else ipv6_locals(_read("net/if_inet6"))
    loopback = "::1" if bind == "::" else "127.0.0.1"
    return tuple(dict.fromkeys((loopback, *found)))


def ipv4_locals(text: str) -> list[str]:
    """This machine's own addresses out of /proc/net/fib_trie: a leaf, and below it `/32 host LOCAL`."""
    lines = [line.split() for line in text.splitlines()]
    leaves = [
        above[1]
        for above, below in pairwise(lines)
        if above[:1] == ["|--"] and below == ["/32", "host", "LOCAL"]
    ]
    return [address for address in leaves if not IPv4Address(address).is_loopback]


def ipv6_locals(text: str) -> list[str]:
    """This machine's own addresses out of /proc/net/if_inet6, without those that need a scope."""
    addresses = [IPv6Address(bytes.fromhex(line.split()[0])) for line in text.splitlines()]
    return [str(a) for a in addresses if not (a.is_link_local or a.is_loopback)]


def loopback_listeners() -> Iterator[str]:
    """Addresses of 127.0.0.0/8 somebody listens on."""
    for words in _table(_read("net/tcp"), 10):
        address = _address(words[1].partition(":")[0])
        if words[3] == _LISTEN and address.is_loopback:
            yield str(address)


def port_holder(bind: str, port: int) -> PortHolder | None:
    """Who keeps bind:port from being listened on; None when it is free.

    An address this machine does not have is not held by anybody: None. The probe binds for an
    instant, with SO_REUSEADDR as any server does, so connections that linger do not count.
    """
    if port == 0:
        return None
    error = listen_error(bind, port)
    if error not in (errno.EADDRINUSE, errno.EACCES):
        return None
    holder = _who_listens(bind, port)
    if holder is None and error == errno.EACCES:
        return None
    return PortHolder(bind, port, holder or "another process")


def listen_error(bind: str, port: int) -> int | None:
    """The errno that keeps this process from listening on bind:port; None when nothing does."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind((bind, port))
            probe.listen(1)
    except OSError as error:
        return error.errno
    return None


def _who_listens(bind: str, port: int) -> str | None:
    """`process 4711 (nginx)`; `another process` where /proc hides it; None when nobody listens."""
    inodes = {inode for address, inode in _listeners(port) if _clash(ip_address(bind), address)}
    if not inodes:
        return None
    pid = _owner_of(inodes)
    return "another process" if pid is None else f"process {pid} ({command_name(pid)})"


def command_name(pid: int) -> str:
    """The program's short name as the kernel keeps it, `?` when the process is gone."""
    return _read(f"{pid}/comm").strip() or "?"


def _listeners(port: int) -> Iterator[tuple[IPv4Address | IPv6Address, str]]:
    """(address, socket inode) of all that listen on port, from /proc/net/tcp and tcp6."""
    for name in ("net/tcp", "net/tcp6"):
        for words in _table(_read(name), 10):
            address, _, number = words[1].partition(":")
            if words[3] == _LISTEN and int(number, 16) == port:
                yield _address(address), words[9]


def _address(text: str) -> IPv4Address | IPv6Address:
    """The kernel prints an address as 32-bit words in the machine's own order: little-endian."""
    raw = b"".join(bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8))
    return IPv4Address(raw) if len(raw) == 4 else IPv6Address(raw)


def _clash(wanted: IPv4Address | IPv6Address, held: IPv4Address | IPv6Address) -> bool:
    if isinstance(held, IPv6Address):
        held = held.ipv4_mapped or held
    if held == IPv6Address(0):  # may take IPv4 too
        return True
    if wanted.version != held.version:
        return False
    return wanted == held or 0 in (int(wanted), int(held))


def _owner_of(inodes: Iterable[str]) -> int | None:
    links = {f"socket:[{inode}]" for inode in inodes}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and _has_open(entry / "fd", links):
            return int(entry.name)
    return None


def _has_open(folder: Path, links: set[str]) -> bool:
    try:
        with os.scandir(folder) as files:
            return any(_link(file.path) in links for file in files)
    except OSError:  # gone, or somebody else's
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - a Path object for every descriptor costs ten times this
    except OSError:
        return ""


def _table(text: str, columns: int) -> Iterator[list[str]]:
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= columns:
            yield words


def _read(name: str) -> str:
    """A file below /proc; empty where it is missing or may not be read."""
    try:
        return (_PROC / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
