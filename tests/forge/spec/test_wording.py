"""What is wrong is said in the words of the file, with the nearest word that is right, and no value."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import problems


@pytest.mark.parametrize(
    ("added", "message", "way_out"),
    [
        ("  servces: []\n", 'unknown key "servces"', 'did you mean "services"?'),
        ("  services: [{name: a, image: x, env_vars: {}}]\n", 'unknown key "env_vars"', 'did you mean "env"?'),
        ("  services: [{name: a, image: x, depends_on: []}]\n", 'unknown key "depends_on"', 'did you mean "dependsOn"?'),
        ("  network: {zone: a}\n", 'unknown key "zone"', 'did you mean "dnsZone"?'),
        ("  network: {xyz: a}\n", 'unknown key "xyz"', "known here: crossCluster, dnsZone, loadBalancer, subnet"),
        ("  stacks: {s: {steps: [{type: manifest, paht: a, path: .forge/a}]}}\n", 'unknown key "paht"', 'did you mean "path"?'),
        ("  services: [{name: a, image: x, restart: allways}]\n", '"allways" is not one of no, on-failure, always, unless-stopped', 'did you mean "always"?'),
        ("  services: [{name: a, image: x, restart: CANARY}]\n", "this is not one of no, on-failure, always, unless-stopped", ""),
        ("  services: [{name: a, image: x, restart: true}]\n", "must be text, one of no, on-failure, always, unless-stopped", ""),
        ("  stacks: {s: {steps: [{type: kustomise, path: x}]}}\n", '"kustomise" is not a step type', 'did you mean "kustomize"?'),
        ("  services: [{name: a, image: x, env: {A: 1}}]\n", "wants text, has a number", "put the value in quotes"),
        ("  services: [{name: a, image: x, env: {A: true}}]\n", "wants text, has true or false", "put the value in quotes"),
        ("  services: [{name: a, image: x, autoStart: 'yes'}]\n", "wants true or false, has text", "write it without quotes"),
        ("  services: [{name: a, image: x, autoStart: yes}]\n", "wants true or false, has text", ""),
        ("  services: [{name: a, image: x, ports: {host: 1}}]\n", "wants a list, has a mapping", ""),
        ("  services: [{name: a, image: x, ports: [80]}]\n", "wants a mapping, has a number", ""),
        ("  services: [{name: a, image: x, ports: 80}]\n", "wants a list, has a number", ""),
        ("  services:\n", "wants a list, has nothing", "write a value, or remove the key"),
        ("  services: [{name: a, image: x, dependsOn: [1]}]\n", "wants a mapping, has a number", ""),
        ("  services: [{name: a}]\n", '"image" is missing', "image: Image reference; spec.images may say how it is made or mapped."),
        ("  clusters: [{name: a, nodes: {workers: -1}}]\n", "must be at least 0", "Workers."),
        ("  profiles: {a: {}}\n", "profiles are not supported yet", "remove it"),
    ],
)  # fmt: skip
def test_what_is_said(added: str, message: str, way_out: str) -> None:
    (problem,) = problems(added)
    assert (problem.message, problem.help) == (message, way_out)


def test_the_excerpt_of_a_wrong_choice_marks_it() -> None:
    (problem,) = problems("  services: [{name: a, image: x, network: hst}]\n")
    assert problem.excerpt is not None
    text, column = problem.excerpt.text, problem.excerpt.column
    assert text[column - 1 : column - 1 + problem.excerpt.length] == "hst"
