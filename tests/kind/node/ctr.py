"""`ctr images import` and `tag`: a register of what was loaded. Nothing is unpacked, since pods are
processes; that an image of a name and an id arrived is what there is to know."""

from __future__ import annotations

import json
import sys
import tarfile
from typing import IO

from tests.kind.node import place

NAMED = "docker.io/library/"
_DOCUMENTS = ("manifest.json", "index.json")
_PIECE = 1024 * 1024
"""Bytes read at once: an image has hundreds of megabytes, and all of them pass through here."""


def main(argv: list[str]) -> int:
    words = [word for word in argv if not word.startswith("-")]
    match words:
        case ["images", "import"] if argv[-1] == "-":
            found = archived(sys.stdin.buffer)
        case ["images", "tag", old, new]:
            known = loaded()
            found = {qualified(new): known[qualified(old)]} if qualified(old) in known else {}
        case _:
            sys.stderr.write("this is the test node's stand-in: `images import -` and `images tag` is all\n")
            return 2
    if not found:
        sys.stderr.write(f"ctr (test node): no image to {words[1]}\n")
        return 1
    place.write(place.LOADED, loaded() | found)
    for name in found:
        sys.stdout.write(f"registered {name}\n")
    return 0


def loaded() -> dict[str, str]:
    """References and the ids they stand for."""
    return dict(place.read(place.LOADED) or {})


def archived(stream: IO[bytes]) -> dict[str, str]:
    """The references in an archive as `docker save` writes it, each with its image's id."""
    found = dict.fromkeys(_DOCUMENTS, b"")
    with tarfile.open(fileobj=stream, mode="r|*", bufsize=_PIECE) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name in found else None
            if content is not None:
                found[member.name] = content.read()
    return {
        qualified(reference): identity(image["Config"])
        for image in json.loads(found["manifest.json"] or b"[]")
        for reference in image.get("RepoTags") or ()
    }


def identity(config: str) -> str:
    """`blobs/sha256/abc` or `abc.json`, as the archive's form has it."""
    return f"sha256:{config.rpartition('/')[2].removesuffix('.json')}"


def qualified(reference: str) -> str:
    """A reference with its registry and tag, as containerd keeps it."""
    first, slash, _ = reference.partition("/")
    if not slash:
        reference = NAMED + reference
    elif not ("." in first or ":" in first or first == "localhost"):
        reference = f"docker.io/{reference}"
    return reference if ":" in reference.rpartition("/")[2] else f"{reference}:latest"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
