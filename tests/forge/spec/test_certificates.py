"""Certificates and generated secrets: defaults a lab can live with, and bounds."""

from __future__ import annotations

import pytest

from forge.spec.load import load_text
from tests.forge.spec.reading import HEAD, problems


def test_a_short_form_has_its_defaults() -> None:
    text = """\
  certificates: {authorities: [{name: ca}], leaves: [{name: web, authority: ca}]}
  secrets: [{name: key}]
"""
    spec = load_text(HEAD + text).environment.spec
    assert spec.certificates is not None
    (authority,), (leaf,) = spec.certificates.authorities, spec.certificates.leaves
    assert (authority.lifetime, leaf.lifetime, leaf.usages, leaf.directory) == (
        "3650d",
        "365d",
        ("server", "client"),
        None,
    )
    assert (leaf.sans.dns, leaf.sans.ip, leaf.secrets) == ((), (), ())
    assert (spec.secrets[0].bytes, spec.secrets[0].encoding) == (32, "hex")


def test_the_old_placeholder_is_accepted() -> None:
    spec = load_text(HEAD + "  certificates: {enabled: false}\n").environment.spec
    assert spec.certificates is not None
    assert spec.certificates.leaves == ()


@pytest.mark.parametrize(
    "added",
    [
        "  secrets: [{name: k, bytes: 0}]\n",
        "  secrets: [{name: k, bytes: 4097}]\n",
        "  secrets: [{name: k, encoding: utf8}]\n",
        "  certificates: {authorities: [{name: ca}], leaves: [{name: l, authority: ca, usages: []}]}\n",
        "  certificates: {authorities: [{name: ca}], leaves: [{name: l, authority: ca, usages: [email]}]}\n",
        "  inputs: [{name: 1A}]\n",
    ],
)
def test_bounds(added: str) -> None:
    assert [p.code for p in problems(added)] == ["FG0104"]
