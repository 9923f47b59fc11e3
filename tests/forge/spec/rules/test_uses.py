"""Every template is found once for each place it would be rendered at, with the scope it would have."""

from __future__ import annotations

from forge.spec.files import NoFiles
from forge.spec.load import load_text
from forge.spec.rules.uses import find, known_text
from tests.forge.spec.reading import HEAD, KnownFiles

TEXT = (
    HEAD
    + """\
  clusters:
    - {name: a, stacks: [s], properties: {l: [x, y], file: f}}
    - {name: b, stacks: [s, s], properties: {l: [z], file: g}}
  stacks:
    s:
      steps:
        - {type: exec, command: ["{{ cluster.name }}", plain]}
        - type: for-each
          property: l
          steps: [{type: capture, resource: r, jsonpath: j, key: "k-{{ item }}", timeout: 1s, interval: 1s}]
        - {type: template-manifest, path: "{{ cluster.properties.file }}"}
    alone: {steps: [{type: exec, command: ["{{ cluster.name }}"]}]}
  services: [{name: w, image: x, args: ["{{ captures.a.k-x }}"]}]
"""
)


def test_uses_and_captures_by_cluster_and_item() -> None:
    loaded = load_text(TEXT)
    files = KnownFiles({"f": "{{ stack.name }}", "g": "no template"})
    found = find(loaded.environment, loaded.source, files)
    commands = [(u.spot.cluster if u.spot else None, u.text) for u in found.uses if u.path[-2] == "command"]
    assert commands == [
        ("a", "{{ cluster.name }}"),
        ("b", "{{ cluster.name }}"),
        ("b", "{{ cluster.name }}"),
        (None, "{{ cluster.name }}"),
    ]
    assert [(c.spot.cluster, c.spot.position, c.key) for c in found.captures] == [
        ("a", 0, "k-x"), ("a", 0, "k-y"), ("b", 0, "k-z"), ("b", 1, "k-z"),
    ]  # fmt: skip
    assert [u.file for u in found.uses if u.file] == ["f"]
    assert [u.spot for u in found.uses if u.path[:2] == ("spec", "services")] == [None]


def test_a_file_is_read_once() -> None:
    loaded = load_text(TEXT)
    found = find(loaded.environment, loaded.source, NoFiles())
    assert found.texts == {"f": None, "g": None}


def test_known_text_renders_what_is_known_now() -> None:
    scope = {"a": {"b": 1}}
    assert known_text("plain", scope) == "plain"
    assert known_text('x{{ a.b }}{{ "{{" }}', scope) == "x1{{"
    assert known_text("{{ a.c }}", scope) is None
    assert known_text("{{ a", scope) is None
    assert known_text("{{ a }}", scope) is None
