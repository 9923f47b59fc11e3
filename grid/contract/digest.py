"""What two documents, or two candidates, are compared by.

`content_digest` covers what routes and leaves out what merely informs: times, revision and each candidate's
`score`. A metric that wiggles without changing an order changes no digest. It is taken over the JSON as
received, so a field a reader does not know is covered too.

`stable_id` names a candidate by what it is, not by where it stands. Each part is preceded by its length, so
no separator inside a name can make two candidates one (model names do hold slashes).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from grid.contract.canonical import canonical

PREFIX = "sha256:"
_COVERED = ("candidates", "consumer", "grid_id", "network")
_UNCOVERED_OF_CANDIDATE = "score"


def content_digest(document: Mapping[str, object]) -> str:
    """`sha256:…` of a v1alpha2 document's covered part. Raises ValueError if that is not canonical JSON."""
    covered = {name: document[name] for name in _COVERED if name in document}
    candidates = covered.get("candidates")
    if isinstance(candidates, list):
        covered["candidates"] = [_without_score(candidate) for candidate in candidates]
    return sha256(canonical(covered))


def stable_id(kind: str, name: str, site: str, cluster: str) -> str:
    """`sha256:…` over each part's length (8 bytes, big-endian) and its UTF-8 bytes."""
    parts = [part.encode() for part in (kind, name, site, cluster)]
    return sha256(b"".join([len(part).to_bytes(8, "big") + part for part in parts]))


def sha256(data: bytes) -> str:
    """`sha256:` and 64 lower-case hex digits."""
    return PREFIX + hashlib.sha256(data).hexdigest()


def _without_score(candidate: object) -> object:
    if not isinstance(candidate, Mapping) or _UNCOVERED_OF_CANDIDATE not in candidate:
        return candidate
    return {name: value for name, value in candidate.items() if name != _UNCOVERED_OF_CANDIDATE}
