"""Addresses on an interface: put there, reachable, and taken away again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forge.embedded.lb.interface import Interface, answer, request

# Runs in a network namespace of its own, whose loopback interface is its only one.
SCRIPT = """
import socket
from forge.embedded.lb.interface import Interface

def bound(address):
    with socket.socket() as one:
        try:
            one.bind((address, 0))
        except OSError as error:
            return error.strerror
    return "bound"

lo = Interface("lo")
seen = [lo.hold(["198.51.100.7", "198.51.100.8"]), bound("198.51.100.7")]
seen += [Interface("lo").hold(["198.51.100.7"]), lo.hold(["198.51.100.8"]), bound("198.51.100.7")]
seen += [bound("198.51.100.8"), sorted(lo.held)]
print(seen)
"""


def test_an_address_comes_and_goes_with_its_service() -> None:
    argv = ["unshare", "--net", sys.executable, "-c", SCRIPT]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    if "unshare" in done.stderr:
        pytest.skip(f"no network namespace of one's own: {done.stderr.strip()}")
    absent = "Cannot assign requested address"
    assert done.stdout.strip() == str([{}, "bound", {}, {}, absent, "bound", ["198.51.100.8"]]), done.stderr


def test_what_the_kernel_refuses_is_told_by_address() -> None:
    assert Interface("none0").hold(["198.51.100.7"]) == {"198.51.100.7": "none0: no interface with this name"}


def test_messages_are_what_rtnetlink_reads() -> None:
    message = request(20, 0x500, 3, "198.51.100.7")
    assert message.hex() == (
        "28000000140005050100000000000000022000000300000008000200c633640708000100c6336407"
    )
    assert answer(bytes.fromhex("2400000002000000010000000000000000000000")) == ""
    assert answer(bytes.fromhex("24000000020000000100000000000000ffffffff")) == "Operation not permitted"
