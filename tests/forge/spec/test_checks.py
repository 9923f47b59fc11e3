"""Every rule that is written is run."""

from __future__ import annotations

import inspect
from types import ModuleType

from forge.spec.checks import FILE_RULES, RULES, USE_RULES
from forge.spec.problems import Problem
from forge.spec.rules import (
    captures,
    clusters,
    images,
    mounts,
    names,
    paths,
    ports,
    references,
    services,
    templates,
    writes,
)
from tests.forge.spec.reading import problems

MODULES = (captures, clusters, images, mounts, names, paths, ports, references, services, templates, writes)


def _rules(module: ModuleType) -> set[str]:
    """Public functions of a module that give problems."""
    return {
        f"{module.__name__}.{name}"
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and str(inspect.signature(function).return_annotation) in ("Iterator[Problem]", "Iterable[Problem]")
    }


def test_every_rule_is_listed_once() -> None:
    listed = [f"{rule.__module__}.{rule.__name__}" for rule in (*RULES, *FILE_RULES, *USE_RULES)]
    assert set(listed) == set().union(*map(_rules, MODULES))
    assert len(listed) == len(set(listed))


def test_rules_of_different_modules_are_told_together() -> None:
    found = problems("""\
  clusters: [{name: a, stacks: [none]}]
  services:
    - {name: x, image: i, dependsOn: [x], ports: [{host: 80, container: 1}]}
    - {name: y, image: "{{a}}", ports: [{host: 80, container: 1}], volumes: [{source: ../up, target: /x}]}
""")
    assert [type(p) for p in found] == [Problem] * 5
    assert {p.code for p in found} == {"FG0121", "FG0122", "FG0120", "FG0130", "FG0112"}
