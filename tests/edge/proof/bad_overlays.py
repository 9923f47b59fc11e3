"""Documents that are no overlay a gateway may use, one of each kind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tests.kit.overlays import Json, candidate, current, instant

GOOD = candidate("provider-west")
Kind = tuple[str, bytes | None]


def bad_overlays(revision: int) -> Iterator[Kind]:
    """(what is wrong, the document); None: no file. Each would be the next after *revision*."""
    sound = current([GOOD], revision + 1)
    yield "no file", None
    yield from _bytes(sound)
    yield from _fields(revision)
    yield from _candidates(revision)


def _bytes(sound: bytes) -> Iterator[Kind]:
    yield "empty", b""
    yield "blank", b" \n"
    yield "torn at the first byte", sound[:1]
    yield "torn in the middle", sound[: len(sound) // 2]
    yield "torn at the last byte", sound[:-1]
    yield "something after it", sound + b"{}"
    yield "not UTF-8", sound.replace(b"provider-west", b"provider-\xff\xfe")
    yield "UTF-16", sound.decode().encode("utf-16")
    yield "null", b"null"
    yield "a list", b"[]"
    yield "a number", b"42"
    yield "a text", b'"overlay"'
    yield "an empty object", b"{}"
    yield "another program's file", b'{"version":"invalid","load_balancer":null}'
    yield "YAML", b"candidates: []\n"
    yield "over 2 MiB", sound + b" " * (2 * 1024 * 1024)
    yield "nested without end", b"[" * 100_000
    yield "a key twice", sound.replace(b'"network":', b'"network": "x", "network":', 1)
    yield "not a number", sound.replace(b"9.1234", b"NaN")
    yield "zeros", bytes(4096)


def _fields(revision: int) -> Iterator[Kind]:
    now = time.time()
    changes: dict[str, dict[str, Any]] = {
        "another version": {"api_version": "grid.praxis.fast/v9"},
        "another format's version": {"api_version": None, "schema_version": "2.0.0"},
        "an envelope without its version": {"api_version": None, "scope": {}},
        "no network": {"network": None},
        "another network's": {"network": "staging"},
        "no consumer": {"consumer": None},
        "a consumer without a site": {"consumer": {"gateway": "edge-us-east"}},
        "no digest": {"content_digest": None},
        "another content's digest": {"content_digest": "sha256:" + "0" * 64},
        "a digest of another kind": {"content_digest": "md5:00"},
        "an older revision": {"revision": revision - 1, "generated_at": instant(now - 3600)},
        "the same revision, another content": {"revision": revision, "generated_at": instant(now - 3600)},
        "a revision that is a text": {"revision": str(revision + 1)},
        "a negative revision": {"revision": -1},
        "a moment that is none": {"generated_at": "yesterday"},
        "from the future": {"generated_at": instant(now + 3600), "valid_until": instant(now + 7200)},
        "valid until before it was made": {"valid_until": instant(now - 7200)},
    }
    for name, change in changes.items():
        yield name, current([GOOD], **{"revision": revision + 1, **change})


def _candidates(revision: int) -> Iterator[Kind]:
    def of(*found: object) -> bytes:
        return current(list(found), revision + 1)

    yield "candidates that are no list", of().replace(b"[]", b"{}")
    yield "a candidate that is no object", of("provider-west")
    yield "1,025 candidates", of(*(candidate(f"s{n}", rank=n) for n in range(1025)))
    yield "a candidate twice", of(GOOD, {**GOOD, "rank": 1})
    yield "a rank twice", of(GOOD, candidate("provider-east"))
    yield "another candidate's id", of({**GOOD, "stable_id": candidate("provider-east")["stable_id"]})
    changes: dict[str, Json] = {
        "an empty name": {"name": ""},
        "a name of 257 bytes": {"name": "m" * 257},
        "a control character in a name": {"name": "shared\nmodel"},
        "an unknown admission state": {"admission_state": "perhaps"},
        "an unknown tier": {"selection_tier": "next_door"},
        "a negative rank": {"rank": -1},
        "a rank that is a text": {"rank": "0"},
        "a credential with its bytes": {"credential": {"strategy": "bearer_token", "token": "canary"}},
    }
    for name, change in changes.items():
        yield name, of(candidate("provider-west", **change))  # type: ignore[arg-type]  # names of fields
