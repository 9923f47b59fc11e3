"""All steps and all their texts with their paths, for the rules that look at each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from forge.spec.model import Environment
from forge.spec.nodes import Path
from forge.spec.steps import ForEachStep, Step, StepShape


def all_steps(environment: Environment) -> Iterator[tuple[Path, Step]]:
    """Every step of every stack, those inside for-each too, outer ones first."""
    for name, stack in environment.spec.stacks.items():
        yield from _below(("spec", "stacks", name, "steps"), stack.steps)


def _below(path: Path, steps: tuple[Step, ...]) -> Iterator[tuple[Path, Step]]:
    for index, step in enumerate(steps):
        here = (*path, index)
        yield here, step
        if isinstance(step, ForEachStep):
            yield from _below((*here, "steps"), step.steps)


def templated(step: StepShape, path: Path) -> Iterator[tuple[Path, str]]:
    """The texts of a step that are rendered, `when` first. Nested steps are not part of it."""
    for name in ("when", *type(step).TEMPLATED):
        yield from texts(getattr(step, name), (*path, to_camel(name)))


def texts(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Every text in a value, at any depth. Mapping keys are not texts."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts(inner, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from texts(inner, (*path, index))
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from texts(getattr(value, name), (*path, field.alias or name))
