"""Paths stay inside the root, and what Forge will read is there, or a warning says so."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import HEAD, KnownFiles, told

FILES = KnownFiles(
    {"a.yaml": "x", "folder": None, "../up.yaml": "x", "link.yaml": "x"}, outside=frozenset({"link.yaml"})
)


def step(text: str) -> list[str]:
    return told(f"  stacks:\n    s:\n      steps:\n        - {{{text}}}\n", files=FILES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("type: manifest, path: a.yaml", [], id="a file"),
        pytest.param("type: manifest, path: folder", [], id="a folder of manifests"),
        pytest.param("type: manifest, path: b.yaml", ['warning FG0140 9:34 "b.yaml" is not there'], id="a missing file"),
        pytest.param("type: manifest, path: ../up.yaml", ["FG0112 9:34 the path leads out of the folder of this file"], id="above the root"),
        pytest.param("type: manifest, path: x/../../up.yaml", ["FG0112 9:34 the path leads out of the folder of this file"], id="above the root in the middle"),
        pytest.param("type: manifest, path: x/../a.yaml", ['warning FG0140 9:34 "x/../a.yaml" is not there'], id="up and down inside is no way out"),
        pytest.param("type: manifest, path: link.yaml", ["FG0112 9:34 a symbolic link on this path leads out of the folder of this file"], id="a link out of the root"),
        pytest.param("type: template-manifest, path: folder", ['FG0140 9:43 "folder" is a folder, and this wants a file'], id="a folder as template"),
        pytest.param("type: template-file, source: b.yaml, target: .forge/x", ['warning FG0140 9:41 "b.yaml" is not there'], id="a missing template"),
        pytest.param("type: template-file, source: a.yaml, target: ../x", ["FG0112 9:57 the path leads out of the folder of this file"], id="a target above the root"),
        pytest.param("type: template-file, source: a.yaml, target: '.forge/{{ stack.name }}/../../../x'", ["FG0112 9:57 the path leads out of the folder of this file"], id="a target with a template above the root"),
        pytest.param("type: kustomize, path: k", ['warning FG0140 9:35 "k" is not there'], id="a kustomization"),
        pytest.param("type: configmap, name: n, files: {k: b}", ['warning FG0140 9:49 "b" is not there'], id="a file of a ConfigMap"),
        pytest.param("type: secret, name: n, files: {k: .forge/x/key}", [], id="Forge's own file"),
        pytest.param("type: delete, path: b", ['warning FG0140 9:32 "b" is not there'], id="what is deleted"),
        pytest.param("type: http-wait, url: 'http://x', timeout: 1s, ca: b", ['warning FG0140 9:63 "b" is not there'], id="an authority to trust"),
        pytest.param("type: kubeconfig, serviceAccount: a, namespace: n, target: ../k", ["FG0112 9:71 the path leads out of the folder of this file"], id="a kubeconfig above the root"),
        pytest.param("type: manifest, path: 'x-{{ stack.name }}.yaml'", [], id="a path that is known later"),
    ],
)  # fmt: skip
def test_paths_of_steps(text: str, expected: list[str]) -> None:
    assert step(text) == expected


def test_what_another_step_writes_need_not_be_there() -> None:
    text = """\
  stacks:
    s:
      steps:
        - {type: template-file, source: a.yaml, target: made.yaml}
        - {type: manifest, path: ./made.yaml}
"""
    assert told(text, files=FILES) == []


def test_volumes_and_builds_are_looked_for_too() -> None:
    text = """\
  services: [{name: a, image: x, volumes: [{source: conf, target: /x}, {source: .forge/y, target: /y}]}]
  images: [{name: i, build: {context: ctx, file: F}}]
  network: {loadBalancer: {manifest: {path: lb.yaml}}}
"""
    assert [line.split(" ", 3)[3] for line in told(text, files=FILES)] == [
        '"conf" is not there',
        '"ctx" is not there',
        '"F" is not there',
        '"lb.yaml" is not there',
    ]


def test_a_wider_root_lets_paths_climb_just_so_far() -> None:
    head = HEAD + "  root: ..\n"
    stack = "  stacks: {{s: {{steps: [{{type: manifest, path: {0}}}]}}}}\n"
    assert told(stack.format("../up.yaml"), head=head, files=FILES) == []
    (line,) = told(stack.format("../../x"), head=head, files=FILES)
    assert line.endswith("the path leads out of spec.root (..)")


@pytest.mark.parametrize("root", [".", "./", "..", "../", "../..", "../../"])
def test_a_root_is_this_folder_or_one_above(root: str) -> None:
    assert told(f"  root: {root}\n") == []


@pytest.mark.parametrize("root", ["/", "a", "../a", "''", ".../x", "a/.."])
def test_no_other_root(root: str) -> None:
    assert [line[:6] for line in told(f"  root: {root}\n")] == ["FG0104"]
