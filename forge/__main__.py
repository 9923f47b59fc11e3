"""The `praxis-forge` command.

The two questions that scripts and people ask most, `--version` and `--help`, are answered before
anything is imported: a test keeps cli/help.txt equal to what the command line would print.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Runs the command line and exits with its code."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed()
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from forge import __version__

        sys.stdout.write(f"praxis-forge {__version__}\n")
        return
    if arguments in ([], ["--help"], ["-h"]):
        sys.stdout.write(Path(__file__).with_name("cli").joinpath("help.txt").read_text(encoding="utf-8"))
        return
    from forge.cli.main import run

    sys.exit(run(arguments))


def _open_closed() -> None:
    """Standard streams that are closed lead nowhere, so that no file of ours comes to stand in their place
    and is written to by a child that takes it for its output."""
    import os

    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(nowhere, True)  # noqa: FBT003 - its own signature
    os.close(nowhere)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()
