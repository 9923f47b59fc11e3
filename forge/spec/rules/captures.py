"""Captures: made before they are used, and never in a circle.

A node is a stack on a cluster. It waits for the stack before it in the cluster's list, and for every
stack that makes a capture it uses. The file is sound when nothing waits, by whatever way, for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forge.spec.expression import TemplateBroken, expressions
from forge.spec.model import Environment
from forge.spec.nodes import Path, dotted
from forge.spec.problems import Problem
from forge.spec.rules.graph import circles
from forge.spec.rules.templates import in_file
from forge.spec.rules.uses import Capture, Spot, Use, Uses
from forge.spec.source import Source

Node = tuple[str, int]
"""A cluster and the position of a stack in its list."""


@dataclass(frozen=True, slots=True)
class _Need:
    """One use of a capture. name: captures.CLUSTER.KEY. offset: of its braces in the text."""

    use: Use
    name: str
    offset: int
    makers: tuple[Capture, ...]


def captures_are_made_before_they_are_used(_: Environment, source: Source, found: Uses) -> Iterator[Problem]:
    """Inside one stack: the capture step stands above every step that uses it."""
    told: set[tuple[Path, str]] = set()
    for need in _needs(found):
        spot = need.use.spot
        if spot is None or any(maker.spot != spot or maker.order < need.use.order for maker in need.makers):
            continue
        if (need.use.path, need.name) not in told:
            told.add((need.use.path, need.name))
            line = source.place(need.makers[0].path).line
            message = f"{need.name} is used here and captured only in line {line}, later in the same stack"
            yield _at(need, message, "move the capture above this step", source)


def stacks_do_not_wait_in_a_circle(
    environment: Environment, source: Source, found: Uses
) -> Iterator[Problem]:
    """Each circle with the captures and the list order that close it."""
    names = {
        (c.name, position): f"{c.name}/{stack}"
        for c in environment.spec.clusters
        for position, stack in enumerate(c.stacks)
    }
    why: dict[tuple[Node, Node], _Need] = {}
    needs: dict[Node, list[Node]] = {node: [] for node in names}
    for need in _needs(found):
        for maker in need.makers:
            one, other = _node(need.use.spot), _node(maker.spot)
            if one is not None and other is not None and one != other and not _same_stack(names, one, other):
                why.setdefault((one, other), need)
                needs[one].append(other)
    for cluster, position in names:
        if position:
            needs[cluster, position].append((cluster, position - 1))
    for circle in circles(needs):
        yield _circle(circle, names, why, source)


def repeated_captures_differ(_: Environment, source: Source, found: Uses) -> Iterator[Problem]:
    """A capture inside for-each has the item in its key, else the last item wins."""
    times: dict[tuple[Spot, Path, str | None], int] = {}
    for capture in found.captures:
        key = (capture.spot, capture.path, capture.key)
        times[key] = times.get(key, 0) + 1
    repeated = dict.fromkeys(path for (_, path, key), count in times.items() if key and count > 1)
    for path in repeated:
        message = "for-each repeats this capture under one key, and only the last item's value stays"
        yield source.warning(
            "FG0135", message, (*path, "key"), help="make the item part of the key: x-{{ item }}"
        )


def _needs(found: Uses) -> Iterator[_Need]:
    makers: dict[tuple[str, str], list[Capture]] = {}
    for capture in found.captures:
        if capture.spot.cluster is not None and capture.key is not None:
            makers.setdefault((capture.spot.cluster, capture.key), []).append(capture)
    for use in found.uses:
        for cluster, key, offset in _captures_in(use.text):
            if (cluster, key) in makers:
                yield _Need(use, f"captures.{cluster}.{key}", offset, tuple(makers[cluster, key]))


def _captures_in(text: str) -> Iterator[tuple[str, str, int]]:
    try:
        for expression in expressions(text):
            if expression.words[0] == "captures" and len(expression.words) == 3:
                yield expression.words[1], expression.words[2], expression.start
    except TemplateBroken:
        return


def _node(spot: Spot | None) -> Node | None:
    return (spot.cluster, spot.position) if spot is not None and spot.cluster is not None else None


def _same_stack(names: dict[Node, str], one: Node, other: Node) -> bool:
    """One stack listed twice makes its captures again: it does not wait for its second time."""
    return names[one] == names[other]


def _circle(
    circle: tuple[Node, ...], names: dict[Node, str], why: dict[tuple[Node, Node], _Need], source: Source
) -> Problem:
    """Steps down a list are shown as one, so that what remains are the stacks that matter."""
    pairs = list(zip(circle, (*circle[1:], circle[0]), strict=True))
    jumps = [pair for pair in pairs if pair in why]
    corners: list[Node] = []
    for one, other in jumps:
        corners += [node for node in (one, other) if node not in corners]
    reasons = [f"{names[one]} needs {why[one, other].name} of {names[other]}" for one, other in jumps]
    for (_, above), (below, _) in zip(jumps, (*jumps[1:], jumps[0]), strict=True):
        if above != below:
            reasons.append(f"{names[above]} comes after {names[below]} in the stacks of {above[0]}")
    way = " -> ".join(names[node] for node in (*corners, corners[0]))
    message = f"stacks wait for each other: {way}: {', '.join(reasons)}"
    return _at(why[jumps[0]], message, "change the order of the stacks, or capture the value earlier", source)


def _at(need: _Need, message: str, help_: str, source: Source) -> Problem:
    """The problem where the capture is used: in forge.yaml or in a template file."""
    code, path = "FG0133", need.use.path
    if need.use.file is None:
        return source.problem(code, message, path, help=help_)
    where = dotted(source.original(path))
    return in_file(need.use, need.offset, f"{{{{ {need.name} }}}}", source, code, message, where, help_)
