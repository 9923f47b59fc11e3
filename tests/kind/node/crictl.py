"""`crictl inspecti` and `crictl images [-o json]`: what ctr has registered."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.kind.node.ctr import loaded, qualified


def main(argv: list[str]) -> int:
    match [word for word in argv if not word.startswith("-")]:
        case ["inspecti", reference]:
            found = image(loaded(), reference)
            if found is None:
                sys.stderr.write(f'no such image "{reference}" present\n')
                return 1
            sys.stdout.write(json.dumps({"status": found}) + "\n")
        case ["images", "json"]:
            sys.stdout.write(json.dumps({"images": images(loaded())}) + "\n")
        case ["images", *_]:
            for reference, identity in sorted(loaded().items()):
                sys.stdout.write(f"{reference} {identity}\n")
        case _:
            sys.stderr.write("this is the test node's stand-in: inspecti and images is all it can\n")
            return 2
    return 0


def images(known: dict[str, str]) -> list[Any]:
    """All of them, each with every name it has."""
    return [image(known, identity) for identity in sorted(set(known.values()))]


def image(known: dict[str, str], reference: str) -> Any:
    """By its name or its id; None for one that was not loaded."""
    identity = known.get(qualified(reference)) or next(
        (i for i in known.values() if reference.removeprefix("sha256:") == i.removeprefix("sha256:")), None
    )
    if identity is None:
        return None
    return {"id": identity, "repoTags": sorted(name for name, i in known.items() if i == identity)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
