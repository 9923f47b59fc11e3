"""Plain values to models, with pydantic's findings as problems at their places, in our words.

One fault hides no other: what is wrong is noted, taken out or mended, and what is left is looked at again. A
key that is nearly another is read as that one. What follows from a fault already told is not told.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from edge.config.document import Document
from edge.config.expand import Surroundings
from edge.config.problems import Path, Problem, did_you_mean, nearest

M = TypeVar("M", bound=BaseModel)

_AT_MOST = 500  # findings of one round; whoever has more has given us another file altogether
_ROUNDS = 30  # each mends what the one before found: the depth of a file, and of the rules on one object


@dataclass(frozen=True, slots=True)
class Understood(Generic[M]):
    """model: None when too little is left. problems: of every part; none when *model* is all that was
    written. document: knows the places of *model*'s paths. left_out: the file's paths of what *model* does
    not have as it was written, unknown keys apart."""

    model: M | None
    problems: tuple[Problem, ...]
    document: Document
    left_out: frozenset[Path]


def understand(
    model: type[M],
    value: object,
    document: Document,
    surroundings: Surroundings,
    at: Path = (),
    also_known: Iterable[str] = (),
    stand_ins: Mapping[str, str] = types.MappingProxyType({}),
) -> Understood[M]:
    """*value* as *model*; *at* is its place in *document*.

    also_known: keys that are right beside this model's own, for did-you-mean. stand_ins: required key ->
    what it is taken to be where it is missing, so that its object can be looked at; `{}` in it is a number.
    """
    found = _Findings(model, at, tuple(also_known), stand_ins)
    strictly = _rounds(model, value, document, surroundings, found)
    if not strictly.problems:
        return strictly
    found = _Findings(model, at, tuple(also_known), stand_ins)
    rest = _rounds(model, value, document, replace(surroundings, lenient=True), found)
    return replace(rest, problems=tuple(dict.fromkeys((*strictly.problems, *rest.problems))))


def _rounds(
    model: type[M], value: object, document: Document, surroundings: Surroundings, found: _Findings
) -> Understood[M]:
    """Mends *value* until it can be taken."""
    for _ in range(_ROUNDS):
        try:
            made = model.model_validate(value, context=surroundings)
        except ValidationError as error:
            details = error.errors()
            mending = found.take(details[:_AT_MOST], value, document)
            if len(details) > _AT_MOST:
                found.too_many(len(details) - _AT_MOST, document)
                break
            if () in mending:
                break
            value, document = _mended(value, document, found.at, mending)
        else:
            return Understood(made, tuple(found.problems), document, frozenset(found.left_out))
    return Understood(None, tuple(found.problems), document, frozenset(found.left_out))


@dataclass(frozen=True, slots=True)
class _Renamed:
    key: str


@dataclass(frozen=True, slots=True)
class _Given:
    value: str
    is_meant: bool = False


Mending = dict[Path, _Renamed | _Given | None]
"""Path within the value -> what becomes of it; None leaves it out."""


class _Findings:
    """What the rounds have found so far."""

    def __init__(
        self, model: type[BaseModel], at: Path, also: tuple[str, ...], stand_ins: Mapping[str, str]
    ) -> None:
        self._model, self.at, self._also, self._stand_ins = model, at, also, stand_ins
        self.problems: list[Problem] = []
        self.left_out: set[Path] = set()

    def take(self, details: Iterable[ErrorDetails], value: object, document: Document) -> Mending:
        """Notes each finding; what to do before *value* is looked at again."""
        mending: Mending = {}
        missing: list[Path] = []
        unknown = set[Path]()
        for detail in details:
            path = _real(detail["loc"], value)
            here = document.origin((*self.at, *path))
            inner = _at(value, path)
            if here not in document.unread and not self._follows(detail["type"], here, inner):
                self.problems.append(self._problem(detail, path, document))
            if detail["type"] == "extra_forbidden":
                unknown.add(path)
                mending[path] = self._meant(detail["loc"], path, value, mending)
            elif detail["type"] == "missing" and inner is _NOWHERE:
                missing.append(path)
            elif path and detail["type"] == "literal_error" and (word := nearest(*_words(detail))):
                mending[path] = _Given(word, is_meant=True)
            else:
                mending[path] = None
        mending |= self._completed(missing, mending)
        changed = {p for p, what in mending.items() if p not in unknown and not _is_meant(what)}
        self.left_out |= {document.origin((*self.at, *p)) for p in changed}
        return mending

    def too_many(self, left: int, document: Document) -> None:
        self.problems.append(document.problem(self.at, f"{left} more problems are not shown"))

    def _follows(self, kind: str, here: Path, inner: object) -> bool:
        """Whether a finding of *kind* at the file's path *here* only says what was left out before."""
        if kind == "missing":
            return here in self.left_out
        if kind == "too_short":
            return any(path[:-1] == here for path in self.left_out)
        return (
            kind == "value_error"
            and isinstance(inner, Mapping)
            and any(_is_part(p, here) for p in self.left_out)
        )

    def _meant(
        self, loc: tuple[str | int, ...], path: Path, value: object, mending: Mending
    ) -> _Renamed | None:
        """The key an unknown one is read as, when it is free."""
        key = nearest(str(path[-1]), _keys_at(self._model, loc[:-1]))
        beside = _at(value, path[:-1])
        taken = {
            what.key for p, what in mending.items() if p[:-1] == path[:-1] and isinstance(what, _Renamed)
        }
        if key is None or key in taken or not isinstance(beside, Mapping) or key in beside:
            return None
        return _Renamed(key)

    def _completed(self, missing: Iterable[Path], mending: Mending) -> Mending:
        """A missing key is given, or its object is left out; nothing where an unknown one is read as it."""
        renamed = {(*path[:-1], what.key) for path, what in mending.items() if isinstance(what, _Renamed)}
        completed: Mending = {}
        for path in missing:
            if path in renamed:
                continue
            given = self._stand_ins.get(str(path[-1]))
            if given is None:
                completed[path[:-1]] = None
            else:
                completed[path] = _Given(given.format(len(self.left_out) + len(completed)))
        return completed

    def _problem(self, detail: ErrorDetails, inner: Path, document: Document) -> Problem:
        path = (*self.at, *inner)
        match detail["type"]:
            case "extra_forbidden":
                also = self._also if len(detail["loc"]) == 1 else ()
                known = (*_keys_at(self._model, detail["loc"][:-1]), *also)
                return document.problem(path, f"unknown key{did_you_mean(str(detail['loc'][-1]), known)}")
            case "missing":
                return document.problem(path, "is required")
            case "model_type" | "dict_type" | "model_attributes_type":
                return document.problem(path, "should be a mapping")
            case "list_type":
                return document.problem(path, "should be a list")
            case "literal_error":
                given, expected = _words(detail)
                wanted = detail.get("ctx", {}).get("expected", "")
                return document.problem(
                    path, f"{given[:64]!r} is not {wanted}{did_you_mean(given, expected)}"
                )
            case _:
                why = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
                return document.problem(path, why[:1].lower() + why[1:])


def _words(detail: ErrorDetails) -> tuple[str, list[str]]:
    """What was given instead of one of so many words."""
    expected = str(detail.get("ctx", {}).get("expected", ""))
    return str(detail["input"])[:256], expected.replace("'", "").replace(" or ", ", ").split(", ")


def _is_meant(what: _Renamed | _Given | None) -> bool:
    return isinstance(what, _Renamed) or (isinstance(what, _Given) and what.is_meant)


def _is_part(path: Path, whole: Path) -> bool:
    """Whether *path* is a field of *whole*, or an item of such a field."""
    inner = path[len(whole) :]
    return path[: len(whole)] == whole and (
        len(inner) == 1 or (len(inner) == 2 and isinstance(inner[1], int))
    )


def _mended(value: object, document: Document, at: Path, mending: Mending) -> tuple[object, Document]:
    """A copy of *value* with *mending* done, and a document that knows where its parts stand."""
    origins: dict[Path, Path] = {}

    def keeps(path: Path) -> bool:
        return mending.get(path, _NOWHERE) is not None

    def copied(inner: object, old: Path, new: Path) -> object:
        origins[(*at, *new)] = document.origin((*at, *old))
        what = mending.get(old)
        if isinstance(what, _Given):
            return what.value
        if isinstance(inner, list):
            left = [(index, item) for index, item in enumerate(inner) if keeps((*old, index))]
            return [copied(item, (*old, index), (*new, to)) for to, (index, item) in enumerate(left)]
        if not isinstance(inner, Mapping):
            return inner
        made: dict[str, object] = {}
        for key, item in inner.items():
            what = mending.get((*old, key))
            if keeps((*old, key)):
                name = what.key if isinstance(what, _Renamed) else key
                made[name] = copied(item, (*old, key), (*new, name))
        for path, what in mending.items():
            if path[:-1] == old and isinstance(what, _Given):  # of a key that is missing, too
                made[str(path[-1])] = what.value
        return made

    mended = copied(value, (), ())
    return mended, replace(document, origins={**document.origins, **origins})


_NOWHERE = object()


def _real(loc: tuple[str | int, ...], value: object) -> Path:
    """*loc* without pydantic's own steps: what leads nowhere in *value*, but for a last missing key."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        inner = _step(value, part)
        is_missing_key = index == len(loc) - 1 and isinstance(value, Mapping)
        if inner is not _NOWHERE:
            value = inner
        elif not is_missing_key:
            continue
        path.append(part)
    return tuple(path)


def _step(value: object, part: str | int) -> object:
    if isinstance(value, Mapping):
        return value.get(part, _NOWHERE)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return _NOWHERE


def _at(value: object, path: Path) -> object:
    for part in path:
        value = _step(value, part)
    return value


def _keys_at(model: type[BaseModel], loc: Path) -> tuple[str, ...]:
    """The keys the model at *loc* has."""
    here: Any = model
    for part in loc:
        if isinstance(part, int) or not _is_model(here):
            continue
        field = here.model_fields.get(part)
        here = _inner(field.annotation) if field else None
    return tuple(here.model_fields) if _is_model(here) else ()


def _inner(annotation: Any) -> Any:
    """The model inside Optional, list and Annotated, or what is there instead."""
    origin = typing.get_origin(annotation)
    if origin is Annotated or origin is list:
        return _inner(typing.get_args(annotation)[0])
    if origin in (types.UnionType, typing.Union):
        return next((_inner(a) for a in typing.get_args(annotation) if _is_model(_inner(a))), None)
    return annotation


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
