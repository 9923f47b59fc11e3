"""`systemctl`: refuses, since there is no systemd; restarting containerd is nothing to do."""

from __future__ import annotations

import sys


def main(argv: list[str]) -> int:
    if argv in (["restart", "containerd"], ["restart", "containerd.service"]):
        return 0
    sys.stderr.write(f"this is the test node's stand-in: no systemd to {' '.join(argv)}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
