"""A step as what is done for it: itself rendered, or, of a for-each, its steps once for each item. Pure.

The scope is asked for anew before each: a capture that one of them made is there for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from forge.spec.rules.uses import MAX_ITEMS
from forge.spec.steps import ForEachStep, Step
from forge.stack.template import Scope, TemplateFailed, holds, render, render_step, with_item


@dataclass(frozen=True, slots=True)
class Leaf:
    """One thing to do. step: rendered. scope: what its files are rendered with. name: for people, such
    as `capture, item 2`."""

    step: Step
    scope: Scope
    name: str


def leaves(step: Step, scope: Callable[[], Scope], suffix: str = "") -> Iterator[Leaf]:
    """What is to be done, in order; nothing where `when` does not hold. Raises TemplateFailed."""
    values = scope()
    if not holds(step.when, values):
        return
    if not isinstance(step, ForEachStep):
        yield Leaf(render_step(step, values), values, f"{step.type}{suffix}")
        return
    for number, item in enumerate(_items(step, values), 1):
        for inner in step.steps:
            yield from leaves(inner, lambda item=item: with_item(scope(), item), f"{suffix}, item {number}")  # type: ignore[misc]  # a default, so that each keeps its own


def _items(step: ForEachStep, values: Scope) -> list[object]:
    name = render(step.property, values)
    cluster = values.get("cluster")
    properties = cluster.get("properties") if isinstance(cluster, Mapping) else None
    items = properties.get(name) if isinstance(properties, Mapping) else None
    if not isinstance(items, (list, tuple)):
        raise TemplateFailed(
            "FG0747",
            f"for-each has nothing to repeat over: the cluster has no list {name!r}",
            why="it repeats over a list in clusters[].properties",
            hint="add the list to the cluster's properties; an empty one is fine",
        )
    if len(items) > MAX_ITEMS:
        raise TemplateFailed(
            "FG0747",
            f"for-each takes at most {MAX_ITEMS} items",
            why=f"the list {name!r} has {len(items)}",
            hint="split the list",
        )
    return list(items)
