"""`GET /v1/models` as OpenAI answers it: the names a tenant may use, and nothing of where they run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from edge.wire.messages import Response


class Granted:
    """Names that patterns allow, in which `*` stands for any characters."""

    def __init__(self, patterns: Iterable[str]) -> None:
        parts = [".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns]
        # Without patterns nothing matches, not even the empty name.
        self._matches = re.compile("|".join(parts) if parts else r"(?!)", re.DOTALL).fullmatch

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._matches(name) is not None


def listing(names: Iterable[str]) -> Response:
    """The models' list. What a grid does not know of a model is said as neutrally as the shape allows."""
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "grid"} for name in names]
    body = json.dumps({"object": "list", "data": data}, separators=(",", ":")).encode()
    return Response(200, body, ((b"content-type", b"application/json"), (b"cache-control", b"no-store")))
