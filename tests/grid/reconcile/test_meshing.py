"""The mesh as an operator runs it: keys from Secrets, a node a network, a goodbye only where a network goes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import random
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from grid.crd.network import GridNetwork, read_network
from grid.kube.port import CONFIG_MAP, SECRET, KubeFault
from grid.mesh.lanes import SiteSaid
from grid.mesh.udp import MAX_NETWORKS
from grid.reconcile.gossip import OwnPlace
from grid.reconcile.meshing import Meshing
from grid.reconcile.settings import MeshSettings
from grid.reconcile.world import Membership
from tests.kit.eventually import eventually
from tests.kit.fake_kube import FakeKube
from tests.kit.resources import network
from tests.kit.worlds import capacity

SYSTEM, NAME = "grid-system", "grid-swim-key"
ONE, OTHER, THIRD = b"1" * 32, b"2" * 32, b"3" * 32
FASTER = 20
"""By how much these operators' wall clock runs ahead: Secrets are looked at twice a second."""


def clock() -> float:
    return time.time() * FASTER


async def seal(kube: FakeKube, key: bytes, previous: bytes = b"", name: str = NAME) -> None:
    data = {"key": base64.b64encode(key).decode()}
    if previous:
        data["previous"] = base64.b64encode(previous).decode()
    metadata = {"name": name, "namespace": SYSTEM}
    with contextlib.suppress(KubeFault):
        await kube.delete(SECRET, name, SYSTEM)
    await kube.create(SECRET, {"metadata": metadata, "data": data})


def wanted(*seeds: str, name: str = "production", secret: str = NAME, **spec: Any) -> GridNetwork:
    swim = {"probeInterval": "100ms", "suspicionTimeout": "1s"}
    ref = {"swimKeyRef": {"namespace": SYSTEM, "name": secret}}
    return read_network(network(name, **{"seeds": list(seeds), "swim": swim, "tls": ref, **spec}))


@dataclass
class Site:
    """One operator's mesh. woken: how often it had news."""

    name: str
    kube: FakeKube
    mesh: Meshing
    group: asyncio.TaskGroup
    woken: list[float] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.mesh.settings.port}"

    def keep(self, *networks: GridNetwork, unread: frozenset[str] = frozenset()) -> None:
        self.mesh.keep(self.group, networks, unread)

    def reason(self, name: str = "production") -> str:
        standing = self.mesh.standings().get(name)
        return standing.reason if standing else ""

    def sees(self, site: str, name: str = "production") -> Membership | None:
        member = self.mesh.members().get((name, site))
        return member.state if member else None


def free_port() -> int:
    """Free for datagrams and for streams."""
    with socket.socket() as probe, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        probe.bind(("127.0.0.1", 0))
        datagrams.bind(probe.getsockname())
        return int(probe.getsockname()[1])


@contextlib.asynccontextmanager
async def site(
    name: str, key: bytes = ONE, port: int = 0, kube: FakeKube | None = None
) -> AsyncIterator[Site]:
    if kube is None:
        kube = FakeKube()
        await seal(kube, key)
    woken: list[float] = []
    mesh = Meshing(
        kube,
        MeshSettings("127.0.0.1", port or free_port()),
        name,
        SYSTEM,
        wake=lambda: woken.append(1),
        now=clock,
        chance=random.Random(),
        nonce=lambda: os.urandom(12),
    )
    async with asyncio.TaskGroup() as group:
        yield Site(name, kube, mesh, group, woken)
        mesh.rest()


@contextlib.asynccontextmanager
async def pair() -> AsyncIterator[tuple[Site, Site]]:
    """Two sites of one network that know each other."""
    async with site("east") as east, site("west") as west:
        for one in (east, west):
            one.keep(wanted(east.address, west.address))
        await eventually(
            lambda: east.sees("west") is west.sees("east") is Membership.ALIVE, "both know each other"
        )
        yield east, west


PLACE = OwnPlace(SiteSaid("provider", "eu-west"), "10.0.0.2:8443")


async def test_what_one_offers_the_other_has() -> None:
    async with pair() as (east, west):
        await eventually(lambda: east.mesh.heard() and west.mesh.heard(), "both have met")
        woken = len(east.woken)
        west.mesh.publish((capacity("west", "sim-a"), capacity("west", "sim-b", network="other")), PLACE)
        await eventually(lambda: len(east.mesh.capacities()) == 1, "it is heard")
        (found,) = east.mesh.capacities()
        assert (found.network, found.site, found.provider) == ("production", "west", "sim-a")
        assert east.mesh.capacities() is east.mesh.capacities()
        await eventually(lambda: east.mesh.members()["production", "west"].address != "", "and its address")
        assert east.mesh.members()["production", "west"].facts.region == "eu-west"
        assert len(east.woken) > woken
        assert west.mesh.capacities() == (), "its own come from elsewhere"


async def test_a_network_that_goes_is_left_and_one_that_cannot_be_read_stays() -> None:
    async with pair() as (east, west):
        west.keep(unread=frozenset({"production"}))
        before = west.mesh.opened.counts["received"] if west.mesh.opened else 0
        await eventually(
            lambda: west.mesh.opened is not None and west.mesh.opened.counts["received"] > before + 5,
            "it goes on",
        )
        assert east.sees("west") is Membership.ALIVE
        west.keep()
        await eventually(lambda: east.sees("west") is Membership.LEFT, "it said goodbye")
        assert west.mesh.standings() == {}


async def test_a_leader_that_rests_says_no_goodbye_and_the_next_one_goes_on() -> None:
    async with pair() as (east, west):
        seen: set[Membership | None] = set()
        west.mesh.publish((capacity("west", "sim-a"),), PLACE)
        await eventually(lambda: len(east.mesh.capacities()) == 1, "it is heard")
        port = west.mesh.settings.port
        first = west.mesh.opened.hosted["production"].node.view.me if west.mesh.opened else None
        west.mesh.rest()
        await eventually(lambda: west.mesh.opened is None, "it is closed")
        async with site("west", port=port, kube=west.kube) as after:
            after.keep(wanted())
            await eventually(
                lambda: after.sees("east") is Membership.ALIVE, "it is back, by its memory alone"
            )
            seen.add(east.sees("west"))
            second = after.mesh.opened.hosted["production"].node.view.me if after.mesh.opened else None
            assert first is not None
            assert second is not None
            assert second.incarnation > first.incarnation
            assert after.mesh.heard()
            await eventually(lambda: east.sees("west") is Membership.ALIVE, "and is one of two")

            def is_gone() -> bool:
                """The operator's loop states what it has again and again; so does this."""
                after.mesh.publish((), PLACE)
                return east.mesh.capacities() == ()

            await eventually(is_gone, "what it has no more is gone")
        assert Membership.LEFT not in seen


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        pytest.param(b"short", "SwimKeyMalformed", id="malformed"),
        pytest.param(None, "SwimKeyUnreadable", id="not there"),
    ],
)
async def test_without_a_good_key_nothing_is_said_or_heard(key: bytes | None, reason: str) -> None:
    async with site("east") as east, site("west") as west:
        east.keep(wanted())
        if key is None:
            await east.kube.delete(SECRET, NAME, SYSTEM)
        else:
            await seal(east.kube, key)
        west.keep(wanted(east.address))
        await eventually(lambda: east.reason() == reason, "it is said why not")
        assert not east.mesh.standings()["production"].running
        assert east.mesh.opened is not None
        await eventually(
            lambda: west.mesh.opened is not None and west.mesh.opened.counts["sent"] > 3, "it is called"
        )
        assert east.mesh.opened.counts["sent"] == 0
        assert east.mesh.heard(), "nobody waits for what will not come"
        await seal(east.kube, ONE)
        await eventually(lambda: west.sees("east") is Membership.ALIVE, "once the key is good, it joins")
        assert east.reason() == "Running"


async def test_a_seed_that_is_none_is_said_and_the_others_are_called() -> None:
    async with site("east") as east, site("west") as west:
        east.keep(wanted())
        west.keep(wanted("nowhere", east.address, "host:port"))
        await eventually(lambda: east.sees("west") is Membership.ALIVE, "the good one is called")
        assert west.reason() == "SeedsUnusable"
        assert west.mesh.standings()["production"].message == "no host:port: nowhere, host:port"


async def test_seeds_without_a_key_are_no_mesh() -> None:
    async with site("east") as east, site("west") as west:
        east.keep(wanted("127.0.0.1:1", tls={}), wanted(name="other"))
        await eventually(lambda: east.reason() == "SwimKeyMissing", "it is said")
        assert east.reason("other") == "Running"
        west.keep(wanted(tls={}))
        assert west.mesh.heard()
        assert west.mesh.opened is None


def keys_of(one: Site) -> tuple[bytes, ...]:
    return one.mesh._lines["production"].keys


async def test_keys_rotate_under_traffic_and_nobody_is_suspected() -> None:
    async with pair() as (east, west):
        both = (east, west)
        for key, previous in ((ONE, OTHER), (OTHER, ONE), (OTHER, b"")):
            for one in both:
                await seal(one.kube, key, previous)
            keys = tuple(k for k in (key, previous) if k)
            await eventually(lambda keys=keys: all(keys_of(o) == keys for o in both), "it is read")  # type: ignore[misc]
            assert [one.sees(other.name) for one, other in (both, both[::-1])] == [Membership.ALIVE] * 2
        for one in both:
            assert one.mesh.opened is not None
            assert one.mesh.opened.hosted["production"].node.view.counts["suspicions"] == 0


async def test_a_key_that_turns_bad_leaves_the_one_before_it_sealing() -> None:
    async with pair() as (east, west):
        await seal(east.kube, b"bad")
        await eventually(lambda: east.reason() == "SwimKeyMalformed", "it is said")
        assert east.mesh.standings()["production"].running
        assert east.sees("west") is west.sees("east") is Membership.ALIVE


async def test_networks_of_one_socket_have_keys_and_members_of_their_own() -> None:
    async with site("east") as east, site("west") as west:
        for one in (east, west):
            await seal(one.kube, OTHER, name="other-key")
            one.keep(wanted(east.address), wanted(east.address, name="second", secret="other-key"))
        await eventually(
            lambda: all(east.sees("west", name) for name in ("production", "second")), "both networks join"
        )
        west.mesh.publish((capacity("west", "sim-a"), capacity("west", "sim-b", network="second")), PLACE)
        await eventually(lambda: len(east.mesh.capacities()) == 2, "each hears its own")
        assert {(c.network, c.provider) for c in east.mesh.capacities()} == {
            ("production", "sim-a"),
            ("second", "sim-b"),
        }
        west.keep(wanted(east.address))
        await eventually(lambda: east.sees("west", "second") is Membership.LEFT, "one is left")
        assert east.sees("west") is Membership.ALIVE


async def test_two_networks_in_one_grid_with_one_key_are_refused_by_name() -> None:
    async with site("east") as east:
        east.keep(wanted(gridId="one"), wanted(name="second", gridId="one"))
        await eventually(lambda: east.reason("second") == "GridIdTaken", "it is said")
        assert east.reason() == "Running"


async def test_networks_are_bounded() -> None:
    async with site("east") as east:
        east.keep(*(wanted(name=f"network-{number:02}") for number in range(MAX_NETWORKS + 1)))
        last = f"network-{MAX_NETWORKS}"
        await eventually(lambda: east.reason(last) == "TooManyNetworks", "the last is refused")
        assert east.mesh.opened is not None
        assert len(east.mesh.opened.hosted) == MAX_NETWORKS


async def test_a_taken_port_is_said_and_tried_again() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        async with site("east", port=port) as east:
            east.keep(wanted())
            await eventually(lambda: east.reason() == "BindFailed", "it is said")
            assert str(port) in east.mesh.standings()["production"].message


async def test_a_port_that_becomes_free_is_taken() -> None:
    port = free_port()
    async with site("east", port=port) as east:
        with socket.create_server(("127.0.0.1", port)):
            east.keep(wanted())
            await eventually(lambda: east.reason() == "BindFailed", "it is said")

        def again() -> bool:
            east.keep(wanted())
            return east.reason() == "Running"

        await eventually(again, "it runs")


async def test_other_numbers_seeds_and_another_grid_are_followed() -> None:
    async with site("east") as east, site("west") as west:
        east.keep(wanted())
        west.keep(wanted())
        await eventually(lambda: east.reason() == west.reason() == "Running", "both run alone")
        west.keep(wanted(east.address, swim={"probeInterval": "200ms", "suspicionTimeout": "2s"}))
        await eventually(lambda: east.sees("west") is Membership.ALIVE, "a new seed is called")
        assert west.mesh.opened is not None
        assert west.mesh.opened.hosted["production"].node.view.tuning.probe_interval_s == 0.2
        west.keep(wanted(east.address, gridId="another"))
        await eventually(lambda: east.sees("west") is Membership.DEAD, "it is of another grid now")
        assert west.sees("east") is None


def taken_by(one: Site) -> str:
    standing = one.mesh.standings().get("production")
    return standing.taken_by if standing else ""


async def test_who_shares_its_name_is_told() -> None:
    async with pair() as (east, west), site("west") as twin:
        twin.keep(wanted(east.address))
        await eventually(
            lambda: taken_by(west) == twin.address or taken_by(twin) == west.address, "one is told"
        )


async def test_what_it_should_know_next_time_is_kept() -> None:
    async with pair() as (east, west):
        await eventually(
            lambda: west.address in str(east.kube.shown(CONFIG_MAP, "grid-mesh-production", SYSTEM)),
            "its peer is kept",
        )


async def test_an_api_that_does_not_answer_holds_nothing_up_that_runs() -> None:
    async with pair() as (east, west):
        east.kube.faults = [KubeFault(0, "no answer")] * 200
        west.mesh.publish((capacity("west", "sim-a"),), PLACE)
        await eventually(lambda: len(east.mesh.capacities()) == 1, "it is heard")
        assert east.reason() == "Running"
