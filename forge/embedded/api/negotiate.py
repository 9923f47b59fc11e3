"""Content negotiation: what an answer may look like, and what a body is said to be.

JSON and YAML are written; protobuf is only read. Where a client lists protobuf first and JSON second,
as kubectl does, it gets JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from forge.embedded.api import status

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OFFERED = (JSON, YAML, PROTOBUF)

TRANSFORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


@dataclass(frozen=True, slots=True)
class Answer:
    """media: JSON or YAML. kind: one of TRANSFORMS, empty for the object itself. version: of meta.k8s.io."""

    media: str = JSON
    kind: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Clause:
    """One alternative of an Accept header."""

    media: str
    parameters: dict[str, str]


def clauses(accept: str) -> list[Clause]:
    """The alternatives of *accept*, best first."""
    found: list[tuple[float, int, Clause]] = []
    for order, part in enumerate(accept.split(",")):
        media, *raw = (p.strip() for p in part.split(";"))
        parameters = dict(p.split("=", 1) for p in raw if "=" in p)
        found.append((-_quality(parameters.pop("q", "1")), order, Clause(media.lower(), parameters)))
    return [clause for _, _, clause in sorted(found, key=lambda f: f[:2])]


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


@lru_cache(maxsize=512)
def answer(accept: str) -> Answer:
    """The first acceptable alternative of *accept*; raises 406 when there is none."""
    if not accept.strip():
        return Answer()
    for clause in clauses(accept):
        chosen = _choose(clause)
        if chosen is not None:
            return chosen
    raise status.not_acceptable(OFFERED)


def _choose(clause: Clause) -> Answer | None:
    media = {"*/*": JSON, "application/*": JSON, JSON: JSON, YAML: YAML, "application/yml": YAML}.get(
        clause.media
    )
    if media is None:
        return None
    kind = clause.parameters.get("as", "")
    if not kind:
        return Answer(media)
    version = clause.parameters.get("v", "")
    if kind in TRANSFORMS and clause.parameters.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1"):
        return Answer(media, kind, version)
    return None


@lru_cache(maxsize=512)
def error_media(accept: str) -> str:
    """How a refusal is written for *accept*: never fails."""
    try:
        return answer(accept).media
    except status.ApiError:
        return JSON


@lru_cache(maxsize=512)
def body_media(content_type: str) -> str:
    """What a body is read as; absent means JSON. Raises 415."""
    media = content_type.split(";", maxsplit=1)[0].strip().lower()
    if media in ("", "*/*"):
        return JSON
    if media not in OFFERED:
        raise status.unsupported_media_type(OFFERED)
    return media
