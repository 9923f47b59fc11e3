"""`journalctl`: the daemon's log stands for the kubelet's; of other units there is none, said so."""

from __future__ import annotations

import sys
from itertools import pairwise

from tests.kind.node import place


def main(argv: list[str]) -> int:
    unit = next((after for word, after in pairwise(argv) if word in ("-u", "--unit")), "")
    log = place.CLUSTER / "log"
    if unit in ("", "kubelet.service", "kubelet") and log.exists():
        sys.stdout.write(log.read_text(encoding="utf-8", errors="replace"))
    else:
        sys.stdout.write(f"-- test node: a stand-in without systemd, no log of {unit or 'the node'} --\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
