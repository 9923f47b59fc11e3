"""The whole suite on all cores; what fails there, when it is little, once more and alone.

Several thousand tests start real servers, side by side, on however loaded a machine. One that fails
there and passes alone is unsteady, not a regression: it is named at the end, and it is a defect of the
test (or of what it tests) to be mended. What fails twice, or in numbers, fails the run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FEW = 5
_LAST = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    """Runs pytest with *arguments*; answers its exit code, or that of the second run."""
    _LAST.unlink(missing_ok=True)
    code = subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode
    failed = _failed()
    if code != 1 or not 1 <= len(failed) <= FEW:
        return code
    _say("once more, alone", failed)
    alone = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", *failed]
    code = subprocess.run(alone, check=False).returncode
    if code == 0:
        _say("UNSTEADY, failed among the others and passed alone", failed)
    return code


def _say(what: str, tests: list[str]) -> None:
    sys.stdout.write("\n  ".join([f"\n{what}:", *tests]) + "\n")
    sys.stdout.flush()


def _failed() -> list[str]:
    try:
        return sorted(json.loads(_LAST.read_text("utf-8")))
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
