"""`containerd config dump`: the one setting that kind reads before it loads an image."""

from __future__ import annotations

import sys
from pathlib import Path

CONFIG = Path("/etc/containerd/config.toml")


def main(argv: list[str]) -> int:
    if argv != ["config", "dump"]:
        sys.stderr.write("this is the test node's stand-in: there is no containerd\n")
        return 2
    sys.stdout.write(CONFIG.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
