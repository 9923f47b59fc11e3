"""Real processes on loopback addresses of their own: killed, stopped, continued and flooded, they stay one grid."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket

import pytest

from tests.kit.eventually import eventually
from tests.kit.mesh_processes import MEMORY_KB, PORT, Start, all_started, is_one


def starts(count: int) -> list[Start]:
    """A block of loopback addresses that no other run of this test has."""
    pid = os.getpid()
    block = f"127.{100 + pid % 100}.{pid // 100 % 250}"
    seeds = (f"{block}.1:{PORT}",)
    return [Start(f"site-{number:02}", f"{block}.{number}", seeds) for number in range(1, count + 1)]


@pytest.mark.parametrize("count", [6, pytest.param(20, marks=pytest.mark.long)])
async def test_processes_stay_one_grid(count: int) -> None:
    async with all_started(starts(count)) as all_of_them:
        await eventually(lambda: is_one(all_of_them), "everybody knows everybody", within_s=90)
        all_of_them[4].say("capacity")
        others = [one for one in all_of_them if one is not all_of_them[4]]
        await eventually(
            lambda: all(o.facts.get("site-05") == "capacity" for o in others), "the fact is everywhere"
        )

        killed, stopped, *rest = all_of_them[2:4] + all_of_them[:2] + all_of_them[4:]
        killed.process.kill()
        stopped.process.send_signal(signal.SIGSTOP)
        await eventually(lambda: is_one(rest), "the killed and the stopped are gone", within_s=60)
        stopped.process.send_signal(signal.SIGCONT)
        await eventually(lambda: is_one([stopped, *rest]), "who was stopped refutes and is back", within_s=60)


async def flood(address: tuple[str, int], count: int) -> None:
    """Datagrams of random bytes, some with the right magic, as fast as they are taken."""
    chance = random.Random(3)
    bodies = [chance.randbytes(chance.randrange(1, 1600)) for _ in range(997)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(count):
            start = b"GRID\x01" if number % 3 == 0 else b""
            sender.sendto(start + bodies[number % len(bodies)], address)
            if number % 64 == 0:
                await asyncio.sleep(0)


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
async def test_a_flood_of_garbage_takes_no_member_and_no_memory(count: int) -> None:
    made = starts(3)
    async with all_started(made) as three:
        await eventually(lambda: is_one(three), "everybody knows everybody", within_s=60)
        target = (made[1].host, PORT)
        await flood(target, 2_000)
        before = three[1].resident_kb()
        await flood(target, count)
        three[1].say("still here")
        await eventually(
            lambda: all(o.facts.get("site-02") == "still here" for o in (three[0], three[2])), "it speaks"
        )
        await eventually(lambda: is_one(three), "nobody else came, and nobody went", within_s=60)
        assert three[1].resident_kb() - before < MEMORY_KB
