"""Files that steps write: clusters are worked on side by side, so no two write different things to one."""

from __future__ import annotations

from collections.abc import Iterator

from forge.spec.model import Environment
from forge.spec.problems import Problem
from forge.spec.rules.uses import Uses, Write
from forge.spec.source import Source


def clusters_write_their_own_files(_: Environment, source: Source, found: Uses) -> Iterator[Problem]:
    first: dict[str, Write] = {}
    told: set[str] = set()
    for write in found.writes:
        other = first.setdefault(write.target, write)
        if write.spot.cluster in (None, other.spot.cluster) or write.content == other.content:
            continue
        if write.target not in told:
            told.add(write.target)
            message = (
                f'"{write.target}" is written for cluster "{other.spot.cluster}" and for '
                f'"{write.spot.cluster}", and only the last one stays'
            )
            help_ = "make the cluster part of the path: .forge/runtime/{{ cluster.name }}/..."
            yield source.warning("FG0142", message, write.path, help=help_)
