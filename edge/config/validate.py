"""Plain values to models, with pydantic's findings as problems at their places, in our words."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from edge.config.document import Document
from edge.config.expand import Surroundings
from edge.config.problems import ConfigRejected, Path, Problem, did_you_mean

M = TypeVar("M", bound=BaseModel)


def validate(
    model: type[M],
    value: object,
    document: Document,
    surroundings: Surroundings,
    at: Path = (),
    also_known: Iterable[str] = (),
) -> M:
    """*value* as *model*; *at* is its place in *document*. Raises ConfigRejected with every finding.

    also_known: keys that are right beside this model's own, for did-you-mean.
    """
    try:
        return model.model_validate(value, context=surroundings)
    except ValidationError as error:
        found = [_problem(model, value, document, at, detail, tuple(also_known)) for detail in error.errors()]
        raise ConfigRejected(found) from None


def _problem(
    model: type[BaseModel],
    value: object,
    document: Document,
    at: Path,
    detail: ErrorDetails,
    also: tuple[str, ...],
) -> Problem:
    path = (*at, *_real(detail["loc"], value))
    match detail["type"]:
        case "extra_forbidden":
            word = str(detail["loc"][-1])
            known = (*_keys_at(model, detail["loc"][:-1]), *(also if len(detail["loc"]) == 1 else ()))
            return document.problem(path, f"unknown key{did_you_mean(word, known)}")
        case "missing":
            return document.problem(path, "is required")
        case "literal_error":
            given = str(detail["input"])
            expected = detail.get("ctx", {}).get("expected", "")
            close = did_you_mean(given, str(expected).replace("'", "").replace(" or ", ", ").split(", "))
            return document.problem(path, f"{given[:64]!r} is not {expected}{close}")
        case _:
            why = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
            return document.problem(path, why[:1].lower() + why[1:])


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
