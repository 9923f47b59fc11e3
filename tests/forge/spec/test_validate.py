"""One slip hides no other: what is broken is left out, and the rest is checked as it is."""

from __future__ import annotations

import pytest

from forge.spec.compose import compose
from forge.spec.validate import validate
from tests.forge.spec.reading import HEAD, told


def test_shape_and_rules_are_told_together() -> None:
    assert told("""\
  services:
    - {name: a, image: x, bogus: 1, dependsOn: [b]}
    - {name: b, image: x, dependsOn: [a], ports: [{host: 0, container: 1}, {host: 80, container: 1}]}
    - {nome: c}
    - {name: d, image: x, ports: [{host: 80, container: 1}], dependsOn: [missing]}
""") == [
        'FG0103 7:27 unknown key "bogus"',
        "FG0122 7:49 services wait for each other: a -> b -> a",
        "FG0104 8:58 must be at least 1",
        'FG0103 9:8 unknown key "nome"',
        'FG0105 9:8 "image" is missing',
        'FG0105 9:8 "name" is missing',
        "FG0120 10:42 port *:80 is also taken by \"b\", as *:80 in line 8",
        'FG0121 10:74 "d" depends on "missing", and there is no such service',
    ]  # fmt: skip


def test_places_are_right_behind_what_was_left_out() -> None:
    found = told("""\
  services:
    - 1
    - {image: x}
    - {name: a, image: x}
    - {name: a, image: x}
""")
    assert found[-1] == 'FG0115 10:14 a second service is called "a"; the first is in line 9'


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(HEAD.replace("v1alpha1", "v2"), id="another version"),
        pytest.param(HEAD.replace("kind: Environment\n", ""), id="no kind"),
        pytest.param(HEAD.replace("metadata: {name: lab}\n", ""), id="no metadata"),
        pytest.param(HEAD.replace("name: lab", "name: LAB"), id="a bad name"),
        pytest.param(HEAD.replace("  runtime: {}\n", ""), id="no runtime"),
        pytest.param(HEAD.replace("runtime: {}", "runtime: docker"), id="a runtime that is none"),
    ],
)
def test_a_broken_head_does_not_hide_the_rest(head: str) -> None:
    found = told("  services: [{name: a, image: x, dependsOn: [a]}]\n", head=head)
    assert len(found) == 2
    assert any("FG0122" in line for line in found)


@pytest.mark.parametrize("text", ["spec: 1\n", "a: 1\n", "spec: [x]\n", "{}"])
def test_a_file_of_which_nothing_is_left_has_findings(text: str) -> None:
    root = compose(text).root
    assert root is not None
    assert validate("f", text, root).findings


def test_a_name_of_a_key_may_be_what_is_wrong() -> None:
    assert told("  services: [{name: a, image: x, env: {1A: x, B: y}}]\n") == [
        "FG0113 6:40 not the name of an environment variable"
    ]


def test_a_list_is_not_also_too_short_when_its_items_are_broken() -> None:
    stack = "  stacks: {s: {steps: [{type: for-each, property: p, steps: [{type: exec, command: []}]}]}}\n"
    assert told(stack) == ["FG0104 6:75 must have at least 1"]


def test_steps_in_steps_have_their_own_places() -> None:
    stack = """\
  stacks:
    s:
      steps:
        - {type: nope}
        - type: for-each
          property: p
          steps:
            - {}
            - {type: exec, command: [a], comand: x}
            - {type: url, url: 1, sha256: x}
"""
    assert told(stack) == [
        "FG0104 9:18 this is not a step type",
        'FG0105 13:15 "type" is missing',
        'FG0103 14:42 unknown key "comand"',
        "FG0104 15:32 wants text, has a number",
        "FG0104 15:43 not a SHA-256: 64 hex digits, or one {{ template }} that gives them",
    ]


def test_a_thousand_slips_are_not_all_told() -> None:
    assert len(told("  services:\n" + "    - {a: 1}\n" * 1000)) == 500
