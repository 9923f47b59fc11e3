"""Real sockets: sites find each other, notice loss, rotate keys, and hear nothing from who does not belong."""

from __future__ import annotations

import asyncio
import os
import random
import socket

import pytest

from grid.mesh.udp import MAX_NETWORKS, MAX_TASKS, TooManyNetworks, open_mesh
from grid.seal.aead import Drop
from grid.swim import codec
from grid.swim.members import Claim
from grid.swim.messages import FactHeard, Kind, Lane, MemberDown, MemberLeft, Message
from grid.swim.node import SwimNode
from grid.swim.tuning import tuned
from tests.kit.eventually import eventually
from tests.kit.mesh_processes import MEMORY_KB, resident_kb
from tests.kit.meshes import KEY, NETWORK, QUICK, Site, all_know, keyring, opened, sites

OTHER_KEY = b"o" * 32


def node(name: str) -> SwimNode:
    return SwimNode(name, "127.0.0.1:1", 7, random.Random(1), QUICK)


def heard(site: Site, lane: Lane) -> list[bytes]:
    return [e.payload for e in site.events if isinstance(e, FactHeard) and e.lane is lane]


async def test_three_sites_find_each_other_and_hear_what_each_says() -> None:
    async with sites("west", "east", "north") as three:
        await eventually(lambda: all_know(three), "everybody knows everybody")
        west, *others = three
        west.mesh.publish(NETWORK, Lane.STATE, b"capacity")
        await eventually(
            lambda: all(heard(o, Lane.STATE) == [b"capacity"] for o in others), "the fact arrives"
        )


async def test_what_fits_no_datagram_comes_by_stream() -> None:
    async with sites("west", "east", "north") as three:
        await eventually(lambda: all_know(three), "everybody knows everybody")
        large = os.urandom(300_000)
        three[1].mesh.publish(NETWORK, Lane.CERT, large)
        others = (three[0], three[2])
        await eventually(
            lambda: all(heard(o, Lane.CERT) == [large] for o in others), "the large fact arrives"
        )


async def test_a_late_joiner_hears_what_was_said_before() -> None:
    async with sites("west", "east") as two:
        await eventually(lambda: all_know(two), "both know each other")
        two[0].mesh.publish(NETWORK, Lane.METADATA, b"us-west")
        async with opened("late", [two[1].address]) as late:
            await eventually(lambda: heard(late, Lane.METADATA) == [b"us-west"], "the old fact arrives")


async def test_a_seed_may_be_a_name() -> None:
    async with opened("west") as west, opened("east", [f"localhost:{west.mesh.port}"]) as east:
        await eventually(lambda: all_know([west, east]), "both know each other")


async def test_who_ends_without_a_word_is_dead_and_who_says_goodbye_has_left() -> None:
    async with sites("west", "east", "north") as three:
        async with opened("victim", [three[0].address]) as victim:
            await eventually(lambda: all_know([*three, victim]), "four know each other")
        await eventually(lambda: all(MemberDown("victim") in s.events for s in three), "it is found dead")
        three[2].mesh.leave(NETWORK)
        await eventually(lambda: all(MemberLeft("north") in s.events for s in three[:2]), "it has left")


async def test_a_restart_is_the_same_member_again() -> None:
    async with sites("west", "east") as two:
        async with opened("back", [two[0].address]) as first:
            await eventually(lambda: all_know([*two, first]), "three know each other")
            port = first.mesh.port
        async with opened("back", [], port=port, memory=first.node.memory()) as second:
            await eventually(lambda: all_know([*two, second]), "three know each other again, by memory alone")


async def test_a_cut_heals_by_itself() -> None:
    async with sites("west", "east", "north") as three:
        await eventually(lambda: all_know(three), "everybody knows everybody")
        west, *others = three
        for other in others:
            other.mesh.cut = frozenset({west.address})
        west.mesh.cut = frozenset(other.address for other in others)
        await eventually(lambda: not west.living() and all_know(others), "the cut is noticed on both sides")
        for site in three:
            site.mesh.cut = frozenset()
        await eventually(lambda: all_know(three), "one membership again")


async def traffic(site: Site) -> None:
    """A few datagrams come in."""
    before = site.mesh.counts["received"]
    await eventually(lambda: site.mesh.counts["received"] > before + 3, "traffic goes on")


async def test_keys_rotate_under_traffic_without_a_suspicion() -> None:
    async with sites("west", "east", "north") as three:
        await eventually(lambda: all_know(three), "everybody knows everybody")
        for ring in ((KEY, OTHER_KEY), (OTHER_KEY, KEY), (OTHER_KEY,)):
            for site in three:
                site.mesh.rekey(NETWORK, keyring(*ring))
                await traffic(site)
        assert all_know(three)
        assert not any(site.mesh.counts[Drop.NOT_AUTHENTIC] for site in three)


@pytest.mark.parametrize(
    "ring", [keyring(OTHER_KEY), keyring(grid="another")], ids=["another key", "another grid's id"]
)
async def test_who_does_not_belong_is_not_heard(ring: object) -> None:
    async with opened("west") as west, opened("stranger", [west.address], ring=ring) as stranger:  # type: ignore[arg-type]
        await eventually(lambda: west.mesh.counts[Drop.NOT_AUTHENTIC] >= 2, "its calls are dropped")
        assert not west.living()
        assert not stranger.living()


async def test_who_takes_anothers_address_harms_only_itself() -> None:
    """It has the key, and says it lives where another does: nothing that is sent there ever reaches it."""
    async with sites("west", "east", "north") as three:
        await eventually(lambda: all_know(three), "everybody knows everybody")
        async with opened("thief", [three[0].address], advertise=three[1].address) as thief:
            await eventually(lambda: thief.mesh.counts["sent"] > 20, "it speaks")
            await eventually(
                lambda: all("thief" not in site.living() for site in three), "and is found dead", within_s=60
            )
        for site in three:
            downs = {event.site for event in site.events if isinstance(event, MemberDown)}
            assert downs <= {"thief"}
        assert all_know(three)


async def flood(address: tuple[str, int], count: int) -> None:
    """Datagrams of random bytes, some with the right magic."""
    chance = random.Random(3)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(count):  # the loop reads one datagram a turn
            start = b"GRID\x01" if number % 3 == 0 else b""
            sender.sendto(start + chance.randbytes(chance.randrange(1, 1600)), address)
            await asyncio.sleep(0)


@pytest.mark.parametrize("count", [2_000, pytest.param(1_000_000, marks=pytest.mark.long)])
async def test_garbage_is_dropped_by_reason_and_nothing_else_happens(count: int) -> None:
    async with sites("west", "east") as two:
        await eventually(lambda: all_know(two), "both know each other")
        counts, before = two[0].mesh.counts, resident_kb()
        await flood(("127.0.0.1", two[0].mesh.port), count)
        await eventually(lambda: sum(counts[drop] for drop in Drop) > 0.9 * count, "it came, and is counted")
        assert counts[Drop.NOT_OURS] > count / 2
        assert counts[Drop.NOT_AUTHENTIC] > count / 5
        assert resident_kb() - before < MEMORY_KB
        await eventually(lambda: all_know(two), "both still know each other")
        assert two[0].node.view.table.members.keys() == {"east"}
        assert set(counts) <= {*Drop, "sent", "received", "exchanged", "exchange_broken"}


async def test_networks_share_a_socket_and_not_their_members() -> None:
    ring = keyring(OTHER_KEY, grid="second")
    async with sites("west", "east") as two:
        seconds = []
        for site in two:
            second = SwimNode(f"{site.name}-2", site.address, 7, random.Random(site.name), QUICK)
            site.mesh.host("second", second, ring, [two[0].address])
            seconds.append(second)
        await eventually(
            lambda: all_know(two) and all(n.view.size == 2 for n in seconds), "two networks of two"
        )
        assert [m.site for m in seconds[0].view.table] == ["east-2"]
        two[0].mesh.publish("second", Lane.STATE, b"of the second")
        await eventually(lambda: heard(two[1], Lane.STATE) == [b"of the second"], "the fact arrives")
        assert not list(two[1].node.view.facts)


async def test_networks_are_bounded() -> None:
    async with opened("here") as site:
        for number in range(MAX_NETWORKS - 1):
            site.mesh.host(f"network-{number}", node("here"), keyring(grid=f"grid-{number}"), [])
        with pytest.raises(TooManyNetworks):
            site.mesh.host("one more", node("here"), keyring(grid="more"), [])
        assert len(site.mesh.hosted) == MAX_NETWORKS


async def test_work_under_way_is_bounded() -> None:
    async with opened("here") as site:
        for number in range(MAX_TASKS + 1):
            host = Claim(f"site-{number}", f"127.0.1.{number}:9", number, 1)
            site.mesh.datagram_received(
                keyring().seal(codec.encode(Message(Kind.WELCOME, 0, 77, host))), None
            )
        assert site.mesh.counts["too_busy"] == 1
        await eventually(lambda: site.mesh.counts["exchange_broken"] == MAX_TASKS, "nobody answers there")


async def test_a_taken_port_is_refused() -> None:
    async with opened("here") as site, asyncio.TaskGroup() as group:
        with pytest.raises(OSError, match="in use"):
            async with open_mesh(group, "127.0.0.1", site.mesh.port, lambda *_: None):
                pass


async def test_twenty_sites_become_one_grid() -> None:
    """At rounds that twenty nodes of one loop can keep on a machine with much else to do."""
    async with sites(*(f"site-{number:02}" for number in range(20)), tuning=tuned(0.5, 10.0)) as twenty:

        def is_one() -> bool:
            return all_know(twenty) and len({site.node.view.digest for site in twenty}) == 1

        await eventually(is_one, "everybody knows everybody, and holds the same", within_s=60)
