"""`make bench`: every benchmark of this folder, or those named, one after the other.

Each module `tests/bench/NAME.py` has `main() -> None`, which measures side by side in one run and
prints what it measured, how, and the goal. Nothing here fails on a number: machines differ.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main(names: list[str]) -> None:
    here = Path(__file__).parent
    known = sorted(p.stem for p in here.glob("*.py") if not p.stem.startswith("_"))
    for name in names or known:
        module = importlib.import_module(f"tests.bench.{name}")
        if hasattr(module, "main"):
            print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
            module.main()


if __name__ == "__main__":
    main(sys.argv[1:])
