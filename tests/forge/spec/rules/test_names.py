"""Names stand once, and what is derived from them fits."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import HEAD, told


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param("  clusters: [{name: a}, {name: a}]\n", 'FG0115 6:32 a second cluster is called "a"; the first is in line 6', id="clusters"),
        pytest.param("  services:\n    - {name: a, image: x}\n    - {name: a, image: y}\n", 'FG0115 8:14 a second service is called "a"; the first is in line 7', id="services"),
        pytest.param("  images: [{name: a}, {name: a}]\n", 'FG0115 6:30 a second image is called "a"; the first is in line 6', id="images"),
        pytest.param("  secrets: [{name: a}, {name: a}]\n", 'FG0115 6:31 a second secret is called "a"; the first is in line 6', id="secrets"),
        pytest.param("  inputs: [{name: A}, {name: A}]\n", 'FG0115 6:30 a second input is called "A"; the first is in line 6', id="inputs"),
        pytest.param("  certificates: {authorities: [{name: a}, {name: a}]}\n", 'FG0115 6:50 a second authority is called "a"; the first is in line 6', id="authorities"),
        pytest.param("  certificates: {authorities: [{name: a}], leaves: [{name: a, authority: a}]}\n", 'FG0115 6:60 the leaf "a" has the name of an authority, and both want its folder', id="a leaf like an authority"),
        pytest.param("  services: [{name: a, image: x, volumes: [{source: a, target: /x}, {source: b, target: /x/}]}]\n", 'FG0115 6:89 "a" mounts two volumes at "/x"', id="two volumes at one place"),
    ],
)  # fmt: skip
def test_a_name_stands_once(added: str, expected: str) -> None:
    assert [line for line in told(added) if "FG0140" not in line] == [expected]


def test_different_kinds_may_share_a_name() -> None:
    assert told("  clusters: [{name: a}]\n  services: [{name: a, image: a}]\n  images: [{name: a}]\n") == []


def _named(environment: str, service: str) -> list[str]:
    head = HEAD.replace("name: lab", f"name: {environment}")
    return told(f"  services: [{{name: {service}, image: x}}]\n", head=head)


def test_a_container_name_fits_up_to_63() -> None:
    assert _named("e" * 31, "s" * 31) == []
    (line,) = _named("e" * 31, "s" * 32)
    assert line.startswith("FG0116 6:21 its container would be called")
    assert line.endswith("64 characters, and 63 is the limit")


@pytest.mark.parametrize(("length", "fits"), [(63, True), (64, False)], ids=["63", "64"])
def test_a_name_alone_has_at_most_63(length: int, fits: bool) -> None:
    assert (told("", head=HEAD.replace("name: lab", f"name: {'e' * length}")) == []) is fits


@pytest.mark.parametrize(
    ("cluster", "node"),
    [
        pytest.param("", "control-plane", id="one node"),
        pytest.param("nodes: {workers: 1}", "control-plane", id="a worker is shorter"),
        pytest.param(
            "nodes: {controlPlanes: 3}", "external-load-balancer", id="several control planes have a balancer"
        ),
    ],
)
def test_a_node_name_fits_up_to_63(cluster: str, node: str) -> None:
    fits = 63 - len("forge--") - len(node)
    rest = f", {cluster}" if cluster else ""
    assert told(f"  clusters: [{{name: {'c' * fits}{rest}}}]\n") == []
    (line,) = told(f"  clusters: [{{name: {'c' * (fits + 1)}{rest}}}]\n")
    assert "its node would be called" in line
    assert "64 characters" in line


@pytest.mark.parametrize("how", ["driver: existing, context: x", "driver: embedded"])
def test_only_kind_has_nodes_to_name(how: str) -> None:
    assert told(f"  clusters: [{{name: {'c' * 63}, {how}}}]\n") == []


def test_an_entry_has_one_source() -> None:
    step = "{type: secret, name: n, data: {a: x, b: y}, files: {a: .forge/a}, secrets: {b: k, c: k}}"
    found = told(f"  secrets: [{{name: k}}]\n  stacks: {{s: {{steps: [{step}]}}}}\n")
    assert [line.split(" ", 2)[2] for line in found] == [
        'the entry "a" stands under data too',
        'the entry "b" stands under data too',
    ]
