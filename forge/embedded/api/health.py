"""Health endpoints: whether the parts of this server run, one line a part when asked to be verbose.

The names are those of the parts that this server really has; clients read the verdict, people the
lines.
"""

from __future__ import annotations

from collections.abc import Mapping

_PARTS = ("ping", "log", "etcd", "poststarthook/crd-informer-synced", "poststarthook/rbac/bootstrap-roles")
CHECKS: dict[str, tuple[str, ...]] = {
    "healthz": _PARTS,
    "livez": _PARTS,
    "readyz": ("ping", "log", "etcd", "informer-sync", *_PARTS[3:], "shutdown"),
}


def answer(endpoint: str, part: str, query: Mapping[str, str]) -> str | None:
    """The text of a health endpoint, or of one part of it; None where there is no such part."""
    checks = CHECKS[endpoint]
    if part:
        return "ok" if part in checks else None
    excluded = {v for k, v in query.items() if k == "exclude"}
    if "verbose" not in query:
        return "ok"
    lines = [f"[+]{check} excluded: ok" if check in excluded else f"[+]{check} ok" for check in checks]
    unknown = sorted(excluded - set(checks))
    if unknown:
        quoted = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
    return "\n".join([*lines, f"{endpoint} check passed", ""])
