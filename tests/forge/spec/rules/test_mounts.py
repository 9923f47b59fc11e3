"""A single file that is replaced by rename is not mounted without a word."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import HEAD, problems


def warned(source: str, added: str = "", services: str = "") -> list[str]:
    text = f"""\
  services:
    - {{name: edge, image: x, volumes: [{{source: "{source}", target: /etc/app/f, readOnly: true}}]}}
{services}{added}"""
    return [p.message.split(", and ")[1].split(":")[0] for p in problems(text) if p.code == "FG0141"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        pytest.param(".forge/runtime/edge/config.json", ["files made while the lab runs are replaced by rename"], id="a file of the running lab"),
        pytest.param(".forge/runtime/edge", [], id="its folder"),
        pytest.param(".forge/runtime/conf.d", [], id="a folder with a dot"),
        pytest.param("config/app.yaml", [], id="a file that is written by hand"),
        pytest.param(".forge/secrets/key/value", [], id="a secret is made once"),
    ],
)  # fmt: skip
def test_by_its_name(source: str, why: list[str]) -> None:
    assert warned(source) == why


def test_a_file_that_another_service_can_replace() -> None:
    sync = "    - {name: sync, image: x, volumes: [{source: shared/edge, target: /out}]}\n"
    assert warned("shared/edge/config.json", services=sync) == [
        '"sync", which can write its folder, may replace it by rename'
    ]
    assert warned("shared/edge/config.json", services=sync.replace("/out}", "/out, readOnly: true}")) == []


@pytest.mark.parametrize(
    ("step", "source"),
    [
        pytest.param("{type: template-file, source: t, target: out/app}", "out/app", id="a rendered file"),
        pytest.param("{type: template-file, source: t, target: 'out/{{ cluster.name }}/app'}", "out/east/app", id="rendered for each cluster"),
        pytest.param("{type: kubeconfig, serviceAccount: a, namespace: n, target: out/kubeconfig}", "./out/kubeconfig", id="a kubeconfig"),
    ],
)  # fmt: skip
def test_a_file_that_a_step_writes(step: str, source: str) -> None:
    (why,) = warned(source, f"  stacks:\n    s:\n      steps:\n        - {step}\n")
    assert why.endswith("step in line 11 replaces it by rename")


@pytest.mark.parametrize(
    "source", [".forge/runtime/certs/web/tls.crt", ".forge/runtime/certs/ca/ca.crt", "own/tls.key"]
)
def test_a_certificate_that_is_renewed(source: str) -> None:
    certificates = """\
  certificates:
    authorities: [{name: ca}]
    leaves: [{name: web, authority: ca}, {name: other, authority: ca, directory: own}]
"""
    (why,) = warned(source, certificates)
    assert why.startswith("the renewal of")


def test_the_way_out_is_the_folder() -> None:
    text = (
        HEAD
        + "  services: [{name: a, image: x, volumes: [{source: .forge/runtime/e/c.json, target: /etc/app/c.json}]}]\n"
    )
    (problem,) = [p for p in problems(text.removeprefix(HEAD)) if p.code == "FG0141"]
    assert problem.help == "mount the folder: source: .forge/runtime/e, target: /etc/app"
    assert not problem.is_error
