"""The query of a request as values: what it asks of a write, a list, a watch or a deletion.

Faulty options are refused in the order and words of the real server: what cannot be converted is a
400, what converts but makes no sense a 422 of CreateOptions, ListOptions and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from forge.embedded.api import status
from forge.embedded.api.schema.model import Cause

Query = Mapping[str, str]

_DURATION = re.compile(
    r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))*|0"
)
_MAX_MANAGER = 128


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """validation: Strict, Warn or Ignore. manager: the field manager, never empty once resolved."""

    dry_run: bool = False
    manager: str = ""
    validation: str = "Warn"
    force: bool = False
    manager_given: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """version: -1 when none was given. limit: 0 for none."""

    labels: str = ""
    fields: str = ""
    watch: bool = False
    limit: int = 0
    proceed: str = ""
    version: int = -1
    match: str = ""
    timeout_s: int = 0
    bookmarks: bool = False
    send_initial: bool | None = None


def truth(query: Query, name: str) -> bool:
    """Go's conversion of query booleans: anything but false and 0 is true; absent is false."""
    value = query.get(name)
    return value is not None and value.lower() not in ("false", "0")


def number(query: Query, name: str) -> int:
    """A 64-bit number; absent or empty is 0."""
    value = query.get(name) or "0"
    if not re.fullmatch(r"[+-]?\d+", value):
        raise status.bad_request(f"strconv.ParseInt: parsing {status.quote(value)}: invalid syntax")
    return int(value)


def version(value: str | None) -> int:
    """A resourceVersion; -1 when absent. What is no number is the real server's 500."""
    if not value:
        return -1
    if not value.isdigit():
        parse = f"strconv.ParseUint: parsing {status.quote(value)}: invalid syntax"
        raise status.internal(f"resourceVersion: Invalid value: {status.quote(value)}: {parse}")
    return int(value)


def check_timeout(query: Query) -> None:
    """The `timeout` of any request is a Go duration."""
    value = query.get("timeout")
    if value and not _DURATION.fullmatch(value):
        said = f"time: invalid duration {status.quote(value)}"
        raise status.bad_request(f"invalid timeout specified in the request URL - {said}")


def write_options(query: Query, agent: str, kind: str, *, patching: bool = False) -> WriteOptions:
    """kind: CreateOptions, UpdateOptions or PatchOptions; agent: the User-Agent header."""
    causes: list[Cause] = []
    manager = query.get("fieldManager", "")
    causes += manager_causes(manager)
    causes += dry_run_causes([query["dryRun"]] if "dryRun" in query else [])
    validation = query.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Warn", "Strict"):
        offered = ("", "Ignore", "Strict", "Warn")
        causes.append(status.unsupported("fieldValidation", validation, offered))
    if causes:
        raise status.invalid("meta.k8s.io", kind, "", causes)
    return WriteOptions(
        dry_run="dryRun" in query,
        manager=manager or manager_of(agent),
        validation=validation or "Warn",
        force=truth(query, "force") and patching,
        manager_given=bool(manager),
    )


def manager_of(agent: str) -> str:
    """The default field manager: the User-Agent's first word, before its version."""
    return agent.split("/", maxsplit=1)[0][:_MAX_MANAGER] or "unknown"


def manager_causes(manager: str) -> list[Cause]:
    if len(manager.encode()) > _MAX_MANAGER:
        return [status.too_long("fieldManager", _MAX_MANAGER)]
    for place, letter in enumerate(manager):
        if not letter.isprintable():
            why = f"invalid character U+{ord(letter):04X} (at position {place})"
            return [status.wrong("fieldManager", manager, why)]
    return []


def dry_run_causes(values: list[str]) -> list[Cause]:
    if values and any(v != "All" for v in values):
        return [status.unsupported("dryRun", values, ("All",))]
    return []


def list_options(query: Query) -> ListOptions:
    """Converted and checked; selectors are parsed by whoever knows the resource."""
    timeout_s = number(query, "timeoutSeconds")
    found = ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        watch=truth(query, "watch"),
        limit=max(0, number(query, "limit")),
        proceed=query.get("continue", ""),
        match=query.get("resourceVersionMatch", ""),
        timeout_s=timeout_s,
        bookmarks=truth(query, "allowWatchBookmarks"),
        send_initial=truth(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
    )
    asked = query.get("resourceVersion", "")
    causes = _watch_causes(found) if found.watch else _list_causes(found, asked)
    if causes:
        raise status.invalid("meta.k8s.io", "ListOptions", "", causes)
    return ListOptions(
        found.labels, found.fields, found.watch, found.limit, found.proceed, version(asked),
        found.match, timeout_s, found.bookmarks, found.send_initial,
    )  # fmt: skip


_MATCH = "resourceVersionMatch"


def _watch_causes(o: ListOptions) -> list[Cause]:
    if o.send_initial is None:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        return [status.denied(_MATCH, why)] if o.match else []
    causes = []
    if o.match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(status.denied(_MATCH, why))
    if o.match not in ("", "NotOlderThan"):
        causes.append(status.unsupported(_MATCH, o.match, ("NotOlderThan",)))
    return causes


def _list_causes(o: ListOptions, asked: str) -> list[Cause]:
    if o.send_initial is not None:
        refused = status.denied("sendInitialEvents", "sendInitialEvents is forbidden for list")
        return [*_match_causes(o, asked), refused]
    return _match_causes(o, asked)


def _match_causes(o: ListOptions, asked: str) -> list[Cause]:
    if not o.match:
        return []
    if not asked:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        return [status.denied(_MATCH, why)]
    if o.proceed:
        return [status.denied(_MATCH, "resourceVersionMatch is forbidden when continue is provided")]
    if o.match not in ("Exact", "NotOlderThan"):
        return [status.unsupported(_MATCH, o.match, ("Exact", "NotOlderThan", ""))]
    if o.match == "Exact" and asked == "0":
        return [status.denied(_MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]
    return []
