"""A configuration as it may be shown: by `praxis-edge -T`, at `/config`. What could be a secret is covered.

Covered by key (hashes of keys, key paths, anything named like a secret) and, in lists of header fields, by
the header's name. Credentials themselves never are in the configuration: it holds paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

COVER = "[REDACTED]"
_SECRET_KEY = re.compile(r"(^|_)(api_key|key_path|password|secret|secret_file|sha256|token|database_url)$")
_SECRET_HEADER = re.compile(r"authorization|cookie|token|secret|api-?key|password", re.IGNORECASE)


def redact(value: object) -> object:
    """*value*, plain, with secrets covered; a copy."""
    if isinstance(value, Mapping):
        header = value.get("name")
        covers_value = isinstance(header, str) and _SECRET_HEADER.search(header) is not None
        return {
            key: COVER if _is_secret(str(key), inner) or (key == "value" and covers_value) else redact(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def _is_secret(key: str, value: object) -> bool:
    return isinstance(value, str) and (
        _SECRET_KEY.search(key) is not None or _SECRET_HEADER.fullmatch(key) is not None
    )
