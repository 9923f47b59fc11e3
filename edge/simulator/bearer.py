"""The token a caller must show: given, or read from a file that may be replaced while we run."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class Bearer:
    """Neither token nor path: everybody may call. A file that is gone while we run keeps its last token; with
    an empty one nobody may call."""

    token: str | None
    path: Path | None
    _read: tuple[int, bytes] | None = None

    def allows(self, authorization: str) -> bool:
        expected = self.expected()
        if expected is None:
            return True
        scheme, _, given = authorization.partition(" ")
        shown = given.strip().encode(errors="surrogateescape")
        return scheme.lower() == "bearer" and bool(expected) and hmac.compare_digest(shown, expected)

    def expected(self) -> bytes | None:
        """A Secret volume replaces the file: its change time says when to read again. Raises OSError when
        gone."""
        if self.path is None:
            return None if self.token is None else self.token.encode()
        try:
            changed = self.path.stat().st_mtime_ns
            if self._read is None or self._read[0] != changed:
                self._read = (changed, self.path.read_bytes().strip())
        except OSError:
            if self._read is None:
                raise
        return self._read[1]
