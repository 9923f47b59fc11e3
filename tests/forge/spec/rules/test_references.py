"""What one part names, another declares."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import problems, told


@pytest.mark.parametrize(
    ("added", "expected", "way_out"),
    [
        pytest.param("  clusters: [{name: a, stacks: [bas]}]\n  stacks: {base: {}}\n", 'FG0121 6:33 cluster "a" uses the stack "bas", which is not in spec.stacks', 'did you mean "base"?', id="a stack"),
        pytest.param("  clusters: [{name: east}]\n  services: [{name: s, image: x, fromCluster: est}]\n", 'FG0121 7:47 there is no cluster "est"', 'did you mean "east"?', id="the cluster of a service"),
        pytest.param("  clusters: [{name: east}]\n  images: [{name: s, load: [west]}]\n", 'FG0121 7:29 there is no cluster "west"', 'did you mean "east"?', id="a cluster an image is loaded into"),
        pytest.param("  clusters: [{name: a, stacks: [base]}]\n  stacks: {base: {}}\n  services: [{name: s, image: x, after: [b/base]}]\n", 'FG0121 8:42 there is no cluster "b"', "known here: a", id="the cluster of a stack waited for"),
        pytest.param("  clusters: [{name: a, stacks: [base]}]\n  stacks: {base: {}, x: {}}\n  services: [{name: s, image: x, after: [a/x]}]\n", 'FG0121 8:42 cluster "a" does not use a stack "x"', "known here: base", id="a stack waited for and not used"),
        pytest.param("  certificates: {authorities: [{name: ca}], leaves: [{name: l, authority: cb}]}\n", 'FG0121 6:75 leaf "l" is to be signed by "cb", which is no authority', "known here: ca", id="an authority"),
        pytest.param("  certificates: {authorities: [{name: ca}], leaves: [{name: l, authority: ca, secrets: [{cluster: x, name: n}]}]}\n", 'FG0121 6:99 there is no cluster "x"', "", id="the cluster of a Secret"),
        pytest.param("  secrets: [{name: key}]\n  stacks: {s: {steps: [{type: secret, name: n, secrets: {k: kee}}]}}\n", 'FG0121 7:61 this names no secret of spec.secrets', 'did you mean "key"?', id="a secret"),
    ],
)  # fmt: skip
def test_a_name_that_leads_nowhere(added: str, expected: str, way_out: str) -> None:
    assert told(added) == [expected]
    assert problems(added)[0].help == way_out


def test_names_that_lead_somewhere() -> None:
    assert told("""\
  clusters: [{name: a, stacks: [base, base]}]
  stacks: {base: {steps: [{type: secret, name: n, secrets: {k: key}}]}}
  secrets: [{name: key}]
  images: [{name: i, load: all}, {name: j, load: [a]}]
  services: [{name: s, image: x, after: [a/base], fromCluster: a}]
  certificates: {authorities: [{name: ca}], leaves: [{name: l, authority: ca, secrets: [{cluster: a, name: n}]}]}
""") == []  # fmt: skip


def test_a_broken_element_still_counts_as_declared() -> None:
    added = "  clusters: [{name: a, nodes: 3, stacks: [s]}]\n  services: [{name: s, image: x, fromCluster: a, after: [a/s]}]\n  stacks: {s: 1}\n"
    assert [p.code for p in problems(added)] == ["FG0104", "FG0104"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(".forge/secrets/key/value", [], id="a secret"),
        pytest.param(".forge/secrets", [], id="all secrets"),
        pytest.param(".forge/secrets/kee/value", ['FG0121 8:53 spec.secrets has no "kee", so nothing makes this file'], id="no secret"),
        pytest.param(".forge/runtime/certs/web", [], id="a leaf"),
        pytest.param(".forge/runtime/certs/ca", [], id="an authority"),
        pytest.param(".forge/runtime/certs/wep", ['warning FG0121 8:53 spec.certificates has no "wep", so Forge does not make this file'], id="no leaf"),
        pytest.param(".forge/runtime/other", [], id="something of the lab"),
    ],
)  # fmt: skip
def test_forges_own_files_are_made_from_the_file(source: str, expected: list[str]) -> None:
    assert told(f"""\
  secrets: [{{name: key}}]
  certificates: {{authorities: [{{name: ca}}], leaves: [{{name: web, authority: ca}}]}}
  services: [{{name: a, image: x, volumes: [{{source: {source}, target: /x, readOnly: true}}]}}]
""") == expected  # fmt: skip
