"""`conditions: [{when: …}, {unless: …}]`: all must hold, on the normalised path, the method and header
values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from pydantic import Field, field_validator

from edge.config.paths import normalise
from edge.config.strict import Strict, rule

Test = Callable[[bytes, bytes, Mapping[bytes, bytes]], bool]
"""(method, path as sent, fields) -> whether it holds."""


class Match(Strict):
    """What is given must all be so. path: exact. headers: name -> exact value."""

    path: str | None = None
    path_prefix: str | None = None
    methods: Annotated[list[str], Field(min_length=1)] | None = None
    headers: Annotated[dict[str, str], Field(min_length=1)] | None = None

    @field_validator("path", "path_prefix")
    @classmethod
    def _comparable(cls, path: str | None) -> str | None:
        if path is not None and (not path.startswith("/") or normalise(path.encode()) != path.encode()):
            raise ValueError("must begin with '/' and be normalised: no '//', '.', '..', ';' or '%'")
        return path

    @rule
    def _something(self) -> None:
        if not self.model_fields_set:
            raise ValueError("needs at least one of path, path_prefix, methods, headers")


class Condition(Strict):
    """Exactly one of the two."""

    when: Match | None = None
    unless: Match | None = None

    @rule
    def _one(self) -> None:
        if (self.when is None) == (self.unless is None):
            raise ValueError("needs exactly one of when, unless")


class ReplyMatch(Strict):
    """status: one of these. headers: name -> exact value, of the answer."""

    status: Annotated[list[Annotated[int, Field(ge=100, le=599)]], Field(min_length=1)] | None = None
    headers: Annotated[dict[str, str], Field(min_length=1)] | None = None


class ReplyCondition(Strict):
    """Exactly one of the two."""

    when: ReplyMatch | None = None
    unless: ReplyMatch | None = None

    @rule
    def _one(self) -> None:
        if (self.when is None) == (self.unless is None):
            raise ValueError("needs exactly one of when, unless")


def compile_request(conditions: Sequence[Condition]) -> Test | None:
    """One test for all of *conditions*; None when there are none."""
    given = [(c.when or c.unless, c.when is not None) for c in conditions]
    tests = [(_test(match), wanted) for match, wanted in given if match is not None]
    if not tests:
        return None
    return lambda method, path, fields: all(test(method, path, fields) is wanted for test, wanted in tests)


def compile_reply(
    conditions: Sequence[ReplyCondition],
) -> Callable[[int, Callable[[bytes], bytes | None]], bool] | None:
    """One test over (status, header by name) for all of *conditions*; None when there are none."""
    if not conditions:
        return None

    def holds(match: ReplyMatch, status: int, header: Callable[[bytes], bytes | None]) -> bool:
        if match.status is not None and status not in match.status:
            return False
        wanted = (match.headers or {}).items()
        return all(header(name.lower().encode()) == value.encode() for name, value in wanted)

    given = [(c.when or c.unless, c.when is not None) for c in conditions]
    tests = [(match, wanted) for match, wanted in given if match is not None]
    return lambda status, header: all(holds(match, status, header) is wanted for match, wanted in tests)


def _test(match: Match) -> Test:
    path = None if match.path is None else match.path.encode()
    prefix = None if match.path_prefix is None else match.path_prefix.encode()
    methods = None if match.methods is None else frozenset(m.upper().encode() for m in match.methods)
    wanted = tuple((name.lower().encode(), value.encode()) for name, value in (match.headers or {}).items())

    def holds(method: bytes, sent: bytes, fields: Mapping[bytes, bytes]) -> bool:
        if methods is not None and method not in methods:
            return False
        if path is not None or prefix is not None:
            clean = normalise(sent)
            if (path is not None and clean != path) or (prefix is not None and not under(clean, prefix)):
                return False
        return all(fields.get(name) == value for name, value in wanted)

    return holds


def under(path: bytes, prefix: bytes) -> bool:
    """Whether *path* is *prefix* or inside it: `/api` covers `/api` and `/api/x`, not `/apiary`."""
    return path.startswith(prefix) and (
        prefix.endswith(b"/") or len(path) == len(prefix) or path[len(prefix)] == 47
    )
