"""Who answers at a site's gateway: a TLS handshake with our certificate, the leaf held to the site's pins.

The chain must end at the grid's own CA, the names be the site's, and the leaf one of its pins; each failure
has its own reason, and not reaching it at all is none of them.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from grid.contract.status import MAX_STATUS_BYTES, GatewayStatus, StatusRejected, read_status
from grid.crd.network import GridNetwork
from grid.crd.site import GridSite
from grid.reconcile.identity import Identity
from grid.reconcile.tasks import Rounds
from grid.reconcile.world import Reach, Trust
from grid.scoring.health import Thresholds, Verdict, probed, unknown
from grid.seal.trust import Leaf, leaf_of

log = logging.getLogger(__name__)
EVERY_S = 2.0
TIMEOUT_S = 5.0
# One success proves an identity; reachability is lost after three failures in a row.
_THRESHOLDS = Thresholds(failures=3, successes=1)
# OpenSSL's X509_V_ERR codes (x509_vfy.h).
_VERIFY = {9: Trust.CERTIFICATE_NOT_YET_VALID, 10: Trust.CERTIFICATE_EXPIRED, 62: Trust.IDENTITY_MISMATCH}


@dataclass(frozen=True, slots=True)
class Door:
    """Where a site is asked who it is. name: what its certificate must cover; "" where it is an address.

    proves: whether what is found here is what is held of the site, of which a site has one door.
    gateway: (namespace, name) whose /status is read at `path`; None for a handshake alone.
    """

    site: str
    host: str
    port: int
    name: str
    pins: tuple[str, ...]
    proves: bool = True
    path: str = ""
    gateway: tuple[str, str] | None = None


# A site and one of its gateways; the gateway is ("", "") at the site's own endpoint.
DoorKey = tuple[str, tuple[str, str]]


def doors(sites: Iterable[GridSite], networks: Iterable[GridNetwork], own: str) -> dict[DoorKey, Door]:
    """Each site's gateway address, and each gateway's status endpoint. Our own address is not asked.

    A site without an address of its own is proved at the first of its gateways.
    """
    found: dict[DoorKey, Door] = {}
    pins: dict[str, tuple[str, ...]] = {}
    for site in sites:
        name, trust, endpoint = site.metadata.name, site.spec.trust, site.endpoint
        if trust is None or not trust.canonical_fingerprints or trust.cert_fingerprint:
            continue
        pins[name] = trust.canonical_fingerprints
        if name == own or endpoint is None or endpoint.tls.mode != "Mutual" or not endpoint.tls.server_name:
            continue
        host, _, port = endpoint.address.rpartition(":")
        if host and port.isdigit():
            server = endpoint.tls.server_name
            found[name, ("", "")] = Door(name, host.strip("[]"), int(port), server, pins[name])
    proved = {own, *(name for name, _ in found)}
    for network in networks:
        for ref in network.spec.gateway_refs:
            site_name, gateway = ref.local_site_name or network.metadata.name, (ref.namespace, ref.name)
            if ref.status_endpoint and site_name in pins:
                door = _status_door(ref.status_endpoint, site_name, pins[site_name], gateway)
                found[site_name, gateway] = replace(door, proves=site_name not in proved)
                proved.add(site_name)
    return found


def _status_door(url: str, site: str, pins: tuple[str, ...], gateway: tuple[str, str]) -> Door:
    authority, _, path = url.removeprefix("https://").partition("/")
    host, _, port = authority.rpartition(":")
    if not host or not port.isdigit():
        host, port = authority, "443"
    return Door(site, host.strip("[]"), int(port), "", pins, path=f"/{path or 'status'}", gateway=gateway)


@dataclass(slots=True)
class Reacher:
    """reached: by site. gateways: last status by (namespace, gateway). changed: called when one is new."""

    identity: Identity
    now: Callable[[], float]
    changed: Callable[[], None]
    random: Callable[[], float]
    every_s: float = EVERY_S
    reached: dict[str, Reach] = field(default_factory=dict)
    gateways: dict[tuple[str, str], GatewayStatus] = field(default_factory=dict)
    _rounds: Rounds[DoorKey, Door] = field(init=False)

    def __post_init__(self) -> None:
        self._rounds = Rounds(self._round, lambda door: self.every_s, self.random)  # noqa: ARG005

    def keep(self, group: asyncio.TaskGroup, wanted: Mapping[DoorKey, Door]) -> None:
        """Asks at these doors from now on; forgets what is not among them."""
        self._rounds.keep(group, wanted)
        for site in self.reached.keys() - {door.site for door in wanted.values() if door.proves}:
            del self.reached[site]
        asked = {door.gateway for door in wanted.values()}
        for gateway in self.gateways.keys() - asked:
            del self.gateways[gateway]

    def stop(self) -> None:
        self._rounds.stop()

    async def _round(self, _: DoorKey, door: Door) -> None:
        found, status = await ask(door, self.identity)
        known = self._known(door)
        if door.proves:
            before, now = self.reached.get(door.site), self.now()
            verdict = Verdict.OK if found is Trust.VERIFIED else Verdict.NO_ANSWER
            health = probed(before.health if before else unknown(now), verdict, _THRESHOLDS, now)
            self.reached[door.site] = Reach(found, health)
        if door.gateway is not None:
            if status is None:
                self.gateways.pop(door.gateway, None)
            else:
                self.gateways[door.gateway] = status
        if known != self._known(door):
            self.changed()

    def _known(self, door: Door) -> tuple[object, ...]:
        """What others act on: ages and streaks are no news."""
        reach = self.reached.get(door.site) if door.proves else None
        status = self.gateways.get(door.gateway) if door.gateway else None
        loaded = (status.accepted, status.serving) if status else ()
        return (
            reach and (reach.found, reach.health.phase),
            *(each.digest if each else None for each in loaded),
        )


async def ask(door: Door, identity: Identity) -> tuple[Trust, GatewayStatus | None]:
    """What a handshake at *door* proves, and the status read there, if one was asked for and sound."""
    try:
        context = identity.context(check_name=bool(door.name))
    except (OSError, ValueError):
        return Trust.TRUST_MATERIAL_MISSING, None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            name = door.name or door.host
            reader, writer = await asyncio.open_connection(
                door.host, door.port, ssl=context, server_hostname=name
            )
            try:
                return await _verify(door, reader, writer)
            finally:
                writer.close()
    except ssl.SSLCertVerificationError as fault:
        return _VERIFY.get(fault.verify_code, Trust.UNTRUSTED_ISSUER), None
    except ssl.SSLError:
        return Trust.TLS_PROTOCOL_ERROR, None
    except TimeoutError:
        return Trust.CONNECT_TIMEOUT, None
    except (OSError, ValueError):
        return Trust.CONNECTION_FAILED, None


async def _verify(
    door: Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> tuple[Trust, GatewayStatus | None]:
    leaf = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    if leaf is None or _fingerprint(leaf) not in door.pins:
        return Trust.PIN_MISMATCH, None
    if _common_name(leaf) != door.site:
        return Trust.IDENTITY_MISMATCH, None
    return Trust.VERIFIED, await _status(door, reader, writer) if door.gateway else None


async def _status(
    door: Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> GatewayStatus | None:
    """One GET over the very connection whose certificate was verified."""
    writer.write(f"GET {door.path} HTTP/1.0\r\nHost: {door.host}:{door.port}\r\n\r\n".encode())
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        body = bytearray()
        while len(body) <= MAX_STATUS_BYTES and (chunk := await reader.read(16 * 1024)):
            body += chunk
        return read_status(bytes(body)) if b" 200 " in head.split(b"\r\n", 1)[0] else None
    except (StatusRejected, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        return None


@functools.lru_cache(maxsize=4096)
def _common_name(der: bytes) -> str:
    """A site's leaf names the site, so that one certificate is not two sites. Asked again at every probe."""
    leaf = leaf_of(ssl.DER_cert_to_PEM_cert(der).encode())
    return leaf.common_name if isinstance(leaf, Leaf) else ""


def _fingerprint(der: bytes) -> str:
    return hashlib.sha256(der).hexdigest()
