"""Five hosts with network stacks of their own: parted, healed and under loss, they stay one grid or become one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.kit.eventually import eventually
from tests.kit.mesh_processes import PORT, Start, all_started, is_one

COUNT = 5
NETEM = ("tc", "qdisc", "add", "dev", "eth0", "root", "netem", "loss", "5%", "delay", "5ms", "4ms")
RANDOMLY = ("-m", "statistic", "--mode", "random", "--probability", "0.05")
STATISTIC = ("iptables", "-A", "INPUT", "-p", "udp", *RANDOMLY, "-j", "DROP")


def ip(*words: str) -> bool:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, timeout=30)
    return done.returncode == 0


@dataclass(frozen=True)
class Hosts:
    """Namespaces with one interface each, on a bridge in a namespace of its own."""

    prefix: str

    @property
    def hub(self) -> str:
        return f"{self.prefix}-hub"

    def name(self, number: int) -> str:
        return f"{self.prefix}-{number}"

    def make(self) -> bool:
        made = ip("netns", "add", self.hub)
        for bridge in ("one", "other"):
            made = made and ip("-n", self.hub, "link", "add", bridge, "type", "bridge")
            made = made and ip("-n", self.hub, "link", "set", bridge, "up")
        return made and all(self._host(number) for number in range(1, COUNT + 1))

    def _host(self, number: int) -> bool:
        name, port = self.name(number), f"port{number}"
        peer = ("peer", "name", "eth0", "netns", name)
        return (
            ip("netns", "add", name)
            and ip("-n", self.hub, "link", "add", port, "type", "veth", *peer)
            and ip("-n", self.hub, "link", "set", port, "master", "one", "up")
            and ip("-n", name, "address", "add", f"10.88.0.{number}/24", "dev", "eth0")
            and ip("-n", name, "link", "set", "eth0", "up")
            and ip("-n", name, "link", "set", "lo", "up")
        )

    def part(self, *numbers: int) -> None:
        """These hosts on the other bridge, all others on the first."""
        for number in range(1, COUNT + 1):
            bridge = "other" if number in numbers else "one"
            assert ip("-n", self.hub, "link", "set", f"port{number}", "master", bridge)

    def lose(self, *argv: str) -> bool:
        """Every host loses a share of the datagrams that come, by this command; False where it cannot."""
        return all(self._in(number, *argv) for number in self.all)

    @property
    def all(self) -> range:
        return range(1, COUNT + 1)

    def _in(self, number: int, *argv: str) -> bool:
        whole = ["ip", "netns", "exec", self.name(number), *argv]
        return subprocess.run(whole, check=False, capture_output=True, timeout=30).returncode == 0

    def remove(self) -> None:
        for number in self.all:
            ip("netns", "delete", self.name(number))
        ip("netns", "delete", self.hub)

    def starts(self) -> list[Start]:
        seeds = (f"10.88.0.1:{PORT}", f"10.88.0.5:{PORT}")
        return [
            Start(f"site-{n}", f"10.88.0.{n}", seeds, ("ip", "netns", "exec", self.name(n))) for n in self.all
        ]


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if os.getuid() or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    made = Hosts(f"pg{os.getpid()}")
    try:
        if not made.make():
            pytest.skip("this kernel makes no network namespaces with bridges")
        yield made
    finally:
        made.remove()


async def test_five_hosts_part_and_heal(hosts: Hosts) -> None:
    async with all_started(hosts.starts()) as five:
        await eventually(lambda: is_one(five), "everybody knows everybody", within_s=60)
        left, right = five[:2], five[2:]
        hosts.part(1, 2)
        await eventually(lambda: is_one(left) and is_one(right), "each side knows its own", within_s=60)
        for one in five:
            one.say(f"during {one.name}")
        hosts.part()
        await eventually(lambda: is_one(five), "one membership again", within_s=60)

        def agree() -> bool:
            said = {one.name: f"during {one.name}" for one in five}
            return all(o.facts == {k: v for k, v in said.items() if k != o.name} for o in five)

        await eventually(agree, "and one state", within_s=60)


@pytest.mark.parametrize(
    ("argv", "missing"),
    [
        pytest.param(NETEM, "sch_netem (tc) is not in this kernel", id="tc netem"),
        pytest.param(STATISTIC, "xt_statistic (iptables) is not in this kernel", id="iptables statistic"),
    ],
)
async def test_five_hosts_hold_together_under_loss(hosts: Hosts, argv: tuple[str, ...], missing: str) -> None:
    if shutil.which(argv[0]) is None or not hosts.lose(*argv):
        pytest.skip(missing)
    async with all_started(hosts.starts()) as five:
        await eventually(lambda: is_one(five), "everybody knows everybody", within_s=60)
        for number in range(20):
            for one in five:
                one.say(f"{number} of {one.name}")
            last = f"{number} of"
            await eventually(
                lambda last=last: all(  # type: ignore[misc]
                    o.facts.get(p.name) == f"{last} {p.name}" for o in five for p in five if o is not p
                ),
                "what each says is heard by all",
                within_s=60,
            )
        five[3].process.kill()
        rest = [one for one in five if one is not five[3]]
        await eventually(lambda: is_one(rest), "the killed is gone, and nobody else", within_s=60)
