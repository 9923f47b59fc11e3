"""From a file to the steps of every cluster, each with its key and the captures it reads and writes. Pure.

    step/<cluster>/<stack>/<index>-<type>     index: its place in the stack, from 01

A for-each stays one step: what it repeats is known when it runs. A stack that a cluster lists twice is
applied twice, the second time as `<stack>~2`. What a step reads and writes is what the checks of the file
find (forge/spec/rules/uses.py), so that plan and validation cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator

from forge.errors import ForgeError
from forge.plan.lab_ports import Files
from forge.plan.lab_resources import StepResource
from forge.plan.values import Key
from forge.spec.expression import TemplateBroken, expressions
from forge.spec.model import Cluster, Environment
from forge.spec.rules.uses import Spot, Use, Uses, in_stack
from forge.spec.steps import Step

KIND = "step"


def flatten(environment: Environment, files: Files | None = None) -> tuple[tuple[Key, StepResource], ...]:
    """Every step of every cluster, a cluster after the other, in the order in which they are applied.
    files: where template files are read; without them only what the file itself says is known."""
    return tuple(pair for cluster in environment.spec.clusters for pair in _of(cluster, environment, files))


def _of(
    cluster: Cluster, environment: Environment, files: Files | None
) -> Iterator[tuple[Key, StepResource]]:
    times: dict[str, int] = {}
    for position, name in enumerate(cluster.stacks):
        times[name] = times.get(name, 0) + 1
        unique = name if times[name] == 1 else f"{name}~{times[name]}"
        spot = Spot(cluster.name, position, name)
        found = in_stack(environment, _Texts(files), spot)
        for index, step in enumerate(environment.spec.stacks[name].steps):
            resource = StepResource(
                cluster.name, name, index + 1, step, _reads(found, index), _writes(found, index)
            )
            yield step_key(cluster.name, unique, index + 1, step), resource


def step_key(cluster: str, stack: str, index: int, step: Step) -> Key:
    """The key of a step. index: from 1."""
    return Key(KIND, f"{cluster}/{stack}/{index:02d}-{step.type}")


_STEP = 4
"""Where in a path (spec, stacks, NAME, steps, INDEX, ...) the place of the outermost step stands."""


def _reads(found: Uses, index: int) -> tuple[tuple[str, str], ...]:
    """Captures the step at *index* uses, those that it makes itself before included."""
    names = (name for use in found.uses if use.path[_STEP] == index for name in _captures(use))
    return tuple(dict.fromkeys(names))


def _captures(use: Use) -> Iterator[tuple[str, str]]:
    try:
        for one in expressions(use.text):
            if one.words[0] == "captures" and len(one.words) == 3:
                yield one.words[1], one.words[2]
    except TemplateBroken:
        return


def _writes(found: Uses, index: int) -> tuple[str, ...]:
    keys = (c.key for c in found.captures if c.path[_STEP] == index and c.key is not None)
    return tuple(dict.fromkeys(keys))


class _Texts:
    """Template files as the checks of the file read them. What cannot be read counts as empty here: it
    stops the step, with its reason, when it is rendered."""

    def __init__(self, files: Files | None) -> None:
        self._files = files

    def read(self, path: str, root: str) -> str | None:
        if self._files is None:
            return None
        try:
            return self._files.within(root).read(path).decode()
        except (ForgeError, UnicodeDecodeError):
            return None
