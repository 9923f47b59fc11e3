"""Captures are made before they are used; a circle is named with every link."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import KnownFiles, problems, told


def capture(key: str) -> str:
    return f"{{type: capture, resource: r, jsonpath: j, key: '{key}', timeout: 1s, interval: 1s}}"


def use(*paths: str) -> str:
    return f"{{type: exec, command: ['{' '.join(f'{{{{ {path} }}}}' for path in paths)}']}}"


def file(clusters: dict[str, list[str]], stacks: dict[str, list[str]]) -> str:
    text = "  clusters:\n"
    text += "".join(
        f"    - {{name: {c}, stacks: [{', '.join(s)}], properties: {{l: [x, y]}}}}\n"
        for c, s in clusters.items()
    )
    text += "  stacks:\n"
    return text + "".join(f"    {name}: {{steps: [{', '.join(steps)}]}}\n" for name, steps in stacks.items())


def messages(text: str) -> list[str]:
    return [line.split(" ", 2)[0] + " " + line.split(" ", 2)[2] for line in told(text)]


@pytest.mark.parametrize(
    ("clusters", "stacks"),
    [
        pytest.param({"a": ["make", "use"]}, {"make": [capture("ip")], "use": [use("captures.a.ip")]}, id="an earlier stack"),
        pytest.param({"a": ["s"]}, {"s": [capture("ip"), use("captures.a.ip")]}, id="an earlier step of the same stack"),
        pytest.param({"a": ["use"], "b": ["make"]}, {"make": [capture("ip")], "use": [use("captures.b.ip")]}, id="another cluster"),
        pytest.param({"a": ["m", "u"], "b": ["m", "u"]}, {"m": [capture("ip")], "u": [use("captures.a.ip", "captures.b.ip")]}, id="each other's, made before"),
        pytest.param({"a": ["s", "s"]}, {"s": [use("captures.a.ip"), capture("ip")][::-1]}, id="a stack listed twice"),
        pytest.param({"a": ["m", "u"]}, {"m": [f"{{type: for-each, property: l, steps: [{capture('ip-{{ item }}')}]}}"], "u": [use("captures.a.ip-x", "captures.a.ip-y")]}, id="made inside for-each, an item in the key"),
    ],
)  # fmt: skip
def test_a_capture_that_is_made_in_time(clusters: dict[str, list[str]], stacks: dict[str, list[str]]) -> None:
    assert messages(file(clusters, stacks)) == []


def test_a_circle_in_one_cluster_is_named_with_what_closes_it() -> None:
    text = file(
        {"west": ["base", "site", "provider-gateway"]},
        {"base": [use("stack.name")], "site": [use("captures.west.ip")], "provider-gateway": [capture("ip")]},
    )
    (message,) = messages(text)
    assert message == (
        "FG0133 stacks wait for each other: west/site -> west/provider-gateway -> west/site: "
        "west/site needs captures.west.ip of west/provider-gateway, "
        "west/provider-gateway comes after west/site in the stacks of west"
    )


def test_the_same_circle_in_three_clusters_is_three_circles() -> None:
    text = file(
        {name: ["site", "gateway"] for name in "abc"},
        {"site": [use("captures.a.ip", "captures.b.ip", "captures.c.ip")], "gateway": [capture("ip")]},
    )
    assert len(messages(text)) == 3


def test_a_circle_over_clusters_names_every_link() -> None:
    text = file(
        {"a": ["use-b", "x", "make-a"], "b": ["use-a", "make-b"]},
        {
            "use-a": [use("captures.a.ip")], "use-b": [use("captures.b.ip")], "x": [use("stack.name")],
            "make-a": [capture("ip")], "make-b": [capture("ip")],
        },
    )  # fmt: skip
    (message,) = messages(text)
    assert message == (
        "FG0133 stacks wait for each other: a/use-b -> b/make-b -> b/use-a -> a/make-a -> a/use-b: "
        "a/use-b needs captures.b.ip of b/make-b, b/use-a needs captures.a.ip of a/make-a, "
        "b/make-b comes after b/use-a in the stacks of b, a/make-a comes after a/use-b in the stacks of a"
    )


def test_a_circle_through_a_template_file_points_into_the_file() -> None:
    text = file(
        {"a": ["site", "gateway"]},
        {"site": ["{type: template-manifest, path: site.yaml}"], "gateway": [capture("ip")]},
    )
    (problem,) = problems(text, files=KnownFiles({"site.yaml": "x: 1\nip: {{ captures.a.ip }}\n"}))
    assert (problem.code, str(problem.place), problem.path) == (
        "FG0133",
        "site.yaml:2:5",
        "spec.stacks.site.steps[0].path",
    )


def test_a_step_does_not_use_what_its_own_stack_makes_later() -> None:
    assert messages(file({"a": ["s"]}, {"s": [use("captures.a.ip"), capture("ip")]})) == [
        "FG0133 captures.a.ip is used here and captured only in line 9, later in the same stack"
    ]


def test_what_an_earlier_stack_made_may_be_made_again() -> None:
    stacks = {"first": [capture("ip")], "second": [use("captures.a.ip"), capture("ip")]}
    assert messages(file({"a": ["first", "second"]}, stacks)) == []


def test_a_capture_of_a_stack_the_cluster_does_not_use_is_not_made() -> None:
    text = file({"a": ["use"]}, {"use": [use("captures.a.ip")], "make": [capture("ip")]})
    (problem,) = problems(text)
    assert problem.code == "FG0132"
    assert problem.help == 'the stack "make" does; add it to the stacks of "a"'


def test_a_repeated_capture_wants_the_item_in_its_key() -> None:
    text = file({"a": ["m"]}, {"m": [f"{{type: for-each, property: l, steps: [{capture('ip')}]}}"]})
    (line,) = told(text)
    assert line.startswith("warning FG0135")


def test_a_service_may_use_any_capture() -> None:
    text = file({"a": ["make"]}, {"make": [capture("ip")]})
    assert told(text + "  services: [{name: s, image: x, args: ['{{ captures.a.ip }}']}]\n") == []
