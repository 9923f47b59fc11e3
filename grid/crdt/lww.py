"""Last-writer-wins register: of two writes the one with the higher (revision, writer) stays.

One writer counts its own writes, so its later one has the higher revision; between writers that
count alike the name decides, the same way at every site. Merging is a maximum, hence commutative,
associative and idempotent: sites that have seen the same writes hold the same value.
Source: Shapiro et al. 2011, "A comprehensive study of CRDTs", 3.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lww(Generic[T]):
    """value: None stands for a removal that must outlive older writes. revision: from 1. writer: a
    site's name. A writer never gives one revision to two values."""

    value: T
    revision: int
    writer: str

    @property
    def stamp(self) -> tuple[int, str]:
        return self.revision, self.writer

    def merge(self, other: Lww[T]) -> Lww[T]:
        return other if other.stamp > self.stamp else self
