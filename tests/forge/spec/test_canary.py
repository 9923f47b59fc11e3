"""A secret in the file is in no error, no warning, no excerpt and no rendering, whatever is wrong with it."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from forge.render.problems import annotation, error_text, problem_json
from forge.spec.compose import compose
from forge.spec.load import Loaded, load_bytes, load_text
from forge.spec.nodes import ListNode, MapNode, Node
from forge.spec.problems import ConfigErrors
from forge.spec.show import show

CANARY = "hunter2CANARY"

FILE = f"""\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {{name: lab}}
spec:
  runtime: {{}}
  clusters: [{{name: c, stacks: [s], properties: {{password: {CANARY}}}}}]
  inputs: [{{name: KEY, default: {CANARY}}}]
  services:
    - name: a
      image: x
      env: {{PASSWORD: {CANARY}, URL: "https://u:{CANARY}@h/{{{{ captures.c.none }}}}"}}
      args: ["--token={CANARY}", --password, {CANARY}]
    - name: b
      image: x
      env:
        PLAIN: {CANARY}
        FOLDED: >-
          one {CANARY}
          two {CANARY}
        LITERAL: |
          {CANARY}
  stacks:
    s:
      steps:
        - {{type: exec, command: [x, "--token={CANARY}"], env: {{A: {CANARY}}}}}
        - {{type: secret, name: n, data: {{k: {CANARY}}}}}
        - {{type: helm, release: r, chart: c, version: "1", values: {{deep: [{{password: {CANARY}}}]}}}}
"""


def everything_said(text: str) -> str:
    """All that Forge says of a file, in every form: errors, JSON, annotations, tracebacks, what is shown."""
    try:
        loaded = load_text(text)
    except ConfigErrors as errors:
        said = [
            error_text(errors),
            error_text(errors, coloured=True),
            str(errors),
            repr(errors),
            repr(errors.problems),
        ]
        said += [json.dumps(problem_json(p)) for p in errors.problems]
        said += [annotation(p) for p in errors.problems]
        said += traceback.format_exception(errors)
        return "\n".join(said)
    return _of(loaded)


def _of(loaded: Loaded) -> str:
    return "\n".join(
        [
            repr(loaded),
            repr(loaded.environment),
            repr(loaded.warnings),
            show(loaded),
            show(loaded, resolved=True),
        ]
    )


SLIPS = [
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: [{CANARY}]", id="a list in env"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: {{{CANARY}: x}}", id="a mapping in env"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: *{CANARY}", id="an alias by mistake"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: &{CANARY} [x]", id="an anchor by mistake"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: !{CANARY} x", id="a tag by mistake"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: @{CANARY}", id="a reserved character"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: '{CANARY}", id="an open quote"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: {CANARY}, PASSWORD: {CANARY}", id="a key twice"),
    pytest.param(f"PASSWORD: {CANARY}", f"1PASSWORD: {CANARY}", id="a bad name"),
    pytest.param(f"PASSWORD: {CANARY}", f"1: {CANARY}", id="a number as name"),
    pytest.param(f"PASSWORD: {CANARY}", f"<<: {{P: {CANARY}}}", id="a merge key"),
    pytest.param(f"PASSWORD: {CANARY}", f"PASSWORD: '{{{{ {CANARY}'", id="an open template"),
    pytest.param("      env: {", "      enviroment: {", id="env misspelt"),
    pytest.param("      env: {", "      secretive: {", id="an unknown key"),
    pytest.param("      env:\n        PLAIN", "      evn:\n        PLAIN", id="env misspelt, as a block"),
    pytest.param(f"env: {{A: {CANARY}}}", f"env: {CANARY}", id="a text for env"),
    pytest.param(f"data: {{k: {CANARY}}}", f"data: {CANARY}", id="a text for data"),
    pytest.param(f"data: {{k: {CANARY}}}", f"date: {{k: {CANARY}}}", id="data misspelt"),
    pytest.param(
        f"data: {{k: {CANARY}}}", f"secrets: {{k: {CANARY}.x}}", id="a secret where its name belongs"
    ),
    pytest.param("type: exec, command: [x,", "type: exec, command: [' ',", id="a blank argument"),
    pytest.param("type: helm, release: r", "type: hlm, release: r", id="an unknown step"),
    pytest.param("  runtime: {}", "  runtime: {}\n  profiles: {a: {p: " + CANARY + "}}", id="profiles"),
    pytest.param("  services:\n", "  services:\n\t- x\n", id="a tab"),
    pytest.param("        PLAIN: ", "       PLAIN: ", id="a wrong indentation"),
    pytest.param("        PLAIN: ", "          PLAIN: ", id="another wrong indentation"),
    pytest.param("        LITERAL: |", "        LITERAL: ", id="a block without its mark"),
    pytest.param("    - name: b", "    - name: a", id="a name twice"),
    pytest.param("metadata: {name: lab}", "metadata: {name: LAB}", id="a bad head"),
]


def test_the_file_has_a_problem_of_its_own() -> None:
    assert "captures.c.none" in everything_said(FILE)


@pytest.mark.parametrize(("right", "wrong"), SLIPS)
def test_no_slip_shows_the_secret(right: str, wrong: str) -> None:
    assert right in FILE
    assert CANARY not in everything_said(FILE.replace(right, wrong))


def test_a_file_without_a_slip_does_not_show_it_either() -> None:
    text = FILE.replace("{{ captures.c.none }}", "")
    load_text(text)
    assert CANARY not in everything_said(text)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, len(FILE)),
    st.integers(0, 6),
    st.sampled_from(
        ["", ":", " ", "\n", "'", '"', "{", "}", "[", "]", "\t", "- ", "#", "*", "&", "|", ",", "{{", "x"]
    ),
)
def test_no_damage_anywhere_shows_the_secret(at: int, removed: int, inserted: str) -> None:
    """Whatever is cut out or put in, the word does not come through whole. Keys may be shown, so a
    damage that turns a value into a key is none of it."""
    text = FILE[:at] + inserted + FILE[at + removed :]
    root = compose(text).root
    assume(root is None or not any(CANARY in key for key in _keys(root)))
    for line in everything_said(text).splitlines():
        assert CANARY not in line


def _keys(node: Node) -> Iterator[str]:
    if isinstance(node, MapNode):
        for key, value in node.entries.items():
            yield key
            yield from _keys(value)
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from _keys(item)


@pytest.mark.parametrize("data", [b"\xff", b"\x00"])
def test_bytes_that_are_no_text_show_nothing(data: bytes) -> None:
    text = FILE.encode() + data
    with pytest.raises(ConfigErrors) as raised:
        load_bytes(text)
    assert CANARY not in error_text(raised.value) + "".join(traceback.format_exception(raised.value))
