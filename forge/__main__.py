"""The `praxis-forge` command.

The two questions that scripts and people ask most, `--version` and `--help`, are answered before
anything is imported: a test keeps cli/help.txt equal to what the command line would print.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Runs the command line and exits with its code."""
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


if __name__ == "__main__":
    main()
