"""A file becomes values, or a list of everything wrong with it, each at its place."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.load import load, load_text
from forge.spec.nodes import plain
from forge.spec.problems import ConfigErrors
from forge.spec.show import yaml_text
from tests.forge.spec.reading import SHARED, problems
from tests.forge.spec.test_model import EVERYTHING

SMALL = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata:
  name: lab
spec:
  runtime: {}
"""


def problems_of(text: str) -> list[str]:
    """`code line:column path: message` of every problem; none when the file loads."""
    try:
        load_text(text)
    except ConfigErrors as errors:
        return [f"{p.code} {p.place.line}:{p.place.column} {p.path}: {p.message}" for p in errors.problems]
    return []


def test_a_small_file_loads_with_its_defaults() -> None:
    loaded = load_text(SMALL)
    spec = loaded.environment.spec
    assert loaded.environment.metadata.name == "lab"
    assert (spec.runtime.provider, spec.runtime.cluster_prefix, spec.services) == ("auto", "forge", ())
    assert loaded.digest == hashlib.sha256(SMALL.encode()).hexdigest()
    assert loaded.warnings == ()


def test_what_was_loaded_does_not_show_its_text() -> None:
    text = SMALL + "  services: [{name: a, image: x, env: {K: CANARY}}]\n"
    assert "CANARY" not in repr(load_text(text))


def test_a_file_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as raised:
        load(tmp_path / "forge.yaml")
    assert [p.code for p in raised.value.problems] == ["FG0100"]
    assert raised.value.exit_code == 2


def test_all_slips_are_told_at_once_and_in_order() -> None:
    text = (
        SMALL
        + """\
  services:
    - name: Web
      image: web
    - imge: x
      name: b
    - name: c
      image: c
      ports: [{host: 0, container: 80}]
      restrat: always
      network: hosts
"""
    )
    assert problems_of(text) == [
        'FG0110 8:13 spec.services[0].name: "Web" is not a name: only a-z, 0-9 and hyphens are allowed',
        'FG0103 10:7 spec.services[1].imge: unknown key "imge"',
        'FG0105 10:7 spec.services[1]: "image" is missing',
        "FG0104 14:22 spec.services[2].ports[0].host: must be at least 1",
        'FG0103 15:7 spec.services[2].restrat: unknown key "restrat"',
        'FG0104 16:16 spec.services[2].network: "hosts" is not one of environment, host, none',
    ]


_PIECES = st.sampled_from(
    ["", ":", " ", "\n", "'", '"', "{", "}", "[", "]", "- ", "#", "*", "&", "|", ",", "{{", "~", "0"]
)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(EVERYTHING)), st.integers(0, 30), _PIECES)
def test_any_damage_to_the_text_loads_or_is_told(at: int, removed: int, inserted: str) -> None:
    for problem in problems("", head=EVERYTHING[:at] + inserted + EVERYTHING[at + removed :]):
        assert problem.message
        assert 0 <= problem.place.line <= EVERYTHING.count("\n") + 2


_VALUES = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", "{{ a", [], ["x"], [None], {}, {"name": "a"}, {"type": "url"}]
)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_value_anywhere_loads_or_is_told(data: st.DataObject) -> None:
    """The file with one value replaced by any other: never another error than ConfigErrors."""
    tree = plain(load_text(EVERYTHING).source.root)
    node: Any = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
        if not (isinstance(inner, (dict, list)) and inner) or data.draw(st.booleans()):
            break
        node = inner
    node[key] = data.draw(_VALUES)
    assert all(p.message for p in problems("", head=yaml_text(tree)))


@pytest.mark.shared
@pytest.mark.parametrize(
    "file", sorted(SHARED.rglob("forge*.yaml")), ids=lambda f: f"{f.parent.name}/{f.name}"
)
def test_every_topology_loads_unmodified(file: Path) -> None:
    assert load(file).environment.metadata.name


@pytest.mark.shared
def test_the_topologies_are_where_this_test_looks() -> None:
    if not SHARED.is_dir():
        pytest.skip("../shared is not here")
    assert len(list(SHARED.rglob("forge*.yaml"))) >= 8
