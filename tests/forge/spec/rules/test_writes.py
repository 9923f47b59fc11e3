"""A file that differs from cluster to cluster has a place for each."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import KnownFiles, problems

FILES = KnownFiles({"same": "x", "own": "{{ cluster.name }}"})
CLUSTERS = "  clusters: [{name: a, stacks: [s]}, {name: b, stacks: [s]}]\n"
KUBECONFIG = "type: kubeconfig, serviceAccount: x, namespace: n"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        pytest.param("type: template-file, source: own, target: .forge/o", '".forge/o" is written for cluster "a" and for "b", and only the last one stays', id="a template"),
        pytest.param("type: template-file, source: own, target: '.forge/{{ cluster.name }}'", "", id="a place for each"),
        pytest.param("type: template-file, source: same, target: .forge/o", "", id="the same text for all"),
        pytest.param(f"{KUBECONFIG}, target: .forge/./k", '".forge/k" is written for cluster "a" and for "b", and only the last one stays', id="a kubeconfig"),
        pytest.param(f"{KUBECONFIG}, target: .forge/k, when: '{{{{ cluster.name }}}} == a'", "", id="a step for one of them"),
    ],
)  # fmt: skip
def test_targets(step: str, message: str) -> None:
    found = problems(f"{CLUSTERS}  stacks: {{s: {{steps: [{{{step}}}]}}}}\n", files=FILES)
    assert [p.message for p in found if p.code == "FG0142"] == ([message] if message else [])
    assert not any(p.is_error for p in found)


def test_one_cluster_may_write_a_file_again() -> None:
    step = "{type: template-file, source: own, target: .forge/o}"
    text = f"  clusters: [{{name: a, stacks: [s, t]}}]\n  stacks: {{s: {{steps: [{step}]}}, t: {{steps: [{step}]}}}}\n"
    assert problems(text, files=FILES) == ()
