"""What a filter is built from, handed down so that building is the only moment it can reach anything outside.

A filter class has `config`, the model of its options, and `build(options, setup)`. State that must outlive a
reload (a limiter's buckets, a breaker's counts) is asked for from `setup.kept` by the filter's place, never
made by `build`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from edge.chain import Filter
from edge.metrics import EdgeMetrics
from edge.sink import Access
from edge.wire.pool import Cluster

T = TypeVar("T")

_MAX_SECRET = 64 * 1024


class Unusable(Exception):
    """A filter cannot work as configured. path: within its options; nothing was changed."""

    def __init__(self, why: str, *path: str | int) -> None:
        super().__init__(why)
        self.why, self.path = why, path


@dataclass(slots=True)
class Kept:
    """State by place and type; what no configuration has asked for since `begin` is dropped by `end`."""

    _held: dict[tuple[str, type], object] = field(default_factory=dict)
    _asked: set[tuple[str, type]] = field(default_factory=set)

    def begin(self) -> None:
        self._asked = set()

    def keep(self, place: str, kind: type[T], make: Callable[[], T]) -> T:
        """What is held for *place*, made when there is none."""
        key = (place, kind)
        self._asked.add(key)
        held = self._held.get(key)
        if isinstance(held, kind):
            return held
        made = make()
        self._held[key] = made
        return made

    def end(self) -> None:
        """The configuration that was built is the one that serves: forget what only older ones used."""
        self._held = {key: value for key, value in self._held.items() if key in self._asked}


@dataclass(slots=True)
class Files:
    """Reads what filters need from disk, while they are built; remembers what it read, to be watched."""

    seen: set[Path] = field(default_factory=set)

    def read(self, path: str, *at: str | int) -> bytes:
        """Content of a file of at most 64 KiB. Raises Unusable, whose text never quotes the content."""
        file = Path(path)
        self.seen.add(file)
        try:
            with file.open("rb") as opened:
                content = opened.read(_MAX_SECRET + 1)
        except OSError as error:
            raise Unusable(f"{path} cannot be read: {error.strerror}", *at) from None
        if len(content) > _MAX_SECRET:
            raise Unusable(f"{path} is larger than {_MAX_SECRET} bytes", *at)
        return content


@dataclass(frozen=True, slots=True)
class Setup:
    """place: who the filter is over reloads (`main/rate_limit#0`). now: monotonic seconds; wall: unix
    seconds. new_id: an id nobody had before. access: takes what a line of the access log is made
    of. clusters: by name, live ones."""

    place: str
    kept: Kept
    files: Files
    metrics: EdgeMetrics
    clusters: Mapping[str, Cluster]
    now: Callable[[], float]
    wall: Callable[[], float]
    new_id: Callable[[], str]
    access: Access


class FilterType(Protocol):
    """A filter class, as the catalog lists it."""

    @property
    def config(self) -> type[BaseModel]:
        """The model of its options."""

    def build(self, options: Any, setup: Setup, /) -> Filter:
        """Raises Unusable."""
